import { exportFlags } from '../../src/cli/audit-log/log-flags.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { ExportReport } from '../../src/operations/audit-log/export-log.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogExport extends TokenctlCommand {
  static override summary = 'Export the audit log to a file, log collector or SIEM';

  static override description =
    `Writes records to stdout, or to the sink in --to: tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, an https:// URL \
(POST), or a file (append). --cursor saves the position, so that the next export continues there; each entry is sent at \
least once. --follow keeps exporting new entries until a signal, and retries an unreachable sink. The export only reads the \
log: a slow sink does not block other commands.

With --to, --json prints entries, records and last (the number of the last exported entry). Exits with 7 if the sink \
cannot be reached, and with 6 if the cursor belongs to another log.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --format ocsf --since 7d',
    '<%= config.bin %> <%= command.id %> --format syslog --to tls://siem.example.org:6514 --cursor siem.cursor --follow',
  ];

  static override flags = exportFlags;

  async run(): Promise<Result<ExportReport> | undefined> {
    const { flags } = await this.input(LogExport);
    const { exportFlow } = await import('../../src/cli/audit-log/export-flow.ts');
    return await exportFlow(await this.runtime(flags), flags);
  }
}
