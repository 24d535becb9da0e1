import { badRequest, forbidden } from '../failure.ts';
import type { Field, FieldSet, Relation } from './fields.ts';

/** An SQL condition, with its parameters numbered from a given start. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Combines two conditions with AND. The second receives the number of its first parameter. */
export function allOf(one: Condition, other: (first: number) => Condition): Condition {
  const second = other(one.values.length + 1);
  return { sql: `(${one.sql}) AND (${second.sql})`, values: [...one.values, ...second.values] };
}

/** Query parameters that are not filters. The last four have a meaning on some of the controller's endpoints only. */
const RESERVED = new Set([
  ...['page', 'page_size', 'order_by', 'order', 'count_disabled', 'format', 'search', 'type'],
  ...['host_filter', 'limit', 'no_truncate', 'validate'],
]);

const MAX_FILTERS = 100;
const MAX_WORDS = 100;
/** PostgreSQL compares each row with each of them, and the embedded database answers nobody else meanwhile. */
const MAX_EXPRESSIONS = 5;

/** A query parameter's name, taken apart: prefixes, and a field with its lookup or the fields to search. */
type Filter = { readonly negated: boolean; readonly alternative: boolean } & (
  | { readonly field: Field; readonly lookup: string }
  | { readonly search: readonly Field[] }
);

/**
 * Compiles a query string's filters to one SQL condition, as the controller reads them: `field__lookup`,
 * through relations, with `not__`, `or__` and `chain__` before; combined with AND, the `or__` ones with OR.
 * Field names come from the declared set only; values are parameters.
 *
 * @param first The number of the first parameter, 1 for `$1`.
 * @throws RequestFailure 400 for an unknown field or lookup or a value of the wrong type, 403 for a secret.
 */
