import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/cli/result.ts';

/** Verifies the audit log. */
export default class LogVerify extends TokenctlCommand {
  static override summary = 'Verify that nothing in the audit log was changed, removed or inserted.';

  static override description =
    `Reads the whole log and checks that each entry carries the hash of the one before. A chain cannot tell \
that its end was cut off or its last line edited: keep the head that is printed in another place, and compare.

With --json it prints file, entries, head (size, hash) and tornBytes (length of an unfinished last line). \
Exits with 6 where the log does not hold (error.details says at which line), and where a log that a flag, \
variable or the configuration file names does not exist.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --log-file ./audit.jsonl --json',
  ];

  async run(): Promise<Result> {
    const { flags } = await this.input(LogVerify);
    const runtime = await this.runtime(flags);
    const { verificationFlow } = await import('../../src/cli/verification-flow.ts');
    return await verificationFlow(runtime);
  }
}
