import { exitCodeOf, exitCodes } from './exit-codes.ts';
import { failureOf, failureToText } from './failure.ts';
import { type Format, printListing } from './listing.ts';
import { writeTo } from './output.ts';
import { printable } from './printable.ts';
import type { Report, Result } from './result.ts';

/**
 * Prints what a command returned: results on stdout, and what went wrong in spite of the result on
 * stderr.
 *
 * @returns the exit code
 */
export async function present(result: Result, format: Format): Promise<number> {
  // A terminal whose size nobody told it has 0 columns.
  const width = process.stdout.columns || Number.POSITIVE_INFINITY;
  if (result.kind === 'listing') {
    await printListing(result, { format, width });
    return exitCodes.done;
  }
  await printReport(result, { format, width });
  if (result.failure === undefined) return exitCodes.done;
  await writeTo(process.stderr, printable.lines(failureToText(failureOf(result.failure))));
  return exitCodeOf(result.failure.code);
}

async function printReport(report: Report, { format, width }: { format: Format; width: number }) {
  if (format === 'csv' && report.csv !== undefined) return await printListing(report.csv, { format, width });
  const text =
    format === 'json'
      ? printable.lines(`${JSON.stringify(report.json, null, 2)}\n`)
      : await report.text({ width });
  await writeTo(process.stdout, text);
}
