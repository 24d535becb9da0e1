import { hash } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { Exchange } from '../endpoint.ts';
import { badRequest, notFound } from '../failure.ts';
import { outsideTurn, signalOf } from '../limits/request-shares.ts';
import { parseTarget } from '../request.ts';
import type { FieldSet } from './fields.ts';
import { allOf, compileFilters, compileOrder, type Filters, filterEntries, lastValue } from './filters.ts';
import { scanIds } from './scan.ts';

const DEFAULT_PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 200;

/** A listing: constant SQL parts, the visible rows, and the JSON of a row. */
export interface Listing<R extends object, T = unknown> {
  readonly fields: FieldSet;
  readonly columns: Sql;
  readonly from: Sql;
  /** The table of `from` that the others are joined to, at most one row for each of its own: `main_activitystream s`. */
  readonly own?: Sql;
  /** Which rows this caller sees here. */
  readonly visible: Sql;
  /**
   * The rows on which the caller has a role, by the name of its field, for `role_level`; null if there is no such role.
   * Without it the rows have no roles.
   */
  readonly withRole?: (field: string) => Sql | null;
  /** The rows of the page as the API shows them. */
  readonly render: (rows: readonly R[]) => readonly T[] | Promise<readonly T[]>;
}

/** A page of results, as the controller wraps them; `count_disabled` leaves all but the results out. */
export type Page<T = unknown> =
  | { count: number; next: string | null; previous: string | null; results: T[] }
  | { results: T[] };

/**
 * Answers a list request: filters, order and page from the query string. It runs in the caller's share of the
 * database.
 *
 * @param url The request's own where not given.
 * @throws RequestFailure 404 for a page that does not exist, 400 and 403 as {@link compileFilters}, 503 for
 * filters that take
 *   too long, 429 if too many requests of the caller are in progress.
 */
export async function list<R extends object, T = unknown>(
  exchange: Exchange,
  listing: Listing<R, T>,
  url = exchange.request.url,
): Promise<Page<T>> {
  const { path, query: search } = parseTarget(url);
  const query = new URLSearchParams(search);
  const rows = { ...listing, visible: atRoleLevel(listing, query) };
  const filters = compileFilters(rows.fields, query);
  const order = compileOrder(rows.fields, query);
  return inShare(exchange, filters, async (signal) => {
    const where = await condition(exchange.service.database, rows, filters, signal);
    return page({ database: exchange.service.database, listing: rows, where, order, path, query });
  });
}

/** The visible rows; with `role_level`, those on which the caller has that role. */
function atRoleLevel(
  { visible, withRole, fields }: Pick<Listing<never>, 'visible' | 'withRole' | 'fields'>,
  query: URLSearchParams,
): Sql {
  const level = lastValue(query, 'role_level');
  if (level === null) return visible;
  const condition = withRole?.(level) ?? null;
  if (condition === null)
    throw badRequest(`role_level: ${fields.type} has no role ${JSON.stringify(level)}.`);
  return allOf(visible, condition);
}

/** Runs a list in the caller's share: scans have another one, so that they leave connections to other requests. */
async function inShare<T>(
  { service, caller, request, reply }: Exchange,
  filters: Filters,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { scans, lists } = service.shares;
  const share = filters.scan === null ? lists : scans;
  return outsideTurn(request, () => share.run(caller.user.id, signalOf(reply), work));
}

/** The rows that the caller sees and that meet the filters. */
async function condition(
  database: Queryable,
  { fields, from, visible }: Pick<Listing<never>, 'fields' | 'from' | 'visible'>,
  filters: Filters,
  signal: AbortSignal,
): Promise<Sql> {
  const where = allOf(visible, filters.condition);
  if (filters.scan === null) return where;
  const id = fields.fields['id']?.column;
  if (id === undefined) throw new Error(`the rows of ${fields.type} have no id`);
  const ids = await scanIds(database, { id, from, where }, filters.scan, signal);
  return allOf(where, sql`${id} = ANY(${ids}::bigint[])`);
}

