import { defineCommand } from '../../src/cli/base-command.ts';
import { ownerNoticeFlags } from '../../src/cli/token-audit/audit-flags.ts';

export default defineCommand({
  summary: 'Tell owners by mail about their tokens',
  description: `Sends each owner one mail about tokens that expire soon, and tokens that tokenctl revoked, \
by the section ownerNotices of the configuration: mail server, sender, thresholds, who is left out, \
templates (tokenctl docs configuration). The addresses come from the controller. Owners without a usable address \
are listed. The audit log records each mail before it is sent, without the address, so that nothing is told \
twice, also by the job owner-notices. An address that the mail server refuses for good is not tried again \
for the same tokens. Confirm by typing the number of owners.`,
  exitCodes: 'Exit code 5: some mails were not sent. Exit code 130: interrupted.',
  examples: ['--dry-run', '--dry-run --show alice', '--at-most 50 --yes'],
  flags: ownerNoticeFlags,
  async run({ flags }) {
    const { ownerNoticesFlow } = await import('../../src/cli/token-audit/owner-notices-flow.ts');
    return await this.changeInContexts(flags, (member) => ownerNoticesFlow({ ...member, flags }));
  },
});
