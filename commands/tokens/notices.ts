import { defineCommand } from '../../src/cli/base-command.ts';
import { noticeFlags } from '../../src/cli/token-audit/audit-flags.ts';

export default defineCommand({
  summary: 'List or announce tokens expiring soon',
  description: `A token is due when it reaches a threshold: 30, 7 and 1 days, or those given with --within. \
Without a webhook, lists the tokens that are due. With a webhook, posts each token once per threshold. The \
audit log records what was sent, so running the command again does not send it twice. See tokenctl docs \
policy for the message format and signature.`,
  exitCodes: 'Exit code 5: some notices could not be sent.',
  examples: [
    '--csv',
    '--within 14d --within 2d --webhook-file hook.url --dry-run',
    '--webhook-file hook.url --webhook-secret-file hook.secret',
  ],
  flags: noticeFlags,
  async run({ flags }) {
    const { noticeFlow, requireWebhookFiles } = await import('../../src/cli/token-audit/notices.ts');
    await requireWebhookFiles(await this.runtime(flags), flags);
    return await this.inContexts(flags, ({ runtime }) => noticeFlow(runtime, flags));
  },
});
