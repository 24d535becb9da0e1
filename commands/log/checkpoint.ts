import { string } from '@oclif/core/flags';
import type { CheckpointJson } from '../../src/cli/audit-log/checkpoint-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogCheckpoint extends TokenctlCommand {
  static override summary = 'Verify the audit log and sign a checkpoint of it';

  static override description =
    `A checkpoint states the number of entries and the hash of all of them. Keep it in another place: log verify \
--checkpoint then detects entries that were cut off or rewritten. It is a signed note in the C2SP format, which \
other tools can verify. Create the key with log init.

With --json, prints what docs/schemas/log-checkpoint.json describes.

Exits with 6 if the log is broken, or does not match the checkpoint that the --output file already has.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --output /mnt/elsewhere/audit.checkpoint',
  ];

  static override flags = {
    output: string({
      summary: 'Write the checkpoint to this file, and check the one it has. Default: stdout.',
      helpValue: 'FILE',
    }),
  };

  async run(): Promise<Result<CheckpointJson>> {
    const { flags } = await this.input(LogCheckpoint);
    const { checkpointFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await checkpointFlow(await this.runtime(flags), flags);
  }
}
