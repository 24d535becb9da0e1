import type { Listing } from './result.ts';
import { printable } from './text.ts';

/** Thrown instead of the error that cut a JSON list short; the error is its cause. */
export class IncompleteListing extends Error {
  override readonly name = 'IncompleteListing';

  constructor(cause: unknown) {
    super('the list was cut short', { cause });
  }
}

/** One JSON array, a row a line: a parser reads the whole, a line tool reads it as it comes. */
export async function* jsonLines<Row>(listing: Listing<Row>): AsyncIterable<string> {
  let separator = '[\n  ';
  try {
    for await (const row of listing.rows) {
      yield separator + printable.lines(JSON.stringify(listing.json(row)));
      separator = ',\n  ';
    }
  } catch (error) {
    throw separator.startsWith('[') ? error : new IncompleteListing(error);
  }
  yield separator.startsWith('[') ? '[]\n' : '\n]\n';
}

/** The rows as CSV, a line each, under a heading. */
export async function* csvLines<Row>({ columns, rows }: Listing<Row>): AsyncIterable<string> {
  yield csvLine(columns.map(({ name }) => name));
  for await (const row of rows) {
    yield csvLine(columns.map((column) => column.csv?.(row) ?? column.cell(row)));
  }
}

/** What spreadsheets take for the start of a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * One line of CSV (RFC 4180; ends with a line feed). A cell that a spreadsheet would run as a formula is
 * led by an apostrophe: descriptions are untrusted input.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

function csvCell(text: string): string {
  const harmless = printable.value(FORMULA.test(text) ? `'${text}` : text);
  return /[",]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