export function compileFilters(set: FieldSet, query: URLSearchParams, first: number): Condition {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${first - 1 + values.push(value)}`;
  const type = lastValue(query, 'type');
  const every: string[] = type === null || type.split(',').includes(set.type) ? [] : ['FALSE'];
  const any: string[] = [];
  const filters = filterEntries(query);
  if (filters.length > MAX_FILTERS) throw badRequest(`More than ${MAX_FILTERS} filters.`);
  let expressions = 0;
  for (const [name, value] of filters) {
    const filter = parse(set, name);
    if ('lookup' in filter && filter.lookup.endsWith('regex') && ++expressions > MAX_EXPRESSIONS) {
      throw badRequest(`More than ${MAX_EXPRESSIONS} regular expressions.`);
    }
    const sql =
      'search' in filter
        ? compileSearch(filter.search, value, parameter)
        : compileLookup({ ...filter, name, value, parameter });
    const signed = filter.negated ? `(${sql}) IS NOT TRUE` : `(${sql})`;
    (filter.alternative ? any : every).push(signed);
  }
  every.push(compileSearch(searched(set), query.getAll('search').join(' '), parameter));
  if (any.length > 0) every.push(`(${any.join(' OR ')})`);
  return { sql: every.join(' AND '), values };
}

/** The parameters of a query string that are filters. */
export function filterEntries(query: URLSearchParams): readonly (readonly [name: string, value: string])[] {
  return [...query].filter(([name]) => !RESERVED.has(name));
}

/** The last value of a parameter, which is the one that counts on the controller; null without one. */
export function lastValue(query: URLSearchParams, name: string): string | null {
  return query.getAll(name).at(-1) ?? null;
}

/** Compiles `order_by` (fields separated by commas, `-` for descending); the set's own order without one. */
export function compileOrder(set: FieldSet, query: URLSearchParams): string {
  const [, asked = ''] = [...query].findLast(([name]) => name === 'order_by' || name === 'order') ?? [];
  const names = asked
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const terms = (names.length > 0 ? names : set.order).map((name) => {
    const descending = name.startsWith('-');
    const { field, rest } = resolve(set, (descending ? name.slice(1) : name).split('__'), name);
    if (rest.length > 0) throw badRequest(`${name}: there is no such field.`);
    return `${field.column}${descending ? ' DESC' : ''}`;
  });
  // The id last: with ties, rows could move between pages.
  const id = set.fields['id']?.column;
  return [...terms, ...(id === undefined ? [] : [id])].join(', ');
}

function parse(set: FieldSet, name: string): Filter {
  const parts = name.split('__');
  let negated = false;
  let alternative = false;
  for (let prefix = parts[0]; ; prefix = parts[0]) {
    if (prefix === 'not') negated = !negated;
    else if (prefix === 'or') alternative = true;
    else if (prefix !== 'chain') break;
    parts.shift();
  }
  const related = parts.at(-1) === 'search' ? follow(set, parts.slice(0, -1)) : undefined;
  if (related !== undefined) return { search: searched(related), negated, alternative };
  const { field, rest } = resolve(set, parts, name);
  if (rest.length > 1) throw badRequest(`${name}: ${rest.join('__')} is not a lookup.`);
  return { field, lookup: rest[0] ?? 'exact', negated, alternative };
}

/** The resource at the end of a path of relations; undefined where the path is empty or leads nowhere. */
function follow(set: Relation, path: readonly string[]): Relation | undefined {
  const [head, ...rest] = path;
  const related = head === undefined ? undefined : own(set.relations ?? {}, head);
  return related === undefined || rest.length === 0 ? related : follow(related, rest);
}

function resolve(
  set: Relation,
  path: readonly string[],
  name: string,
): { field: Field; rest: readonly string[] } {
  const [head = '', next = ''] = path;
  const related = own(set.relations ?? {}, head);
  if (related !== undefined && (own(related.fields, next) ?? own(related.relations ?? {}, next))) {
    return resolve(related, path.slice(1), name);
  }
  const field = own(set.fields, head);
  if (field?.secret) throw forbidden(`Filtering by ${name} is not allowed.`);
  if (field?.column === undefined) throw badRequest(`${name}: there is no such field.`);
  return { field, rest: path.slice(1) };
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function searched({ fields, searchFields }: Relation): readonly Field[] {
  return searchFields.flatMap((name) => fields[name] ?? []);
}

/** Every word must occur in one of the fields. */
function compileSearch(
  fields: readonly Field[],
  words: string,
  parameter: (value: unknown) => string,
): string {
  const terms = words.split(/[\s,]+/).filter((word) => word !== '');
  if (terms.length > MAX_WORDS) throw badRequest(`More than ${MAX_WORDS} words to search for.`);
  const conditions = terms.map((value) => {
    const hits = fields.map((field) =>
      compileLookup({ field, name: 'search', lookup: 'icontains', value, parameter }),
    );
    return hits.length === 0 ? 'FALSE' : `(${hits.join(' OR ')})`;
  });
  return conditions.length === 0 ? 'TRUE' : `(${conditions.join(' AND ')})`;
}

/** One filter: a field, a lookup and a value of the query string. */
interface LookupRequest {
  readonly field: Field;
  /** The query parameter's name, for messages. */
  readonly name: string;
  readonly lookup: string;
  readonly value: string;
  /** Adds a value and returns its placeholder. */
  readonly parameter: (value: unknown) => string;
}

const COMPARISONS: Readonly<Record<string, string>> = { lt: '<', lte: '<=', gt: '>', gte: '>=' };

/** LIKE patterns by lookup: the text before and after the value. */
const PATTERNS: Readonly<Record<string, readonly [before: string, after: string, operator: string]>> = {
  iexact: ['', '', 'ILIKE'],
  contains: ['%', '%', 'LIKE'],
  icontains: ['%', '%', 'ILIKE'],
  startswith: ['', '%', 'LIKE'],
  istartswith: ['', '%', 'ILIKE'],
  endswith: ['%', '', 'LIKE'],
  iendswith: ['%', '', 'ILIKE'],
};

const MAX_VALUES = 2000;

/**
 * Compiles one lookup to SQL.
 *
 * @throws RequestFailure 400 where the lookup does not exist or the value is not of the field's type.
 */
function compileLookup(request: LookupRequest): string {
  const { field, lookup, value, parameter } = request;
  const { column = '' } = field;
  const comparison = own(COMPARISONS, lookup);
  const pattern = own(PATTERNS, lookup);
  if (value.includes('\0')) throw badRequest(`${request.name}: null characters are not allowed.`);
  if (comparison !== undefined) return `${column} ${comparison} ${parameter(typed(request, value))}`;
  if (pattern !== undefined) {
    const [before, after, operator] = pattern;
    return `${column}::text ${operator} ${parameter(`${before}${escapeLike(value)}${after}`)}`;
  }
  switch (lookup) {
    case 'exact':
      return isNull(request) ? `${column} IS NULL` : `${column} = ${parameter(typed(request, value))}`;
    case 'isnull':
      return boolean(request, value) ? `${column} IS NULL` : `${column} IS NOT NULL`;
    case 'in':
      return compileIn(request, column);
    case 'regex':
    case 'iregex':
      return `${column}::text ${lookup === 'regex' ? '~' : '~*'} ${parameter(checkRegularExpression(value, request.name))}`;
    default:
      throw badRequest(`${request.name}: ${lookup} is not a lookup.`);
  }
}

function compileIn(request: LookupRequest, column: string): string {
  const parts = request.value.split(',').filter((part) => part !== '');
  if (parts.length === 0) throw badRequest(`${request.name}: an empty list.`);
  if (parts.length > MAX_VALUES) throw badRequest(`${request.name}: more than ${MAX_VALUES} values.`);
  const list = request.parameter(parts.map((part) => typed(request, part)));
  return `${column} = ANY(${list}${ARRAY_CAST[request.field.type] ?? '::text[]'})`;
}

const ARRAY_CAST: Readonly<Partial<Record<Field['type'], string>>> = {
  integer: '::bigint[]',
  id: '::bigint[]',
  field: '::bigint[]',
  datetime: '::timestamptz[]',
  boolean: '::boolean[]',
};

function typed(request: LookupRequest, value: string): unknown {
  switch (request.field.type) {
    case 'integer':
    case 'id':
    case 'field':
      if (!/^-?\d{1,15}$/.test(value))
        throw badRequest(`${request.name}: ${JSON.stringify(value)} is not a number.`);
      return Number(value);
    case 'boolean':
      return boolean(request, value);
    case 'datetime':
      return instant(request, value);
    default:
      return value;
  }
}

function boolean(request: LookupRequest, value: string): boolean {
  const lower = value.toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(lower)) return true;
  if (['false', '0', 'no', 'off'].includes(lower)) return false;
  throw badRequest(`${request.name}: ${JSON.stringify(value)} is neither true nor false.`);
}

const DATE = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/;

function instant(request: LookupRequest, value: string): Date {
  // A plus sign of an offset that was not escaped arrives as a space.
  const text = value.trim().replace(/ (\d\d:?\d\d)$/, '+$1');
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text) || !/[T ]/.test(text) ? text : `${text}Z`;
  const date = DATE.test(text) ? new Date(zoned.replace(' ', 'T')) : new Date(Number.NaN);
  if (Number.isNaN(date.getTime()))
    throw badRequest(`${request.name}: ${JSON.stringify(value)} is not a date.`);
  return date;
}

/** Relations take `null` and `none`. Elsewhere both are values: users may have these names. */
function isNull({ field, value }: LookupRequest): boolean {
  const isRelation = field.type === 'id' || field.type === 'field';
  return isRelation && ['null', 'none'].includes(value.toLowerCase());
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

const LONGEST = 1000;
/** PostgreSQL expands counted repetitions, nested ones multiplied. 2,000 copies take about 0.3 s. */
const MAX_COPIES = 2000;
const BACK_REFERENCE = /(?<!\\)(?:\\\\)*\\[1-9]/;
const REPEATED_GROUP = /\)\{/;
const REPETITION = /\{(\d+)(?:,(\d*))?\}/g;

/**
 * Validates a regular expression. Back references and multiplied repetitions can take PostgreSQL very long and
 * are rejected, so that no request blocks the database.
 *
 * @param name The query parameter, for messages.
 * @throws RequestFailure 400.
 */
function checkRegularExpression(expression: string, name: string): string {
  if (expression.length > LONGEST) throw badRequest(`${name}: the expression is too long.`);
  try {
    new RegExp(expression);
  } catch {
    throw badRequest(`${name}: ${JSON.stringify(expression)} is not a regular expression.`);
  }
  if (BACK_REFERENCE.test(expression)) throw badRequest(`${name}: back references are not supported.`);
  if (REPEATED_GROUP.test(expression) && copies(expression) > MAX_COPIES) {
    throw badRequest(`${name}: the expression repeats too much.`);
  }
  return expression;
}

function copies(expression: string): number {
  const counts = [...expression.matchAll(REPETITION)].map(([, least, most]) => Number(most || least));
  return counts.reduce((product, count) => product * Math.max(1, count), 1);
}
