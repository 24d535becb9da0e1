import { boolean, custom, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { type Moment, parseMoment } from '../../src/cli/flags.ts';
import { exportFormats } from '../../src/config/schema.ts';
import type { ExportReport } from '../../src/operations/audit-log/export-log.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Exports the audit log. */
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

  static override flags = {
    format: option({ options: exportFormats, required: true })({
      summary: 'The format of the records. jsonl: the lines of the log, unchanged.',
    }),
    to: string({ summary: 'The sink for the records. Default: stdout.', helpValue: 'ADDRESS|FILE' }),
    'ca-file': string({
      summary: 'A CA certificate for a tls:// or https:// sink.',
      helpValue: 'FILE',
      dependsOn: ['to'],
    }),
    'token-file': string({
      summary: 'A file (mode 0600) with the bearer token for an https:// sink.',
      helpValue: 'FILE',
      dependsOn: ['to'],
    }),
    cursor: string({ summary: 'The file that saves the position of the export.', helpValue: 'FILE' }),
    since: custom<number | Moment>({
      parse: async (input) => (/^[1-9]\d{0,14}$/.test(input) ? Number(input) : parseMoment(input)),
    })({
      summary: 'Start at an entry number, date or age. A saved cursor takes precedence.',
      helpValue: 'SEQ|WHEN',
    }),
    follow: boolean({ summary: 'Keep exporting new entries until a signal.' }),
  };

  async run(): Promise<Result<ExportReport> | undefined> {
    const { flags } = await this.input(LogExport);
    const { exportFlow } = await import('../../src/cli/audit-log/export-flow.ts');
    return await exportFlow(await this.runtime(flags), flags);
  }
}
