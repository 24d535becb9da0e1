import type { TokenctlError } from '../../domain/errors.ts';
import { type Paint, printable, type Tone, unpainted } from './text.ts';

/** What a report's text may depend on. */
export interface Screen {
  /** Columns of the terminal; infinite where it is not one. */
  readonly width: number;
  /** The terminal's colours. */
  readonly paint: Paint;
}

/** Where there is no terminal: lines of any length, without colours. */
export const noScreen: Screen = { width: Number.POSITIVE_INFINITY, paint: unpainted };

/** A change in numbers, for the table of several contexts. */
export interface Amount {
  /** What is counted, in the singular. */
  readonly what: 'token' | 'session' | 'row' | 'step' | 'mail';
  readonly planned: number;
  /** Done now, or found done already. */
  readonly done: number;
  readonly dryRun?: boolean;
}

/**
 * One result: a JSON value, and how it reads. The schemas in docs/schemas are made from `Json`, the type that a command's
 * `run` names.
 */
export interface Report<Json = unknown> {
  readonly kind: 'report';
  /** The value for `--json`; a member that is undefined is left out, and a date is printed in ISO 8601. */
  readonly json: Json;
  /**
   * The text for people: finished lines, the last one with its line feed. Lines that are wider than the terminal are broken,
   * and the words for states get their colours, when it is printed.
   */
  readonly text: (screen: Screen) => string | Promise<string>;
  /** The text is a document of its own (Markdown, a script), which is printed unchanged. */
  readonly verbatim?: boolean | undefined;
  /** What a change planned and did. */
  readonly amount?: Amount | undefined;
  /** Rows for `--csv`, where the command has that flag. */
  readonly csv?: Listing<unknown> | undefined;
  /** Says that not all is well although there is a result; it decides the exit code. */
  readonly failure?: TokenctlError | undefined;
}

/** A column of a listing. */
export interface Column<Row> {
  /** The heading: upper case in tables, unchanged in CSV. */
  readonly name: string;
  /** The cell; an empty string for nothing. The renderer escapes it. */
  cell(row: Row): string;
  /** The cell for programs, where people are shown something else. */
  csv?(row: Row): string;
  /** A shorter form of the cell, for a table that is wider than the terminal. */
  short?(row: Row): string;
  /**
   * What becomes of the column in a table that is wider than the terminal: `below` puts it under each row,
   * on lines of its own; `drop` leaves it out where it would leave too little to the others.
   */
  readonly narrow?: 'below' | 'drop';
  /** `csv` for a column that would crowd the table; `unlessEmpty` drops it where no row fills it. */
  readonly only?: 'csv' | 'unlessEmpty';
  /** Half of it would mislead (an id, a time): cut only where nothing else is left to cut. */
  readonly whole?: true;
  /** The colour of the cell; undefined for none. */
  tone?(row: Row): Tone | undefined;
}

/** Many results of one kind, which are printed as they come; in JSON as an array of `Item`. */
export interface Listing<Row, Item = unknown> {
  readonly kind: 'listing';
  readonly rows: AsyncIterable<Row> | Iterable<Row>;
  readonly columns: readonly Column<Row>[];
  /** The JSON value of one row. */
  json(row: Row): Item;
  /** What to say on stderr where there are no rows. */
  readonly none: string;
  /** Asked after the last row: as of {@link Report.failure}. */
  readonly failure?: (() => TokenctlError | undefined) | undefined;
}

/** A document in a format of its own, which is written as it comes because it may be too large to be held. */
export interface Streamed<Json = unknown> {
  readonly kind: 'streamed';
  /** Never set: the type of what is printed with `--json`. */
  readonly json?: Json;
  /** What the pieces make together: one JSON value, or text. */
  readonly makes: 'json' | 'text';
  /** The text, in pieces; finished lines of our own, in which everything from outside is printable. */
  readonly chunks: (screen: Screen) => AsyncIterable<string>;
  /** Asked after the last piece: as of {@link Report.failure}. */
  readonly failure?: (() => TokenctlError | undefined) | undefined;
}

/** In JSON, what a command reports of a change that was not made: the same members, all null. */
export type NotMade<Report> = { readonly [Name in keyof Report]-?: null };

/** In JSON, what a command reports of a change, made or not made. */
export type MaybeMade<Report> = { readonly [Name in keyof Report]: Report[Name] | null };

/** What a command's `run` returns. The base class prints it in the format asked for. */
export type Result<Json = unknown> =
  | Report<Json>
  | Streamed<Json>
  | (unknown extends Json
      ? Listing<unknown>
      : Json extends readonly (infer Item)[]
        ? Listing<unknown, Item>
        : never);

/** Builds a {@link Report}. */
export function report<Json>(parts: Omit<Report<Json>, 'kind'>): Report<Json> {
  return { kind: 'report', ...parts };
}

/** Builds a {@link Listing}. */
export function listing<Row, Item = unknown>(parts: Omit<Listing<Row, Item>, 'kind'>): Listing<Row, Item> {
  return { kind: 'listing', ...parts };
}

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
