import { hash } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { Exchange } from '../endpoint.ts';
import { badRequest, notFound } from '../failure.ts';
import { outsideTurn, signalOf } from '../limits/request-shares.ts';
import { parseTarget } from '../request.ts';
import type { FieldSet } from './fields.ts';
import {
  allOf,
  compileFilters,
  compileOrder,
  EVERY_ROW,
  type Filters,
  filterEntries,
  lastValue,
} from './filters.ts';
import { scanIds } from './scan.ts';

const DEFAULT_PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 200;

/** A listing: its constant SQL parts, the visible rows, and the JSON of a row. */
export interface Listing<R extends object, T = unknown> {
  readonly fields: FieldSet;
  readonly columns: Sql;
  /** Starts with the rows' table and its alias. A joined table has exactly one row for each, or none with LEFT JOIN. */
  readonly from: Sql;
  readonly visible: Sql;
  /** The ids of the rows, found once and first: checking each row, or joining, takes several times as long. */
  readonly among?: Sql;
  /** A statement for the `count` of the visible rows, if one is faster than counting each row. */
  readonly counting?: Sql | undefined;
  /** The rows on which the caller has a role, by field name, for `role_level`; null if there is no such role. */
  readonly withRole?: (field: string) => Sql | null;
  readonly render: (rows: readonly R[]) => readonly T[] | Promise<readonly T[]>;
}

/** A condition on the rows, or the ids to choose from: see {@link Listing.among}. */
export type Condition = Sql | Required<Pick<Listing<never>, 'among'>>;

/** The visible rows that meet a condition. */
export function seenAnd(visible: Sql, condition: Condition): Pick<Listing<never>, 'visible' | 'among'> {
  return 'among' in condition ? { visible, ...condition } : { visible: allOf(visible, condition) };
}

/** A page of results in the controller's form. With `count_disabled`, it contains only the results. */
export type Page<T = unknown> =
  | { count: number; next: string | null; previous: string | null; results: T[] }
  | { results: T[] };

/**
 * Answers a list request: filters, order and page from the query string. It runs in the caller's share of the
 * database.
 * @throws RequestFailure 404 for a page that does not exist, 400 and 403 as {@link compileFilters}, 503 for
 * filters that take too long, 429 if too many requests of the caller are in progress.
 */
export async function list<R extends object, T = unknown>(
  exchange: Exchange,
  listing: Listing<R, T>,
): Promise<Page<T>> {
  const { path, query: search } = parseTarget(exchange.request.url);
  const query = new URLSearchParams(search);
  const rows = { ...listing, visible: atRoleLevel(listing, query) };
  const filters = compileFilters(rows.fields, query);
  const order = compileOrder(rows.fields, query);
  return inShare(exchange, filters, async (signal) => {
    const { database } = exchange.service;
    const found = await rowsThatMatch(database, rows, filters, signal);
    const { condition } = filters;
    return page({ database, listing: rows, ...found, condition, order, path, query });
  });
}

/** The visible rows. With `role_level`, those on which the caller has that role. */
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

/** Runs a list in the caller's share. Scans have another one, so that they leave connections to other requests. */
async function inShare<T>(
  { service, caller, request, reply }: Exchange,
  filters: Filters,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { scans, lists } = service.shares;
  const share = filters.scan === null ? lists : scans;
  return outsideTurn(request, () => share.run(caller.user.id, signalOf(reply), work));
}

