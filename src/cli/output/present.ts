import { TokenctlError } from '../../domain/errors.ts';
import { csvLines, jsonLines } from '../../reports/tables/listing.ts';
import type { Listing, Report, Result } from '../../reports/tables/result.ts';
import { printable } from '../../reports/tables/text.ts';
import { exitCodeOf, exitCodes, failureOf, failureToText } from '../errors/failure.ts';
import { writeTo } from './streams.ts';

/** How a result is to be printed. */
interface Presentation {
  readonly format: Format;
  /** Whether it tells of changes, which the audit log holds as well. */
  readonly recorded: boolean;
}

/**
 * Prints what a command returned: results on stdout, and what went wrong in spite of the result on
 * stderr.
 *
 * @returns the exit code
 * @throws TokenctlError `partly_done` where it cannot be written
 */
export async function present(result: Result, { format, recorded }: Presentation): Promise<number> {
  // A terminal whose size nobody told it has 0 columns.
  const width = process.stdout.columns || Number.POSITIVE_INFINITY;
  if (result.kind === 'listing') {
    await printListing(result, { format, width });
    return await failed(result.failure?.());
  }
  if (result.kind === 'streamed') {
    await writeAll(result.chunks({ width }));
    return await failed(result.failure?.());
  }
  await printReport(result, { format, width }).catch((error: unknown) => {
    throw recorded ? withLogHint(error) : error;
  });
  return await failed(result.failure);
}

/** Says on stderr that not all is well although there is a result. */
async function failed(failure: TokenctlError | undefined): Promise<number> {
  if (failure === undefined) return exitCodes.done;
  await writeTo(process.stderr, printable.lines(failureToText(failureOf(failure))));
  if (process.env['TOKENCTL_DEBUG'] === '1') {
    const { traceOf } = await import('../errors/report-failure.ts');
    await writeTo(process.stderr, traceOf(failure));
  }
  return exitCodeOf(failure.code);
}

async function printReport(report: Report, { format, width }: { format: Format; width: number }) {
  if (format === 'csv' && report.csv !== undefined) return await printListing(report.csv, { format, width });
  const text =
    format === 'json'
      ? printable.lines(`${JSON.stringify(report.json, null, 2)}\n`)
      : await report.text({ width });
  await writeTo(process.stdout, text);
}

/** A change whose report is lost has still been made. */
function withLogHint(error: unknown): unknown {
  if (!(error instanceof TokenctlError) || error.code !== 'partly_done') return error;
  const hint = 'What was changed stands in the audit log: tokenctl log list';
  return new TokenctlError(error.code, error.message, { hint, cause: error.cause });
}

/** How a listing is printed. */
export type Format = 'json' | 'csv' | 'table';

/** Characters gathered before they are written: few system calls, and still a steady stream. */
const CHUNK = 16_384;

/** Prints the rows as they come, in the format asked for; stops early where nobody reads any more. */
export async function printListing<Row>(
  listing: Listing<Row>,
  { format, width }: { format: Format; width: number },
): Promise<void> {
  if (format !== 'table') {
    await writeAll(format === 'json' ? jsonLines(listing) : csvLines(listing));
    return;
  }
  const { tableLines } = await import('../../reports/tables/table.ts');
  const written = await writeAll(tableLines(listing, width));
  if (written === 0) await writeTo(process.stderr, `${listing.none}\n`);
}

/**
 * Writes texts to stdout as they come, several together; stops early where nobody reads any more.
 *
 * @returns how many characters there were to write
 */
export async function writeAll(texts: AsyncIterable<string>): Promise<number> {
  let gathered = '';
  let written = 0;
  for await (const text of texts) {
    gathered += text;
    written += text.length;
    if (gathered.length < CHUNK) continue;
    if (!(await writeTo(process.stdout, gathered))) return written;
    gathered = '';
  }
  if (gathered !== '') await writeTo(process.stdout, gathered);
  return written;
}
