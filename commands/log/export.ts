import { exportFlags } from '../../src/cli/audit-log/log-flags.ts';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Export the audit log to a file or a SIEM',
  description: `Writes records to stdout, or to the sink in --to: tcp://HOST:PORT, tls://HOST:PORT, \
udp://HOST:PORT, an https:// URL (POST), or a file (append). --cursor saves the position so that the next \
export continues from there. Each entry is sent at least once. --follow keeps exporting new entries until it \
is stopped, and retries an unreachable sink. The export only reads the log, so a slow sink does not block \
other commands.

With --to, --json prints entries, records and last (the number of the last exported entry). Exits with 7 if \
the sink is unreachable, and with 6 if the cursor belongs to another log.`,
  saysJson: true,
  examples: [
    '--format ocsf --since 7d',
    '--format syslog --to tls://siem.example.org:6514 --cursor siem.cursor --follow',
  ],
  flags: exportFlags,
  async run({ flags }) {
    const { exportFlow } = await import('../../src/cli/audit-log/export-flow.ts');
    return await exportFlow(await this.runtime(flags), flags);
  },
});
