import type { TokenctlError } from '@tokenctl/common/errors.ts';
import type { UserReference } from '../../domain/token.ts';
import { dayText, printable, type Tone, timeText } from './text.ts';

export interface Column<Row> {
  /** The heading: upper case in tables, unchanged in CSV. */
  readonly name: string;
  /** The cell; an empty string for nothing. The renderer escapes it. */
  cell(row: Row): string;
  /** The cell for programs, if it differs from the displayed one. */
  csv?(row: Row): string;
  /** A shorter form of the cell, for a table wider than the terminal. */
  short?(row: Row): string;
  /**
   * What happens to the column in a table wider than the terminal: `below` puts it under each row, on
   * separate lines; `drop` omits it if the other columns would get too narrow.
   */
  readonly narrow?: 'below' | 'drop';
  /** `csv` omits the column in tables; `unlessEmpty` omits it if no row fills it. */
  readonly only?: 'csv' | 'unlessEmpty';
  /** A truncated cell would mislead (an id, a time): it is truncated last. */
  readonly whole?: true;
  /** The color of the cell; undefined for none. */
  tone?(row: Row): Tone | undefined;
}

/** A column of instants; its cell is empty for null. */
export function timeColumn<Row>(
  name: string,
  timeOf: (row: Row) => Date | null,
  more: Pick<Column<Row>, 'only'> = {},
): Column<Row> {
  const text = (row: Row, asText: (time: Date) => string) => {
    const time = timeOf(row);
    return time === null ? '' : asText(time);
  };
  return {
    name,
    cell: (row) => text(row, timeText),
    short: (row) => text(row, dayText),
    whole: true,
    ...more,
  };
}

export function ownerColumn<Row extends { readonly user: UserReference | null }>(): Column<Row> {
  return {
    name: 'user',
    cell: ({ user }) => user?.username ?? '(none)',
    csv: ({ user }) => user?.username ?? '',
    whole: true,
  };
}

/** Many results of one kind, printed as they arrive; in JSON as an array of `Item`. */
export interface Listing<Row, Item = unknown> {
  readonly kind: 'listing';
  readonly rows: AsyncIterable<Row> | Iterable<Row>;
  readonly columns: readonly Column<Row>[];
  json(row: Row): Item;
  /** The message on stderr if there are no rows. */
  readonly none: string;
  /** Called after the last row: as `Report.failure`. */
  readonly failure?: (() => TokenctlError | undefined) | undefined;
}

export function listing<Row, Item = unknown>(parts: Omit<Listing<Row, Item>, 'kind'>): Listing<Row, Item> {
  return { kind: 'listing', ...parts };
}

/** Thrown instead of the error that truncated a JSON list, which is its cause. */
export class IncompleteListing extends Error {
  override readonly name = 'IncompleteListing';

  constructor(cause: unknown) {
    super('the list was truncated', { cause });
  }
}

/** One JSON array with a row per line, for parsers and for line tools. */
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

/** The rows as CSV, one line each, under a heading. */
export async function* csvLines<Row>({ columns, rows }: Listing<Row>): AsyncIterable<string> {
  yield csvLine(columns.map(({ name }) => name));
  for await (const row of rows) yield csvLine(columns.map((column) => column.csv?.(row) ?? column.cell(row)));
}

/**
 * What spreadsheets take for the start of a formula; `|` starts one for DDE. Includes fullwidth characters,
 * and characters after invisible, skipped or cell-separating ones in some languages.
 */
const FORMULA =
  /^[\s;%,\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*(?:[=+\-@|＝＋－＠｜]|(?<=[\t\r]))/u;

/**
 * One line of CSV (RFC 4180; ends with a line feed). A cell that a spreadsheet would run as a formula gets an
 * apostrophe in front: descriptions are untrusted input.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

function csvCell(text: string): string {
  const harmless = printable.value(FORMULA.test(text) ? `'${text}` : text);
  return /[",]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
