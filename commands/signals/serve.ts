import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Receive security events until stopped',
  description: `Receives security events of identity providers and ends the access of the users whom they \
are about, as the section "signals" of the configuration says: pushed events of Shared Signals streams at \
/signals/NAME, Global Token Revocation at /global-token-revocation, and logout tokens at \
/backchannel-logout. An event is recorded before its sender is answered. Several receivers can share a queue \
in PostgreSQL.

Put a proxy with TLS before its port. SIGTERM and Ctrl-C finish the work in flight and exit with 0. /healthz \
and /readyz are on the same port. Prints nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: ['', '--config ./tokenctl.yaml'],
  async run({ flags }) {
    const { serveSignals } = await import('../../src/app/signals/serve.ts');
    await serveSignals(await this.surroundings(flags));
  },
});
