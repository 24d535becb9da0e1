import { defineCommand } from '../../src/cli/base-command.ts';
import { ownerNoticeFlags } from '../../src/cli/token-audit/audit-flags.ts';

export default defineCommand({
  summary: 'Email owners about their tokens',
  description: `Sends each owner one email about tokens that expire soon and tokens that tokenctl revoked. \
The ownerNotices section of the configuration sets the mail server, sender, thresholds, exclusions and \
templates (see tokenctl docs configuration). The addresses come from the controller. Owners without a usable \
address are listed. The audit log records each email before it is sent, without the address, so that no \
notice is sent twice, not even by the job owner-notices. An address that the mail server permanently \
rejects is not tried again for the same tokens. To confirm, type the number of owners.`,
  exitCodes: 'Exit code 5: some emails were not sent. Exit code 130: interrupted.',
  examples: ['--dry-run', '--dry-run --show alice', '--at-most 50 --yes'],
  flags: ownerNoticeFlags,
  async run({ flags }) {
    const { ownerNoticesFlow } = await import('../../src/cli/token-audit/owner-notices-flow.ts');
    return await this.changeInContexts(flags, (member) => ownerNoticesFlow({ ...member, flags }));
  },
});
