import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Receive security events until stopped',
  description: `Receives security events from identity providers and ends the affected users' access, as \
configured in the "signals" section. Endpoints: /signals/NAME for pushed Shared Signals events, \
/global-token-revocation for Global Token Revocation, and /backchannel-logout for logout tokens. Each event \
is recorded before the sender gets a response. Several receivers can share a queue in PostgreSQL.

Put a TLS proxy in front of its port. On SIGTERM and Ctrl-C, it finishes in-flight work and exits with 0. \
/healthz and /readyz are served on the same port. Prints nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: ['', '--config ./tokenctl.yaml'],
  async run({ flags }) {
    const { serveSignals } = await import('../../src/app/signals/serve.ts');
    await serveSignals(await this.surroundings(flags));
  },
});
