import { defineCommand } from '../../src/cli/base-command.ts';
import { age, dryRunFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Close the file of the audit log and start a new one',
  description: `The closed file is renamed to the numbers of its entries, such as audit.jsonl.1-5000. All \
files together are one chain. Other processes may keep writing. --remove-older-than removes closed files \
whose entries are all older and have an outcome. Entries are kept that an open incident needs, or one whose lift \
left users deactivated: the command says so. An entry records the removal, so that log verify can verify the rest.`,
  examples: ['', '--remove-older-than 2y --dry-run'],
  flags: {
    'remove-older-than': age({ summary: 'Remove closed files whose entries are all older.' }),
    ...dryRunFlag,
  },
  async run({ flags }) {
    const { rotationFlow } = await import('../../src/cli/audit-log/maintenance-flow.ts');
    return await rotationFlow(await this.runtime(flags), flags);
  },
});
