import { reportFlags } from '../../src/cli/audit-log/log-flags.ts';
import type { LogReportJson } from '../../src/cli/audit-log/report-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogReport extends TokenctlCommand {
  static override summary = 'Report all changes of a period and who ordered them';

  static override description =
    `Verifies the log, and lists for each run: the actor, the target, the reason and ticket, what was planned and \
done, what failed, what is left open, and the later reconciliation of an interrupted run. Runs that started \
before the period or ended after it are complete as well.

With --json, prints what docs/schemas/log-report.json describes.

Exits with 6, after the report, if the log is broken.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --since 7d',
    '<%= config.bin %> <%= command.id %> --since 2026-11-20T08:00:00Z --until 2026-11-21 --format html --output incident.html',
  ];

  static override flags = reportFlags;

  async run(): Promise<Result<LogReportJson>> {
    const { flags } = await this.input(LogReport);
    const { reportFlow } = await import('../../src/cli/audit-log/report-flow.ts');
    const runtime = await this.runtime(flags);
    return await reportFlow({
      runtime,
      flags,
      json: this.jsonEnabled() && flags.output === undefined,
      version: this.config.version,
    });
  }
}
