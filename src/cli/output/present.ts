import { TokenctlError } from '../../domain/errors.ts';
import { printable } from '../../reports/printable.ts';
import type { Report, Result } from '../../reports/result.ts';
import { exitCodeOf, exitCodes } from '../errors/exit-codes.ts';
import { failureOf, failureToText } from '../errors/failure.ts';
import { type Format, printListing, writeAll } from './listing-output.ts';
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
    const { traceOf } = await import('../errors/debug-trace.ts');
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
