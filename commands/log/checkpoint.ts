import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Verify the audit log and sign a checkpoint of it',
  description: `A checkpoint states the number of entries and the hash of all of them. Keep it in another \
place: log verify --checkpoint then detects entries that were cut off or rewritten. It is a signed note in \
the C2SP format, which other tools can verify. Create the key with log init.`,
  exitCodes:
    'Exits with 6 if the log is broken, or does not match the checkpoint that the --output file already has.',
  examples: ['', '--output /mnt/elsewhere/audit.checkpoint'],
  flags: {
    output: string({
      summary: 'Write the checkpoint to this file, and check the one it has. Default: stdout.',
      helpValue: 'FILE',
    }),
  },
  async run({ flags }) {
    const { checkpointFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await checkpointFlow(await this.runtime(flags), flags);
  },
});
