import { csvLine } from './csv.ts';
import { printable } from './printable.ts';
import type { Listing } from './result.ts';

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
