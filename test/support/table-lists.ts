import type { Database } from '@tokenctl/common/db/database.ts';

/** A list of a REST API on tables: its rows `p` have a column `body`, which is what the API gives, and those that it filters by. */
export interface TableList {
  readonly sql: string;
  /** The columns by the field of the filter; one in `{}` is a condition with `VALUE` for the value. */
  readonly columns: Readonly<Record<string, string>>;
}

export interface ListPage {
  readonly count: number;
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
}

const OPERATORS: Readonly<Record<string, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };
const NO_FILTERS = new Set(['page_size', 'order_by', 'count_disabled']);

/** Reads a page of a list as a query asks for it; null for a filter that is not known. */
export async function pageOf(
  database: Database,
  { sql, columns }: TableList,
  query: URLSearchParams,
): Promise<ListPage | null> {
  const all: string[] = ['true'];
  const some: string[] = [];
  const values: unknown[] = [];
  for (const [parameter, value] of query) {
    if (NO_FILTERS.has(parameter)) continue;
    const condition = conditionOf(columns, parameter.replace(/^or__/, ''), values.length + 1);
    if (condition === null) return null;
    values.push(/__in$/.test(parameter) ? value.split(',') : value);
    (parameter.startsWith('or__') ? some : all).push(condition);
  }
  if (some.length > 0) all.push(`(${some.join(' OR ')})`);
  const descending = (query.get('order_by') ?? '').startsWith('-');
  const size = Math.min(Number(query.get('page_size') ?? 50), 200);
  const rows = await database.query<{ body: Record<string, unknown>; count: number }>(
    `SELECT p.body, count(*) OVER ()::int AS count FROM (${sql}) p WHERE ${all.join(' AND ')}
     ORDER BY p.id ${descending ? 'DESC' : ''} LIMIT ${size}`,
    values,
  );
  return { count: rows[0]?.count ?? 0, bodies: rows.map(({ body }) => body) };
}

/** The condition of a filter on its value, which is a parameter; null for a filter that is not known. */
function conditionOf(columns: TableList['columns'], parameter: string, position: number): string | null {
  const [, not, field = '', lookup = ''] =
    /^(not__)?(.+?)(?:__(in|gt|gte|lt|lte|isnull|contains|icontains))?$/.exec(parameter) ?? [];
  const name = columns[field];
  if (name === undefined) return null;
  const value = `$${position}`;
  const condition = name.startsWith('EXISTS')
    ? name.replace('VALUE', lookup === 'in' ? `ANY(${value}::text[])` : value)
    : comparison(`p.${name}`, { field, lookup, value });
  return not === undefined ? `(${condition})` : `(${condition}) IS NOT TRUE`;
}

function comparison(
  column: string,
  { field, lookup, value }: { field: string; lookup: string; value: string },
): string {
  if (lookup === 'isnull') return `(${column} IS NULL)::text = lower(${value})`;
  if (lookup === 'in') return `${column}::text = ANY(${value})`;
  if (lookup.endsWith('contains')) return `${column}::text ILIKE '%' || ${value} || '%'`;
  const operator = OPERATORS[lookup];
  if (/^(created|modified|timestamp|last_used|expires)$/.test(field))
    return `${column} ${operator ?? '='} ${value}::timestamptz`;
  // The API takes True and true.
  if (operator === undefined) return `${column}::text IN (${value}, lower(${value}))`;
  return `${column} ${operator} ${value}`;
}
