import { csvLine } from './csv.ts';
import { writeTo } from './output.ts';
import { printable } from './printable.ts';
import type { Listing } from './result.ts';

/** How a listing is printed. */
export type Format = 'json' | 'csv' | 'table';

/** Thrown instead of the error that cut a JSON list short; the error is its cause. */
export class IncompleteListing extends Error {
  override readonly name = 'IncompleteListing';

  constructor(cause: unknown) {
    super('the list was cut short', { cause });
  }
}

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
  const { tableLines } = await import('./table.ts');
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

/** One JSON array, a row a line: a parser reads the whole, a line tool reads it as it comes. */
async function* jsonLines<Row>(listing: Listing<Row>): AsyncIterable<string> {
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
