import type { Queryable } from '../../db/database.ts';
import { notFound } from '../failure.ts';
import { parseTarget } from '../request.ts';
import type { FieldSet } from './fields.ts';
import { type Condition, compileFilters, compileOrder, filterEntries, lastValue } from './filters.ts';

const DEFAULT_PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 200;

/** A listing: constant SQL parts, the visible rows, and the JSON of a row. */
export interface Listing<R extends object, T = unknown> {
  readonly fields: FieldSet;
  readonly columns: string;
  readonly from: string;
  /** Which rows this caller sees here; its parameters begin at `$1`. */
  readonly visible: Condition;
  readonly render: (row: R) => T;
}

/** A page of results, as the controller wraps them; `count_disabled` leaves all but the results out. */
export type Page<T = unknown> =
  | { count: number; next: string | null; previous: string | null; results: T[] }
  | { results: T[] };

/**
 * Answers a list request: filters, order and page from the query string of `url`.
 *
 * @throws RequestFailure 404 for a page that does not exist, 400 and 403 as {@link compileFilters}.
 */
export async function list<R extends object, T = unknown>(
  database: Queryable,
  url: string,
  listing: Listing<R, T>,
): Promise<Page<T>> {
  const { path, query: search } = parseTarget(url);
  const query = new URLSearchParams(search);
  const { visible, fields, from, columns } = listing;
  const filters = compileFilters(fields, query, visible.values.length + 1);
  const order = compileOrder(fields, query);
  const where = `(${visible.sql}) AND ${filters.sql}`;
  const values = [...visible.values, ...filters.values];
  const size = pageSize(query);
  // Without a count the controller knows of one page only.
  const count = query.has('count_disabled')
    ? null
    : await countRows(database, `${from} WHERE ${where}`, values);
  const last = Math.max(1, Math.ceil((count ?? 0) / size));
  const page = pageNumber(query, last);
  const rows = await database.query<R>(
    `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY ${order}
     LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
    [...values, size, (page - 1) * size],
  );
  const results = rows.map(listing.render);
  if (count === null) return { results };
  const link = (number: number) => `${path}?${linkQuery(query, number, size)}`;
  return {
    count,
    next: page < last ? link(page + 1) : null,
    previous: page > 1 ? link(page - 1) : null,
    results,
  };
}

async function countRows(database: Queryable, tail: string, values: readonly unknown[]): Promise<number> {
  const [row] = await database.query<{ count: number }>(`SELECT count(*) AS count FROM ${tail}`, values);
  return row?.count ?? 0;
}

/**
 * Applies the filters of a query string to one resource, as the controller does: `visible` names it. `search` and pages do
 * not apply. Call it only for a resource that the caller may see: the answer tells whether a filter holds.
 *
 * @throws RequestFailure 404 if a filter does not hold, 400 and 403 as {@link compileFilters}.
 */
export async function requireMatch(
  database: Queryable,
  url: string,
  { fields, from, visible }: Pick<Listing<never>, 'fields' | 'from' | 'visible'>,
): Promise<void> {
  const query = new URLSearchParams(parseTarget(url).query);
  compileOrder(fields, query);
  const entries = filterEntries(query);
  if (entries.length === 0) return;
  const filters = compileFilters(
    fields,
    new URLSearchParams(entries.map(([...entry]) => entry)),
    visible.values.length + 1,
  );
  const rows = await database.query(`SELECT FROM ${from} WHERE (${visible.sql}) AND ${filters.sql}`, [
    ...visible.values,
    ...filters.values,
  ]);
  if (rows.length === 0) throw notFound('The resource does not match the filters.');
}

/** Larger sizes are capped and invalid ones ignored, as on the controller. */
function pageSize(query: URLSearchParams): number {
  const size = Number(lastValue(query, 'page_size') ?? Number.NaN);
  return Number.isSafeInteger(size) && size > 0 ? Math.min(size, MAX_PAGE_SIZE) : DEFAULT_PAGE_SIZE;
}

/** A page that exists: the first without a number, and `last`. */
function pageNumber(query: URLSearchParams, last: number): number {
  const asked = (lastValue(query, 'page') || '1').trim();
  const page = asked === 'last' ? last : /^\+?\d{1,9}$/.test(asked) ? Number(asked) : 0;
  if (page < 1 || page > last) throw notFound('Invalid page.');
  return page;
}

/** The query string of another page: sorted by name, a page size that is too large capped. */
function linkQuery(query: URLSearchParams, page: number, size: number): string {
  const link = new URLSearchParams(query);
  link.set('page', String(page));
  if (Number(lastValue(query, 'page_size')) > size) link.set('page_size', String(size));
  link.sort();
  return link.toString();
}
