import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Report, Result } from '../../reports/result.ts';
import { csvLines, jsonLines, type Listing } from '../../reports/tables/listing.ts';
import { onScreen, printable, type Screen } from '../../reports/tables/text.ts';
import { exitCodeOf, exitCodes, failureOf, failureOnScreen } from '../errors/failure.ts';
import { screenOf, writeTo } from './streams.ts';

/** How to print a result. */
interface Presentation {
  readonly format: Format;
  /** Whether the command made changes, which the audit log recorded. */
  readonly recorded: boolean;
}

/** Prints a result, and its failure on stderr; returns the exit code. Throws `partly_done` if it cannot. */
export async function present(result: Result, { format, recorded }: Presentation): Promise<number> {
  const screen = screenOf(process.stdout);
  if (result.kind === 'listing') {
    await printListing(result, { format, screen });
    return await failed(result.failure?.());
  }
  if (result.kind === 'streamed') {
    await writeAll(result.chunks(screen));
    return await failed(result.failure?.());
  }
  await printReport(result, { format, screen }).catch((error: unknown) => {
    throw recorded ? withLogHint(error) : error;
  });
  return await failed(result.failure);
}

/** Prints the failure of a command that has a result. */
async function failed(failure: TokenctlError | undefined): Promise<number> {
  if (failure === undefined) return exitCodes.done;
  await writeTo(process.stderr, failureOnScreen(failureOf(failure), screenOf(process.stderr)));
  if (process.env['TOKENCTL_DEBUG'] === '1') {
    const { traceOf } = await import('./report-failure.ts');
    await writeTo(process.stderr, traceOf(failure));
  }
  return exitCodeOf(failure.code);
}

async function printReport(report: Report, { format, screen }: Printing) {
  if (format === 'csv' && report.csv !== undefined) return await printListing(report.csv, { format, screen });
  await writeTo(process.stdout, await reportText(report, { format, screen }));
}

/** Adds a hint to an error after the change was made. */
function withLogHint(error: unknown): unknown {
  if (!(error instanceof TokenctlError) || error.code !== 'partly_done') return error;
  const hint = 'The changes are in the audit log. Run `tokenctl log list`.';
  return new TokenctlError(error.code, error.message, { hint, cause: error.cause });
}

/** How a listing is printed. */
export type Format = 'json' | 'csv' | 'table';

async function reportText(report: Report, { format, screen }: Printing): Promise<string> {
  if (format === 'json') return printable.lines(`${JSON.stringify(report.json, null, 2)}\n`);
  const text = await report.text(screen);
  return report.verbatim === true ? text : onScreen(text, screen);
}

interface Printing {
  readonly format: Format;
  readonly screen: Screen;
}

/** Characters to collect before a write. */
const CHUNK = 16_384;

/** Prints rows as they arrive; stops if the reader closes the pipe. */
async function printListing<Row>(listing: Listing<Row>, { format, screen }: Printing): Promise<void> {
  if (format !== 'table') {
    await writeAll(format === 'json' ? jsonLines(listing) : csvLines(listing));
    return;
  }
  const { tableLines } = await import('../../reports/tables/table.ts');
  const written = await writeAll(tableLines(listing, screen));
  if (written === 0) await writeTo(process.stderr, `${listing.none}\n`);
}

/** Writes texts to stdout in chunks, until the reader closes the pipe; returns the number of characters. */
async function writeAll(texts: AsyncIterable<string>): Promise<number> {
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
