import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { noticeFlags } from '../../src/cli/token-audit/audit-flags.ts';
import type { NoticeJson } from '../../src/cli/token-audit/notices.ts';
import type { NoticeReport } from '../../src/operations/token-audit/expiry-notices.ts';
import type { Result } from '../../src/reports/result.ts';

export default class TokensNotices extends TokenctlCommand {
  static override summary = 'List or announce tokens that expire soon';

  static override description =
    `A token is due at the smallest threshold that it has reached: 30, 7 and 1 days, or those given with --within. \
Without a webhook, lists the due tokens. With a webhook, posts each token once per threshold. The audit log \
records what was sent, so a second run sends nothing again. See docs/policy.md for the message format and its \
signature.

With --json, prints what docs/schemas/tokens-notices.json describes.

Exit code 5: some notices could not be sent.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --csv',
    '<%= config.bin %> <%= command.id %> --within 14d --within 2d --webhook-file hook.url --dry-run',
    '<%= config.bin %> <%= command.id %> --webhook-file hook.url --webhook-secret-file hook.secret',
  ];

  static override flags = noticeFlags;

  async run(): Promise<Result<readonly NoticeJson[] | NoticeReport>> {
    const { flags } = await this.input(TokensNotices);
    const { noticeFlow, requireWebhookFiles } = await import('../../src/cli/token-audit/notices.ts');
    await requireWebhookFiles(await this.runtime(flags), flags);
    return await this.inContexts(flags, null, ({ runtime }) => noticeFlow(runtime, flags));
  }
}
