import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag, days } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Tells of tokens that are about to expire. */
export default class TokensNotices extends TokenctlCommand {
  static override summary = 'List the tokens that expire soon, or tell a webhook of each of them once.';

  static override description =
    `A token is due under the smallest of the thresholds that it has come under: 30, 7 and 1 days, or those of \
--within. Without a webhook it lists what is due, for whoever tells the owners. With one it posts each token and \
threshold once: what was sent stands in the audit log, and a second run sends nothing. docs/policy.md describes what \
is posted, and how it is signed.

With --json it prints one array (threshold, daysLeft, token as in tokens list); after sending, due, sent, sentBefore, \
failed (tokenId, threshold, to, reason), interrupted.

Exits with 5 where some could not be sent.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --csv',
    '<%= config.bin %> <%= command.id %> --within 14d --within 2d --webhook-file hook.url --dry-run',
    '<%= config.bin %> <%= command.id %> --webhook-file hook.url --webhook-secret-file hook.secret',
  ];

  static override flags = {
    ...csvFlag,
    within: days({
      summary: 'Tell of tokens that expire within this; several are told of one after the other.',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'webhook-file': string({
      summary: 'Post to the address in this file, of mode 0600.',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'FILE',
    }),
    'webhook-secret-file': string({
      summary: 'Sign what is posted with the secret in this file, of mode 0600.',
      helpValue: 'FILE',
      dependsOn: ['webhook-file'],
    }),
    'dry-run': boolean({ summary: 'List what would be sent, and send nothing.' }),
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensNotices);
    const { noticeFlow } = await import('../../src/cli/token-audit/notices.ts');
    return await this.inContexts(flags, null, ({ runtime }) => noticeFlow(runtime, flags));
  }
}
