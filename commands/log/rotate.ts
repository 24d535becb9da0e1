import { defineCommand } from '../../src/cli/base-command.ts';
import { age, dryRunFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Rotate the audit log',
  description: `The closed file is renamed by its entry numbers, such as audit.jsonl.1-5000. All files \
together form one chain. Other processes can keep writing. --remove-older-than removes closed files if all \
of their entries are older and have an outcome. Entries that an open incident needs are kept, and so are \
those of an incident whose lift left users deactivated. The command says so. The removal is recorded in an \
entry so that log verify can verify the rest.`,
  examples: ['', '--remove-older-than 2y --dry-run'],
  flags: {
    'remove-older-than': age({ summary: 'Remove closed files if all of their entries are older.' }),
    ...dryRunFlag,
  },
  async run({ flags }) {
    const { rotationFlow } = await import('../../src/cli/audit-log/maintenance-flow.ts');
    return await rotationFlow(await this.runtime(flags), flags);
  },
});
