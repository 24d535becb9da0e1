import type { ShownLogRunJson } from '../../src/cli/audit-log/entry-listing.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogShow extends TokenctlCommand {
  static override summary = 'Show one run of the audit log';

  static override description =
    `Shows who ordered the run, what it did, what it left alive, and its entries. log list has the ids of runs.

With --json, prints what docs/schemas/log-show.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 5f0c2a1e',
    '<%= config.bin %> <%= command.id %> 5f0c2a1e-7d3b-4c55-9a58-0d6f6b1b8a77 --json',
  ];

  static override args = {
    run: requiredArgument('The UUID of the run, or how it begins.'),
  };

  async run(): Promise<Result<ShownLogRunJson>> {
    const { args, flags } = await this.input(LogShow);
    const runtime = await this.runtime(flags);
    const { readRun } = await import('../../src/operations/audit-log/list-log.ts');
    const { runResult } = await import('../../src/cli/audit-log/entry-listing.ts');
    return runResult(await readRun(await runtime.auditLog(), args.run));
  }
}
