import { defineCommand } from '../../src/cli/base-command.ts';
import { cleanupFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: 'Delete expired tokens',
  description: `Deletes expired access tokens. Over a database connection, it also deletes expired \
authorization codes, and refresh tokens that are expired, were revoked some time ago, or are orphaned: not \
revoked, but without an access token, so the controller's own cleanup never removes them. An expired access \
token is kept as long as its refresh token can be used. The plan comes first. To confirm, type the number of \
rows.`,
  exitCodes:
    'Exit code 5: some tokens remain, or this account cannot see all of them. Exit code 130: interrupted.',
  examples: ['--dry-run', '--keep-revoked-for 90d --limit 100000 --yes'],
  flags: cleanupFlags,
  async run({ flags }) {
    const { cleanupFlow } = await import('../../src/cli/tokens/cleanup-flow.ts');
    return await this.changeInContexts(flags, (member) => cleanupFlow({ ...member, flags }));
  },
});
