import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { age } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Closes the audit log's file. */
export default class LogRotate extends TokenctlCommand {
  static override summary = "Close the audit log's file and go on in a new one.";

  static override description =
    `The closed file stays beside it under the numbers of its entries, and all files together stay one chain. Other \
processes may write meanwhile. With --remove-older-than closed files go whose entries are all older and have an outcome; an \
entry says so, and log verify holds what is left against it.

With --json it prints archive (the closed file; null where the log has no entries) and removed (the files).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --remove-older-than 2y',
  ];

  static override flags = {
    'remove-older-than': age({ summary: 'Remove closed files whose entries are all older.' }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(LogRotate);
    const { rotationFlow } = await import('../../src/cli/audit-log/maintenance-flow.ts');
    return await rotationFlow(await this.runtime(flags), flags['remove-older-than']);
  }
}
