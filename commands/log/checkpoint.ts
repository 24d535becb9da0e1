import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Verify the audit log and sign a checkpoint of it',
  description: `A checkpoint states the number of entries and their combined hash. Store it somewhere else: \
log verify --checkpoint can then detect entries that were cut off or rewritten. It is a signed note in the \
C2SP format that other tools can verify. Create the key with log init.`,
  exitCodes:
    'Exits with 6 if the log is broken, or does not match the existing checkpoint in the --output file.',
  examples: ['', '--output /mnt/elsewhere/audit.checkpoint'],
  flags: {
    output: string({
      summary: 'Write the checkpoint to this file, and check the existing one. Default: stdout.',
      helpValue: 'FILE',
    }),
  },
  async run({ flags }) {
    const { checkpointFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await checkpointFlow(await this.runtime(flags), flags);
  },
});