async function page<R extends object, T>(request: {
  readonly database: Queryable;
  readonly listing: Listing<R, T>;
  readonly where: Sql;
  readonly order: Sql;
  readonly path: string;
  readonly query: URLSearchParams;
}): Promise<Page<T>> {
  const { database, listing, where, order, path, query } = request;
  const { from, columns, own = from } = listing;
  const size = pageSize(query);
  const counted = namesOnly(where, own) ? own : from;
  // Without a count the controller knows of one page only.
  const count = query.has('count_disabled')
    ? null
    : await countRows(database, often(sql`SELECT count(*) AS count FROM ${counted} WHERE ${where}`, query));
  const last = Math.max(1, Math.ceil((count ?? 0) / size));
  const number = pageNumber(query, last);
  // Numbers, and not parameters: without any parameter PostgreSQL plans a prepared statement once.
  const part = sql`ORDER BY ${order} LIMIT ${literal(size)} OFFSET ${literal((number - 1) * size)}`;
  const id = listing.own && listing.fields.fields['id']?.column;
  // Where many tables are joined, only the rows of the page are: of all of them, the joins take most of the time.
  const rows = id
    ? sql`${id} = ANY(ARRAY(SELECT ${id} FROM ${namesOnly(order, own) ? counted : from} WHERE ${where} ${part})) ORDER BY ${order}`
    : sql`${where} ${part}`;
  const statement = often(sql`SELECT ${columns} FROM ${from} WHERE ${rows}`, query);
  const results = [...(await listing.render(await statement.rows<R>(database)))];
  if (count === null) return { results };
  const link = (to: number) => `${path}?${linkQuery(query, to, size)}`;
  return {
    count,
    next: number < last ? link(number + 1) : null,
    previous: number > 1 ? link(number - 1) : null,
    results,
  };
}

/** Whether a condition names no table but one: `main_activitystream s`. */
function namesOnly({ text }: Sql, table: Sql): boolean {
  const [, alias] = table.text.split(' ');
  return (
    !text.includes('SELECT') && [...text.matchAll(/\b([a-z_]+)"?\./g)].every(([, name]) => name === alias)
  );
}

/** Prepared, if it has no values and nothing of the request is in its text: each place of a list then has few texts. */
function often(statement: Sql, query: URLSearchParams): Sql {
  const isOften =
    statement.values.length === 0 && [...query.keys()].every((name) => name === 'count_disabled');
  return isOften ? statement.prepared(hash('sha1', statement.text)) : statement;
}

async function countRows(database: Queryable, counting: Sql): Promise<number> {
  const row = await counting.first<{ count: number }>(database);
  return row?.count ?? 0;
}

/**
 * Applies the filters of a query string to one resource, as the controller does: `visible` names it. `search`
 * and pages do not apply. Call it only for a resource that the caller may see: the answer tells whether a
 * filter holds.
 *
 * @throws RequestFailure 404 if a filter does not hold, 400 and 403 as {@link compileFilters}.
 */
export async function requireMatch(
  exchange: Exchange,
  rows: Pick<Listing<never>, 'fields' | 'from' | 'visible'>,
): Promise<void> {
  const { database } = exchange.service;
  const query = new URLSearchParams(parseTarget(exchange.request.url).query);
  compileOrder(rows.fields, query);
  if (query.has('role_level')) throw badRequest('role_level: only lists have it.');
  const entries = filterEntries(query);
  if (entries.length === 0) return;
  const filters = compileFilters(rows.fields, new URLSearchParams(entries.map(([...entry]) => entry)));
  const isFound = await inShare(exchange, filters, async (signal) => {
    const where = await condition(database, rows, filters, signal);
    return sql`SELECT FROM ${rows.from} WHERE ${where}`.exists(database);
  });
  if (!isFound) throw notFound('The resource does not match the filters.');
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
