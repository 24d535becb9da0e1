import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Give pipelines short-lived tokens for their identities',
  description: `Takes the identities that CI systems sign for their runs (OpenID Connect), and gives those that \
a rule of the section "broker" of the configuration names a token that ends within the hour: OAuth 2.0 Token Exchange \
(RFC 8693) at /token, and revocation (RFC 7009) at /revoke. Each token is recorded before it is made, with the \
claims that decided, and is revoked at its end.

Put a proxy with TLS before its port, which passes on these two addresses only. SIGTERM and Ctrl-C finish what is under \
way and exit with 0. /healthz, /readyz and /metrics are on the same port. Prints nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: ['', '--config ./tokenctl.yaml'],
  async run({ flags }) {
    const { serveBroker } = await import('../../src/app/broker/serve.ts');
    await serveBroker(await this.surroundings(flags));
  },
});
