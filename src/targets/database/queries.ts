import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';

/** The condition on a value; undefined if the value is missing. */
export function when<Value>(value: Value, condition: (value: NonNullable<Value>) => Sql): Sql | undefined {
  return value === undefined || value === null ? undefined : condition(value);
}

/** Combines conditions with AND, without missing ones. */
export function allOf(...conditions: readonly (Sql | undefined)[]): Sql {
  return joined([sql`TRUE`, ...conditions.filter((condition) => condition !== undefined)], ' AND ');
}

export function inRange(column: Sql, { after, last, ids }: IdRange): readonly (Sql | undefined)[] {
  return [
    sql`${column} > ${after}::bigint`,
    when(last, (id) => sql`${column} <= ${id}::bigint`),
    when(ids, (some) => sql`${column} = ANY(${some}::bigint[])`),
  ];
}

/** The earliest and latest dates of JavaScript (ECMAScript, 21.4.1.1), in milliseconds. */
export const MAX_DATE_MS = 8.64e15;

/** SQL for milliseconds since 1970 in float8, much cheaper to read than timestamptz. `infinity` stays. */
export function milliseconds(column: Sql): Sql {
  return sql`date_part('epoch', ${column}) * 1000`;
}

/**
 * The date for {@link milliseconds}, given as a number or the text `Infinity`, truncated to milliseconds as
 * in a REST client. Dates outside JavaScript's range (`infinity`, years beyond 275760) become its limit.
 */
export function dateOf(value: number | string): Date {
  // Adds half a microsecond, because a float8 may be slightly below the intended millisecond.
  return new Date(Math.min(Math.max(Math.floor(Number(value) + 0.0005), -MAX_DATE_MS), MAX_DATE_MS));
}

/** Like {@link dateOf}; null for null. */
export function dateOrNull(value: number | string | null): Date | null {
  return value === null ? null : dateOf(value);
}

/** SQL for each column of a row, by its name in the row. */
export type ColumnSql<Row> = { readonly [Name in keyof Row & string]: Sql };

/** The only row of a result of arrays. Each array is null if nothing was found. */
export type ArraysOf<Row> = { readonly [Name in keyof Row]: readonly Row[Name][] | null };

/**
 * Reads many rows, with each column as one JSON array: a third of the time that the driver takes for as many
 * rows. Values that are not JSON numbers (`infinity`) arrive as text.
 * @param from The SQL after the columns: FROM, WHERE, ORDER BY, LIMIT.
 */
export async function readArrays<Row extends object>(
  database: Queryable,
  columns: ColumnSql<Row>,
  from: Sql,
): Promise<Row[]> {
  return rowsOf([await readColumns(database, columns, from)]);
}

/** Like {@link readArrays}, but in the received form. Read it with {@link mapRows}, without an object for each row. */
export async function readColumns<Row extends object>(
  database: Queryable,
  columns: ColumnSql<Row>,
  from: Sql,
): Promise<ArraysOf<Row>> {
  const named = Object.entries<Sql>(columns).map(([name, column]) => sql`${column} AS ${identifier(name)}`);
  const page = Object.fromEntries(Object.keys(columns).map((name) => [name, identifier(`p.${name}`)]));
  const arrays = await sql`SELECT ${arraysSql(page)}
    FROM (SELECT ${joined(named)} ${from}) p`.first<ArraysOf<Row>>(database);
  if (arrays === null) throw new Error('an aggregate always has a row');
  return arrays;
}

/** The columns of a statement that returns arrays. Read them with {@link rowsOf}. */
export function arraysSql(columns: Readonly<Record<string, Sql>>): Sql {
  return joined(
    Object.entries(columns).map(([name, column]) => sql`json_agg(${column}) AS ${identifier(name)}`),
  );
}

/** The rows of a result with the columns of {@link arraysSql}. */
export function rowsOf<Row extends object>([arrays]: readonly ArraysOf<Row>[]): Row[] {
  return arrays === undefined ? [] : mapRows(arrays, (row) => ({ ...row }));
}

/** Maps each row. `of` must not keep the row: one object is reused for all rows, to save garbage. */
export function mapRows<Row extends object, Item>(
  arrays: ArraysOf<Row>,
  of: (row: Readonly<Row>) => Item,
): Item[] {
  const columns = Object.keys(arrays).map((name) => [name, arrays[name as keyof Row] ?? []] as const);
  const row: Record<string, unknown> = {};
  const items: Item[] = [];
  for (let index = 0; index < (columns[0]?.[1].length ?? 0); index++) {
    for (const [name, values] of columns) row[name] = values[index];
    items.push(of(row as Row));
  }
  return items;
}

