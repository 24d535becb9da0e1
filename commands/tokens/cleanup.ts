import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { CleanupJson } from '../../src/cli/cleanup.ts';
import { cleanupFlags } from '../../src/cli/revocation/revocation-flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class TokensCleanup extends TokenctlCommand {
  static override summary = 'Delete expired tokens';

  static override description =
    `Deletes expired access tokens. Over a database connection it also deletes expired authorization codes, and \
refresh tokens that are expired, that were revoked some time ago, or that are orphaned: not revoked, but without \
an access token, so the controller's own cleanup never removes them. An expired access token is kept while its \
refresh token can be used. The plan is shown first; confirm by typing the number of rows.

With --json, prints what docs/schemas/tokens-cleanup.json describes.

Exit code 5: some tokens are left, or this account does not see all of them. Exit code 130: interrupted.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --dry-run',
    '<%= config.bin %> <%= command.id %> --keep-revoked-for 90d --limit 100000 --yes',
  ];

  static override flags = cleanupFlags;

  async run(): Promise<Result<CleanupJson>> {
    const { flags } = await this.input(TokensCleanup);
    const { cleanupFlow } = await import('../../src/cli/cleanup.ts');
    const confirmation = await this.confirmation(flags);
    return await this.inContexts(flags, confirmation, (member) => cleanupFlow({ ...member, flags }));
  }
}