/** The visible rows that match the filters; after a scan also their number. Only a scan reads `among` here. */
async function rowsThatMatch(
  database: Queryable,
  { fields, from, visible, among }: Pick<Listing<never>, 'fields' | 'from' | 'visible' | 'among'>,
  filters: Filters,
  signal: AbortSignal,
): Promise<{ readonly where: Sql; readonly count: number | null }> {
  const id = idOf(fields);
  let where = allOf(visible, filters.condition);
  if (filters.scan === null) return { where, count: null };
  if (among !== undefined) {
    // As a text that is passed back as a parameter: so thousands of ids are neither parsed nor written here.
    const all = await sql`SELECT ARRAY(${among})::text AS ids`.first<{ ids: string }>(database);
    where = allOf(where, sql`${id} = ANY(${all?.ids}::integer[])`);
  }
  const tables = withoutJoins(from, joined([where, ...filters.scan.columns], ' '));
  const ids = await scanIds(database, { id, from: tables, where }, filters.scan, signal);
  return { where: allOf(where, sql`${id} = ANY(${ids}::bigint[])`), count: ids.length };
}

function idOf({ type, fields }: FieldSet): Sql {
  const id = fields['id']?.column;
  if (id === undefined) throw new Error(`the rows of ${type} have no id`);
  return id;
}

async function page<R extends object, T>(request: {
  readonly database: Queryable;
  readonly listing: Listing<R, T>;
  readonly where: Sql;
  readonly condition: Sql;
  readonly count: number | null;
  readonly order: Sql;
  readonly path: string;
  readonly query: URLSearchParams;
}): Promise<Page<T>> {
  const { database, listing, where, condition, order, path, query } = request;
  const { from, columns } = listing;
  const [id, size, asked] = [idOf(listing.fields), pageSize(query), askedPage(query)];
  const among = request.count === null ? listing.among : undefined;
  const matches = among === undefined ? where : sql`${where} AND ${id} = ANY(ARRAY(${among}))`;
  // Tables are joined only to the rows of the page: joins to all rows take most of the time.
  const pageOf = (
    what: Sql,
    number: number,
  ) => sql`SELECT ${what} FROM ${withoutJoins(from, sql`${where} ${order}`)}
    WHERE ${matches} ORDER BY ${order} LIMIT ${literal(size)} OFFSET ${literal((number - 1) * size)}`;
  const atOnce =
    among === undefined
      ? null
      : await readAtOnce(database, asked, (number) =>
          pageOf(sql`${id} AS id, count(*) OVER () AS count`, number),
        );
  const counting =
    (condition === EVERY_ROW ? listing.counting : undefined) ??
    sql`SELECT count(*) AS count FROM ${withoutJoins(from, where)} WHERE ${matches}`;
  // Without a count, the controller knows only one page.
  const count = query.has('count_disabled')
    ? null
    : (request.count ??
      atOnce?.count ??
      (await countRows(database, isOften(counting, query) ? prepared(counting) : counting)));
  const last = Math.max(1, Math.ceil((count ?? 0) / size));
  const number = pageNumber(asked, last);
  // Numbers instead of parameters: PostgreSQL plans a prepared statement without parameters only once.
  const ids = pageOf(id, number);
  // Planning joins takes longer than running them: with values in filters, the ids are read first.
  const known = atOnce?.ids ?? (isOften(ids, query) ? null : await ids.ids(database));
  const ofPage = sql`ARRAY(${ids})`;
  const rowsOf = (found: Sql, isSame: boolean) => {
    const rows = sql`SELECT ${columns} FROM ${from} WHERE ${id} = ANY(${found}) ORDER BY ${order}`;
    return (isSame ? prepared(rows) : rows).rows<R>(database);
  };
  const isOrdered = query.has('order_by') || query.has('order');
  let rows = await rowsOf(known === null ? ofPage : sql`${known}::bigint[]`, !isOrdered);
  // A row that was deleted meanwhile makes the page short or empty, which clients take for the end of the list.
  if (known !== null && rows.length < known.length) rows = await rowsOf(ofPage, false);
  const results = [...(await listing.render(rows))];
  if (count === null) return { results };
  const link = (to: number) => `${path}?${linkQuery(query, to, size)}`;
  return {
    count,
    next: number < last ? link(number + 1) : null,
    previous: number > 1 ? link(number - 1) : null,
    results,
  };
}

