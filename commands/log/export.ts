import { boolean, custom, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { type Moment, parseMoment } from '../../src/cli/flags.ts';
import { exportFormats } from '../../src/domain/export-format.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Exports the audit log. */
export default class LogExport extends TokenctlCommand {
  static override summary = 'Export the audit log to files, collectors of logs and security systems.';

  static override description =
    `Records go to the output, or where --to says: tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, an https:// address \
that they are posted to, or a file that they are appended to. With --cursor it remembers how far it came and goes on from \
there; each entry is handed over at least once. With --follow it goes on with what is appended until a signal, and tries a \
sink that cannot be reached again and again. It only reads the log: whatever a sink does, it keeps nobody from working.

Where records go elsewhere, --json prints entries, records and last (the number of the last entry that was taken). Exits with \
7 where the sink could not be reached, with 6 where the log is not the one that the cursor is of.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --format ocsf --since 7d',
    '<%= config.bin %> <%= command.id %> --format syslog --to tls://siem.example.org:6514 --cursor siem.cursor --follow',
  ];

  static override flags = {
    format: option({ options: exportFormats, required: true })({
      summary: 'What entries are written as; jsonl are the lines of the log as they are.',
    }),
    to: string({ summary: 'Where records go; the output otherwise.', helpValue: 'ADDRESS|FILE' }),
    'ca-file': string({
      summary: 'The authority that signed the certificate of a tls:// or https:// address.',
      helpValue: 'FILE',
      dependsOn: ['to'],
    }),
    'token-file': string({
      summary: 'A file of mode 0600 with the bearer token for an https:// address.',
      helpValue: 'FILE',
      dependsOn: ['to'],
    }),
    cursor: string({ summary: 'Where it remembers how far it came.', helpValue: 'FILE' }),
    since: custom<number | Moment>({
      parse: async (input) => (/^[1-9]\d{0,14}$/.test(input) ? Number(input) : parseMoment(input)),
    })({
      summary: 'Begin with an entry of this number, or a date or age; where a cursor remembers, it decides.',
      helpValue: 'SEQ|WHEN',
    }),
    follow: boolean({ summary: 'Go on with what is appended.' }),
  };

  async run(): Promise<Result | undefined> {
    const { flags } = await this.input(LogExport);
    const { exportFlow } = await import('../../src/cli/audit-log/export-flow.ts');
    return await exportFlow(await this.runtime(flags), flags);
  }
}
