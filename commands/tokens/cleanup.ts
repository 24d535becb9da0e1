import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { age, allContextsFlag, changeFlags, count } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Deletes tokens that are over. */
export default class TokensCleanup extends TokenctlCommand {
  static override summary =
    'Delete the rows of tokens that are over, and of refresh tokens that nothing else removes.';

  static override description =
    `Deleted are access tokens that have expired, and in a database refresh tokens that have expired, were revoked a while ago \
or are orphaned: alive without an access token, which the controller's own clean-up never removes. Expired access tokens \
stay as long as the refresh token beside them can be used. What is to be deleted is shown first, and confirmed by \
typing the number of rows.

With --json it prints the report: byKind (expiredAccessTokens, expiredRefreshTokens, revokedRefreshTokens, \
orphanedRefreshTokens; each planned, deleted, unchanged, failed, notTried), planned, deleted, kept, limited, notPossible, \
interrupted, stopped, run, seconds. With --dry-run, or where there is nothing to delete: dryRun and plan (counts, total, \
kept, limited, notPossible).

Exits with 5 where some are left, with 130 after an interruption.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --dry-run',
    '<%= config.bin %> <%= command.id %> --keep-revoked-for 90d --limit 100000 --yes',
  ];

  static override flags = {
    'keep-revoked-for': age({
      summary: 'Keep refresh tokens that were revoked within this time; 30d unless given.',
    }),
    limit: count({ summary: 'Delete no more rows than this.', helpValue: 'N' }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensCleanup);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { cleanupFlow } = await import('../../src/cli/cleanup.ts');
    const confirmation = consentFrom(flags);
    return await this.inContexts(flags, confirmation, (member) => cleanupFlow({ ...member, flags }));
  }
}
