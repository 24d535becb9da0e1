import type { RE2JS } from 're2js';
import { badRequest, forbidden } from '../failure.ts';
import type { Field, FieldSet, Relation } from './fields.ts';
import { compileExpression, type Scan, type ScanTerm } from './scan.ts';

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
const MAX_EXPRESSIONS = 5;
/** The texts that are searched for, in characters, all together. */
const MAX_SEARCHED = 1000;
/** How many conditions the database may try on each row in one statement; further ones are scanned for. */
const MAX_AT_ONCE = 10;

/** A query parameter's name, taken apart: prefixes, and a field with its lookup or the fields to search. */
type FilterName = { readonly negated: boolean; readonly alternative: boolean } & (
  | { readonly field: Field; readonly lookup: string }
  | { readonly search: readonly Field[] }
);

/** A filter with its value; a search has several lookups: one of each word must hold. */
interface Filter {
  readonly negated: boolean;
  readonly alternative: boolean;
  readonly words: readonly (readonly Lookup[])[];
}

/** The filters of a query string. */
export interface Filters {
  /** Those that the database answers from an index, or at least quickly. */
  readonly condition: Condition;
  /** Those that cost time for each row; null without any. */
  readonly scan: Scan | null;
}

/**
 * Compiles a query string's filters, as the controller reads them: `field__lookup`, through relations, with
 * `not__`, `or__` and `chain__` before; combined with AND, the `or__` ones with OR. Field names come from the
 * declared set only; values are parameters. Searches of texts and large numbers of filters become a scan,
 * whose time is limited.
 *
 * @param first The number of the first parameter, 1 for `$1`.
 * @throws RequestFailure 400 for an unknown field or lookup, a value of the wrong type, or too many of them;
 * 403 for a secret.
 */
export function compileFilters(set: FieldSet, query: URLSearchParams, first: number): Filters {
  const filters = readFilters(set, query);
  const alternatives = filters.filter(({ alternative }) => alternative);
  const required = filters.filter(({ alternative }) => !alternative);
  const areQuick = alternatives.length <= MAX_AT_ONCE && alternatives.every(isQuick);
  const quick = required.filter(isQuick).slice(0, MAX_AT_ONCE);
  const slow = required.filter((filter) => !quick.includes(filter));
  const type = lastValue(query, 'type');
  const isOfType = type === null || type.split(',').includes(set.type);
  const condition = compileCondition(
    { every: quick, any: areQuick ? alternatives : [], never: !isOfType },
    first,
  );
  if (slow.length === 0 && areQuick) return { condition, scan: null };
  // The scan has two parameters of its own before these.
  const scan = compileScan(
    { every: slow, any: areQuick ? [] : alternatives },
    first + condition.values.length + 2,
  );
  return { condition, scan };
}

function readFilters(set: FieldSet, query: URLSearchParams): readonly Filter[] {
  const entries = filterEntries(query);
  if (entries.length > MAX_FILTERS) throw badRequest(`More than ${MAX_FILTERS} filters.`);
  const named = entries.map(([name, value]): Filter => {
    const filter = parse(set, name);
    const words =
      'search' in filter
        ? searchWords(filter.search, value)
        : [[readLookup({ field: filter.field, lookup: filter.lookup, name, value })]];
    return { ...filter, words };
  });
  const words = searchWords(searched(set), query.getAll('search').join(' '));
  const filters = words.length === 0 ? named : [...named, { negated: false, alternative: false, words }];
  const lookups = filters.flatMap(({ words }) => words.flat());
  if (lookups.filter(({ expression }) => expression !== null).length > MAX_EXPRESSIONS) {
    throw badRequest(`More than ${MAX_EXPRESSIONS} regular expressions.`);
  }
  if (searchedLength(filters) > MAX_SEARCHED)
    throw badRequest(`More than ${MAX_SEARCHED} characters to search for.`);
  return filters;
}

/** The characters of all texts to search for. */
function searchedLength(filters: readonly Filter[]): number {
  const lookups = filters.flatMap(({ words }) => words.flat());
  return lookups.reduce((sum, { request, isQuick }) => sum + (isQuick ? 0 : request.value.length), 0);
}

const isQuick = ({ words }: Filter) => words.flat().every((lookup) => lookup.isQuick);

interface Compiled {
  readonly every: readonly Filter[];
  readonly any: readonly Filter[];
  readonly never?: boolean;
}

