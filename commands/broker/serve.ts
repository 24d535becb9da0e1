import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Issue short-lived tokens to pipelines for their identities',
  description: `Accepts the identities that CI systems sign for their runs (OpenID Connect), and issues a token that ends within \
the hour to each identity that matches a rule in the section "broker" of the configuration: OAuth 2.0 Token Exchange \
(RFC 8693) at /token, and revocation (RFC 7009) at /revoke. Each token is recorded before it is created, with the \
claims that matched, and is revoked at its expiry.

Put a TLS proxy in front of its port that forwards only these two paths. SIGTERM and Ctrl-C finish work in progress \
and exit with 0. /healthz, /readyz and /metrics are on the same port. Prints nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: ['', '--config ./tokenctl.yaml'],
  async run({ flags }) {
    const { serveBroker } = await import('../../src/app/broker/serve.ts');
    await serveBroker(await this.surroundings(flags));
  },
});
