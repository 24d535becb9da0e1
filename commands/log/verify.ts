import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Verifies the audit log. */
export default class LogVerify extends TokenctlCommand {
  static override summary = 'Verify that nothing in the audit log was changed, removed or inserted.';

  static override description =
    `Reads the whole log and checks that each entry carries the hash of the one before. A chain cannot tell \
that its end was cut off or its last line edited, or that all of it was written anew: give a checkpoint that was made \
before and kept in another place.

With --json it prints file (or database, the name of one), entries, head (size, hash), tornBytes (length of an unfinished \
last line), removed (the last entry that retention removed; left out where there is none) and checkpoint (origin, size; left \
out where none was given). Exits with 6 where the log does not hold (error.details says at which line, and how), and where a \
log that a flag, variable or the configuration file names does not exist.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --log-file ./audit.jsonl --json',
    '<%= config.bin %> <%= command.id %> --checkpoint audit.checkpoint --key example.org/audit+7fbb5ae1+ASVI…',
  ];

  static override flags = {
    checkpoint: string({
      summary: 'A checkpoint made before: nothing that it covers may have been changed or cut off.',
      helpValue: 'FILE',
    }),
    key: string({
      summary: 'The public key that is trusted, or a file with several; those of log init otherwise.',
      helpValue: 'KEY|FILE',
      dependsOn: ['checkpoint'],
    }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(LogVerify);
    const runtime = await this.runtime(flags);
    const { verificationFlow } = await import('../../src/cli/audit-log/maintenance-flow.ts');
    return await verificationFlow(runtime, flags);
  }
}
