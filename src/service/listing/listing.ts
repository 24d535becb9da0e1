import type { Queryable } from '../../db/database.ts';
import { notFound } from '../failure.ts';
import { parseTarget } from '../request.ts';
import type { FieldSet } from './fields.ts';
import { type Condition, compileFilters, compileOrder } from './filters.ts';

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
  const page = pageNumber(query);
  const counted = query.get('count_disabled') === null || query.get('count_disabled') === '';
  const count = counted ? await countRows(database, `${from} WHERE ${where}`, values) : null;
  const last = count === null ? page : Math.max(1, Math.ceil(count / size));
  if (page > last) throw notFound('Invalid page.');
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

/** Larger sizes are capped and invalid ones ignored, as on the controller. */
function pageSize(query: URLSearchParams): number {
  const size = Number(query.get('page_size') ?? Number.NaN);
  return Number.isSafeInteger(size) && size > 0 ? Math.min(size, MAX_PAGE_SIZE) : DEFAULT_PAGE_SIZE;
}

function pageNumber(query: URLSearchParams): number {
  const page = Number(query.get('page') ?? 1);
  if (!Number.isSafeInteger(page) || page < 1 || page > 1e9) throw notFound('Invalid page.');
  return page;
}

/** The query string of another page: sorted by name, with the capped page size. */
function linkQuery(query: URLSearchParams, page: number, size: number): string {
  const link = new URLSearchParams(query);
  link.set('page', String(page));
  if (link.has('page_size')) link.set('page_size', String(size));
  link.sort();
  return link.toString();
}
