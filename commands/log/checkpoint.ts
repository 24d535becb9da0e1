import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Signs the audit log. */
export default class LogCheckpoint extends TokenctlCommand {
  static override summary =
    'Verify the audit log, and sign how many entries it has and the hash of them all.';

  static override description =
    `A checkpoint kept in another place shows later that nothing was cut off or written anew: log verify --checkpoint. \
It is a signed note in the C2SP form, which other tools verify too. Make the key with log init.

With --json it prints checkpoint (the note), origin, size and root. Exits with 6 where the log does not hold, or is not the \
one of the checkpoint that the file of --output has already.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --output /mnt/elsewhere/audit.checkpoint',
  ];

  static override flags = {
    output: string({
      summary: 'The file that has the newest checkpoint; printed otherwise.',
      helpValue: 'FILE',
    }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(LogCheckpoint);
    const { checkpointFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await checkpointFlow(await this.runtime(flags), flags);
  }
}