/** The ids of a page with the number of rows, in one statement. Null if the rows must be counted first. */
async function readAtOnce(database: Queryable, asked: number | 'last', pageOf: (number: number) => Sql) {
  if (asked === 'last' || asked < 1) return null;
  const rows = await pageOf(asked).rows<{ id: number; count: number }>(database);
  if (rows.length === 0 && asked > 1) return null;
  return { count: rows[0]?.count ?? 0, ids: rows.map(({ id }) => id) };
}

/** Only the table of the rows if the condition names no joined table; else all tables. */
function withoutJoins(from: Sql, condition: Sql): Sql {
  const [, table, alias] = /^(\w+) (\w+)\s/.exec(from.text) ?? [];
  if (table === undefined || alias === undefined) return from;
  const joins = new Set(from.text.match(/\w+/g));
  const names = [...condition.text.matchAll(/(\w+)"?\./g)].map(([, name = '']) => name);
  return names.some((name) => name !== alias && joins.has(name))
    ? from
    : sql`${identifier(table)} ${identifier(alias)}`;
}

/** Whether a statement has no values and no text from the request. So each list has only a few statements. */
function isOften(statement: Sql, query: URLSearchParams): boolean {
  return statement.values.length === 0 && [...query.keys()].every((name) => name === 'count_disabled');
}

function prepared(statement: Sql): Sql {
  return statement.prepared(hash('sha1', statement.text));
}

async function countRows(database: Queryable, counting: Sql): Promise<number> {
  const row = await counting.first<{ count: number }>(database);
  return row?.count ?? 0;
}

/**
 * Applies the filters of a query string to the resource that `visible` selects, as the controller does.
 * `search` and pages do not apply. Call it only for a resource that the caller may see: the answer reveals
 * whether a filter matches.
 * @throws RequestFailure 404 if a filter does not match, 400 and 403 as {@link compileFilters}.
 */
export async function requireMatch(
  exchange: Exchange,
  rows: Pick<Listing<never>, 'fields' | 'from' | 'visible'>,
): Promise<void> {
  const { database } = exchange.service;
  const query = new URLSearchParams(parseTarget(exchange.request.url).query);
  compileOrder(rows.fields, query);
  if (query.has('role_level')) throw badRequest('role_level: only supported for lists.');
  const entries = filterEntries(query);
  if (entries.length === 0) return;
  const filters = compileFilters(rows.fields, new URLSearchParams(entries.map(([...entry]) => entry)));
  const isFound = await inShare(exchange, filters, async (signal) => {
    const { where } = await rowsThatMatch(database, rows, filters, signal);
    return sql`SELECT FROM ${rows.from} WHERE ${where}`.exists(database);
  });
  if (!isFound) throw notFound('The resource does not match the filters.');
}

/** Larger sizes are capped and invalid ones ignored, as on the controller. */
function pageSize(query: URLSearchParams): number {
  const size = Number(lastValue(query, 'page_size') ?? Number.NaN);
  return Number.isSafeInteger(size) && size > 0 ? Math.min(size, MAX_PAGE_SIZE) : DEFAULT_PAGE_SIZE;
}

/** The requested page number; 1 by default, 0 if the number is invalid. */
function askedPage(query: URLSearchParams): number | 'last' {
  const asked = (lastValue(query, 'page') || '1').trim();
  return asked === 'last' ? asked : /^\+?\d{1,9}$/.test(asked) ? Number(asked) : 0;
}

/** Throws RequestFailure 404 for a page that does not exist. */
function pageNumber(asked: number | 'last', last: number): number {
  const page = asked === 'last' ? last : asked;
  if (page < 1 || page > last) throw notFound('Invalid page.');
  return page;
}

/** The query string of another page: sorted by name, with a capped page size. */
function linkQuery(query: URLSearchParams, page: number, size: number): string {
  const link = new URLSearchParams(query);
  link.set('page', String(page));
  if (Number(lastValue(query, 'page_size')) > size) link.set('page_size', String(size));
  link.sort();
  return link.toString();
}
