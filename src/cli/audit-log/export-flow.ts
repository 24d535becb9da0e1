import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { type ExportReport, exportLog } from '../../operations/audit-log/export-log.ts';
import type { LogSink } from '../../operations/ports/log-sink.ts';
import { lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';
import { instantOf } from '../flags/times.ts';
import { writeNotice, writeTo } from '../output/streams.ts';
import type { ExportFlags } from './log-flags.ts';

/**
 * Exports the audit log. On stdout, prints only the records; with another sink, reports the counts.
 * @throws TokenctlError as `exportLog`, `configuration`, `unsupported`; `interrupted` if a signal stopped it
 * before the end of the log
 */
export async function exportFlow(
  runtime: Runtime,
  flags: ExportFlags,
): Promise<Report<ExportReport> | undefined> {
  const { format, since, follow } = flags;
  const parts = await runtime.logExport({
    format,
    to: flags.to,
    caFile: flags['ca-file'],
    tokenFile: flags['token-file'],
    cursor: flags.cursor,
  });
  const signal = runtime.stopSignal();
  try {
    const exported = await exportLog({
      log: await runtime.auditLog(),
      format: parts.format,
      sink: parts.sink ?? outputSink,
      cursor: parts.cursor,
      since: typeof since === 'object' ? instantOf(since, runtime.clock.now()) : since,
      follow: follow === true ? following(signal) : undefined,
      signal,
    });
    if (signal.aborted && follow !== true)
      throw new TokenctlError('interrupted', `The export was interrupted after entry ${exported.last}`, {
        hint: `Run it again. Without a cursor, use --since ${exported.last + 1}.`,
      });
    return parts.sink === null ? undefined : exportResult(exported, parts.sink);
  } catch (error) {
    if (error instanceof OutputClosed) return undefined;
    throw error;
  }
}

function following(signal: AbortSignal) {
  return {
    wait: (milliseconds: number) => sleep(milliseconds, undefined, { signal }).catch(() => undefined),
    onFailure: ({ message }: Error) => writeNotice(printable.value(`${message}. Retrying.`)),
  };
}

/** The reader of stdout closed the pipe: `log export | head`. */
class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** Writes records to stdout: unchanged for programs, with control characters escaped for a terminal. */
const outputSink: LogSink = {
  name: 'stdout',
  async send(records) {
    const text = `${records.join('\n')}\n`;
    if (!(await writeTo(process.stdout, process.stdout.isTTY ? printable.lines(text) : text))) {
      throw new OutputClosed();
    }
  },
  close: () => Promise.resolve(),
};

function exportResult({ entries, records, last }: ExportReport, { name }: LogSink): Report<ExportReport> {
  const what = `${countText(entries, 'entry', 'entries')} as ${countText(records, 'record')}`;
  return report({
    json: { entries, records, last },
    document: [
      lines(
        entries === 0
          ? `Nothing to export: all entries up to ${last} were already exported.`
          : `Exported ${what} to ${name}, up to entry ${last}.`,
      ),
    ],
  });
}