function compileCondition({ every, any, never = false }: Compiled, first: number): Condition {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${first - 1 + values.push(value)}`;
  const term = ({ words, negated }: Filter) => {
    const sql = conditionOf(words, ({ request, sql }) => sql(request.field.column ?? '', parameter));
    return negated ? `(${sql}) IS NOT TRUE` : `(${sql})`;
  };
  const terms = [...(never ? ['FALSE'] : []), ...every.map(term)];
  if (any.length > 0) terms.push(`(${any.map(term).join(' OR ')})`);
  return { sql: terms.length === 0 ? 'TRUE' : terms.join(' AND '), values };
}

/** How much of a text is searched, in characters. */
const SEARCHED_LENGTH = 10_000;
const MATCHED_LENGTH = 2_000;

function compileScan({ every, any }: Compiled, first: number): Scan {
  const values: unknown[] = [];
  const columns: string[] = [];
  const parameter = (value: unknown) => `$${first - 1 + values.push(value)}`;
  const place = (column = '') => {
    if (!columns.includes(column)) columns.push(column);
    return `s.v${columns.indexOf(column)}`;
  };
  const term = ({ words, negated }: Filter): ScanTerm => {
    const expression = words[0]?.[0]?.expression ?? null;
    if (expression !== null) {
      const column = place(words[0]?.[0]?.request.field.column);
      return { negated, text: `left(${column}::text, ${MATCHED_LENGTH})`, expression };
    }
    const sql = conditionOf(words, (lookup) => {
      const column = place(lookup.request.field.column);
      return lookup.sql(lookup.isQuick ? column : `left(${column}::text, ${SEARCHED_LENGTH})`, parameter);
    });
    return { negated, sql };
  };
  const searched = searchedLength([...every, ...any]);
  return { every: every.map(term), any: any.map(term), columns, values, searched };
}

/** For each word, one of its lookups must hold. */
function conditionOf(words: readonly (readonly Lookup[])[], sqlOf: (lookup: Lookup) => string): string {
  const conditions = words.map((lookups) =>
    lookups.length === 0 ? 'FALSE' : `(${lookups.map(sqlOf).join(' OR ')})`,
  );
  return conditions.length === 0 ? 'TRUE' : conditions.join(' AND ');
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
  if (names.length > MAX_ORDER_FIELDS) throw badRequest(`More than ${MAX_ORDER_FIELDS} fields to order by.`);
  const terms = (names.length > 0 ? names : set.order).map((name) => {
    const descending = name.startsWith('-');
    const { field, rest } = resolve(set, (descending ? name.slice(1) : name).split('__'), name);
    if (rest.length > 0) throw badRequest(`${name}: there is no such field.`);
    return `${sortKey(field)}${descending ? ' DESC' : ''}`;
  });
  // The id last: with ties, rows could move between pages.
  const id = set.fields['id']?.column;
  return [...terms, ...(id === undefined ? [] : [id])].join(', ');
}

const MAX_ORDER_FIELDS = 10;
/** How much of a text of any length rows are sorted by, in characters. */
const SORTED_LENGTH = 200;

function sortKey({ column, type, maxLength }: Field): string {
  const isLong = maxLength === undefined && ['string', 'object', 'json'].includes(type);
  return isLong ? `left(${column}::text, ${SORTED_LENGTH})` : `${column}`;
}

function parse(set: FieldSet, name: string): FilterName {
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
function searchWords(fields: readonly Field[], words: string): readonly (readonly Lookup[])[] {
  const terms = words.split(/[\s,]+/).filter((word) => word !== '');
  if (terms.length > MAX_WORDS) throw badRequest(`More than ${MAX_WORDS} words to search for.`);
  return terms.map((value) =>
    fields.map((field) => readLookup({ field, name: 'search', lookup: 'icontains', value })),
  );
}

/** One filter: a field, a lookup and a value of the query string. */
interface LookupRequest {
  readonly field: Field;
  /** The query parameter's name, for messages. */
  readonly name: string;
  readonly lookup: string;
  readonly value: string;
}

/** A lookup whose value was checked. */
interface Lookup {
  readonly request: LookupRequest;
  /** Whether it takes the same little time for every value, whatever its length. */
  readonly isQuick: boolean;
  /** Its regular expression; null for any other lookup. */
  readonly expression: RE2JS | null;
  /** Its condition; `parameter` adds a value and returns its placeholder. */
  readonly sql: (column: string, parameter: (value: unknown) => string) => string;
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
 * Reads one lookup.
 *
 * @throws RequestFailure 400 where the lookup does not exist or the value is not of the field's type.
 */
function readLookup(request: LookupRequest): Lookup {
  const { lookup, value, name } = request;
  const quick = (sql: Lookup['sql']): Lookup => ({ request, isQuick: true, expression: null, sql });
  const comparison = own(COMPARISONS, lookup);
  const pattern = own(PATTERNS, lookup);
  if (value.includes('\0')) throw badRequest(`${name}: null characters are not allowed.`);
  if (comparison !== undefined) {
    const compared = typed(request, value);
    return quick((column, parameter) => `${column} ${comparison} ${parameter(compared)}`);
  }
  if (pattern !== undefined) {
    const [before, after, operator] = pattern;
    const text = `${before}${escapeLike(value)}${after}`;
    const sql: Lookup['sql'] = (column, parameter) => `${column}::text ${operator} ${parameter(text)}`;
    return { request, isQuick: false, expression: null, sql };
  }
  switch (lookup) {
    case 'exact': {
      if (isNull(request)) return quick((column) => `${column} IS NULL`);
      const equal = typed(request, value);
      return quick((column, parameter) => `${column} = ${parameter(equal)}`);
    }
    case 'isnull': {
      const condition = boolean(request, value) ? 'IS NULL' : 'IS NOT NULL';
      return quick((column) => `${column} ${condition}`);
    }
    case 'in': {
      const list = listed(request);
      const type = ARRAY_CAST[request.field.type] ?? '::text[]';
      return quick((column, parameter) => `${column} = ANY(${parameter(list)}${type})`);
    }
    case 'regex':
    case 'iregex': {
      const expression = compileExpression(value, { name, ignoreCase: lookup === 'iregex' });
      return { request, isQuick: false, expression, sql: () => 'TRUE' };
    }
    default:
      throw badRequest(`${name}: ${lookup} is not a lookup.`);
  }
}

function listed(request: LookupRequest): readonly unknown[] {
  const parts = request.value.split(',').filter((part) => part !== '');
  if (parts.length === 0) throw badRequest(`${request.name}: an empty list.`);
  if (parts.length > MAX_VALUES) throw badRequest(`${request.name}: more than ${MAX_VALUES} values.`);
  return parts.map((part) => typed(request, part));
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