/** How many rows one query reads. With larger pages, more rows survive garbage collection, which then takes longer. */
export const PAGE_SIZE = 2000;
export const PAGE_LIMIT = sql`LIMIT ${literal(PAGE_SIZE)}`;

/**
 * Reads a table in pages, each after the key of the previous page's last row (keyset pagination): every page costs
 * the same, no transaction stays open, and rows deleted meanwhile shift nothing. Rows after the last key that the
 * table has after the first page are not read, because reading until no rows remain could never end.
 * @param options.lastKey The key of a page's last row; null for a page that is not full.
 * @param options.read Reads at most {@link PAGE_SIZE} rows with a greater key, up to `last` unless that is null,
 * ordered by key.
 * @param options.end Reads the last key; null if there is none. Called once, if there is more than one page.
 */
export function keysetPages<Page, Key>(options: {
  readonly start: Key;
  readonly lastKey: (page: Page) => Key | null;
  readonly read: (after: Key, last: Key | null) => Promise<Page>;
  readonly end: () => Promise<Key | null>;
}): AsyncGenerator<Page, void> {
  const { start, lastKey, read, end } = options;
  let last: Promise<Key | null> | undefined;
  return prefetch(
    () => read(start, null),
    (page) => {
      const after = lastKey(page);
      if (after === null) return null;
      return async () => {
        last ??= end();
        // Without a last key, the table is empty by now, and so is this page.
        return read(after, (await last) ?? after);
      };
    },
  );
}

/** For {@link keysetPages}: the key of the last row of a full page. */
export function lastKeyOf<Row, Key>(keyOf: (row: Row) => Key): (rows: readonly Row[]) => Key | null {
  return (rows) => {
    const row = rows.at(-1);
    return rows.length < PAGE_SIZE || row === undefined ? null : keyOf(row);
  };
}

/** A table with ids, and how to read it. */
export interface IdTable {
  readonly name: Sql;
  readonly reader: Queryable;
}

/** The rows of a page: with an id greater than `after`, up to `last` unless null, and only these ids if given. */
export interface IdRange {
  readonly after: number;
  readonly last: number | null;
  readonly ids?: readonly number[] | undefined;
}

/** Rows ascending by id: a list of ids in batches, or all rows in pages of `page`. */
export function idPages<Row extends { readonly id: number }>(
  table: IdTable,
  ids: readonly number[] | undefined,
  page: (range: IdRange) => Sql,
): AsyncGenerator<readonly Row[], void> {
  const read = (range: IdRange): Promise<readonly Row[]> => page(range).rows<Row>(table.reader);
  return pagesById(table, { ids, read, lastId: lastKeyOf(({ id }) => id) });
}

/** Like {@link idPages}, for pages of any form. */
export function pagesById<Page>(
  { name, reader }: IdTable,
  options: {
    readonly ids: readonly number[] | undefined;
    readonly read: (range: IdRange) => Promise<Page>;
    readonly lastId: (page: Page) => number | null;
  },
): AsyncGenerator<Page, void> {
  const { ids, read, lastId } = options;
  if (ids === undefined) {
    return keysetPages({
      start: 0,
      lastKey: lastId,
      read: (after, last) => read({ after, last }),
      end: async () => (await sql`SELECT max(t.id) AS id FROM ${name} t`.ids(reader))[0] ?? null,
    });
  }
  const batches = inBatches(
    [...new Set(ids)].sort((a, b) => a - b),
    PAGE_SIZE,
  );
  const readBatch = (batch: readonly number[]) => read({ after: 0, last: null, ids: batch });
  const readNext = () => {
    const batch = batches.next();
    return batch.done === true ? null : () => readBatch(batch.value);
  };
  // Without ids, there is one empty page.
  return prefetch(readNext() ?? (() => readBatch([])), readNext);
}

/** Splits a list into batches of at most this size. */
export function* inBatches<Item>(items: readonly Item[], size: number): Generator<readonly Item[], void> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Yields page after page, and requests the next one first, so that server and caller work at the same time. */
async function* prefetch<Page>(
  first: () => Promise<Page>,
  following: (page: Page) => (() => Promise<Page>) | null,
): AsyncGenerator<Page, void> {
  let next: Promise<Page> | null = first();
  while (next !== null) {
    const page: Page = await next;
    next = following(page)?.() ?? null;
    // Awaited in the next round. Without this handler, an earlier failure would be an unhandled rejection.
    next?.catch(() => undefined);
    yield page;
  }
}
