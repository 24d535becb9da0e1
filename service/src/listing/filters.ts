import { identifier, joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { badRequest, forbidden } from '../failure.ts';
import type { Field, FieldSet, Relation } from './fields.ts';
import { isTrue, type Lookup, type LookupRequest, own, readLookup } from './lookups.ts';
import type { Scan, ScanTerm } from './scan.ts';

export const EVERY_ROW = sql`TRUE`;

export function allOf(one: Sql, other: Sql): Sql {
  return sql`(${one}) AND (${other})`;
}

/** Query parameters that are not filters. The last four have a meaning only on some of the controller's endpoints. */
const RESERVED = new Set([
  ...['page', 'page_size', 'order_by', 'order', 'count_disabled', 'format', 'search', 'type', 'role_level'],
  ...['host_filter', 'limit', 'no_truncate', 'validate'],
]);

const MAX_FILTERS = 100;
const MAX_WORDS = 100;
const MAX_EXPRESSIONS = 5;
/** The maximum total length of search texts, in characters. */
const MAX_SEARCHED = 1000;
/** How many conditions the database may check on each row in one statement. Further ones become a scan. */
const MAX_AT_ONCE = 10;

type Many = Relation['many'];

/** A parsed parameter name: prefixes, and a field with its lookup or the fields to search. */
type FilterName = {
  readonly negated: boolean;
  readonly alternative: boolean;
  /** With `chain__`, another related object may match than for the other filters. */
  readonly chained: boolean;
  /** The relation to many objects that it leads through. */
  readonly many: Many;
} & ({ readonly field: Field; readonly lookup: string } | { readonly search: readonly Field[] });

/** A filter with its value. A search has several lookups: for each word, one of them must match. */
type Filter = Pick<FilterName, 'negated' | 'alternative' | 'chained' | 'many'> & {
  readonly words: readonly (readonly Lookup[])[];
};

export interface Filters {
  /** Conditions that the database answers from an index, or at least quickly. */
  readonly condition: Sql;
  /** Conditions that cost time for each row; null without any. */
  readonly scan: Scan | null;
}

/**
 * Compiles a query string's filters, as the controller reads them: `field__lookup`, through relations, with
 * the prefixes `not__`, `or__` and `chain__`; combined with AND, the `or__` ones with OR. Field names come
 * from the declared set only; values are parameters. Text searches and large numbers of filters become a
 * scan, whose time is limited.
 * @throws RequestFailure 400 for an unknown field or lookup, a value of the wrong type, or too many of them;
 * 403 for a secret.
 */
export function compileFilters(set: FieldSet, query: URLSearchParams): Filters {
  if (set.type === 'host' && query.has('host_filter'))
    throw badRequest('host_filter: this service does not support filter expressions for hosts.');
  const filters = readFilters(set, query);
  const alternatives = filters.filter(({ alternative }) => alternative);
  const required = filters.filter(({ alternative }) => !alternative);
  const areQuick = alternatives.length <= MAX_AT_ONCE && alternatives.every(isQuick);
  const quick = required.filter(isQuick).slice(0, MAX_AT_ONCE);
  const slow = required.filter((filter) => !quick.includes(filter));
  const type = lastValue(query, 'type');
  const isOfType = type === null || type.split(',').includes(set.type);
  const condition = compileCondition({ every: quick, any: areQuick ? alternatives : [], never: !isOfType });
  if (slow.length === 0 && areQuick) return { condition, scan: null };
  return { condition, scan: compileScan({ every: slow, any: areQuick ? [] : alternatives }) };
}

function readFilters(set: FieldSet, query: URLSearchParams): readonly Filter[] {
  const entries = filterEntries(query);
  if (entries.length > MAX_FILTERS) throw badRequest(`More than ${MAX_FILTERS} filters.`);
  const named = Object.entries(Object.groupBy(entries, ([name]) => name)).flatMap(([name, given = []]) =>
    filtersOf(
      parse(set, name),
      name,
      given.map(([, value]) => value),
    ),
  );
  const words = searchWords(searched(set), (lastValue(query, 'search') ?? '').split(/[\s,]+/));
  const plain = { negated: false, alternative: false, chained: false, many: undefined };
  const filters = ofSameObjects(words.length === 0 ? named : [...named, { ...plain, words }]);
  const lookups = filters.flatMap(({ words }) => words.flat());
  if (lookups.filter(({ expression }) => expression !== null).length > MAX_EXPRESSIONS) {
    throw badRequest(`More than ${MAX_EXPRESSIONS} regular expressions.`);
  }
  if (searchedLength(filters) > MAX_SEARCHED)
    throw badRequest(`The search text exceeds ${MAX_SEARCHED} characters.`);
  return filters;
}

/** A parameter's filters. Several searches of one relation are alternatives; comma-separated terms must all occur. */
function filtersOf(filter: FilterName, name: string, values: readonly string[]): readonly Filter[] {
  if (!('search' in filter)) return values.map((value) => filterOf(filter, name, value));
  const areAlternatives = values[0]?.includes(',') !== true;
  const words = searchWords(filter.search, areAlternatives ? values : values.join(',').split(','));
  if (words.length === 0) return [];
  return [{ ...filter, words: areAlternatives ? [words.flat()] : words }];
}

function filterOf(filter: Extract<FilterName, { readonly field: Field }>, name: string, value: string) {
  const { field, lookup, many, negated } = filter;
  const read = readLookup({ field, lookup, name, value });
  if (many === undefined) return { ...filter, words: [[read]] };
  if (read.expression !== null)
    throw badRequest(`${name}: regular expressions are not supported inside ${name}.`);
  if (lookup !== 'isnull' || !isTrue(value)) return { ...filter, words: [[read]] };
  // Null matches rows without a related object, not related objects without a value.
  const exists = readLookup({ field, lookup, name, value: 'false' });
  return { ...filter, negated: !negated, words: [[exists]] };
}

/** Joins the filters that the same related object must match. */
function ofSameObjects(filters: readonly Filter[]): readonly Filter[] {
  const joined = new Map<Many, Filter>();
  const single = filters.filter((filter) => {
    const { many, negated, alternative, chained, words } = filter;
    if (many === undefined || negated || alternative || chained) return true;
    joined.set(many, { ...filter, words: [...(joined.get(many)?.words ?? []), ...words] });
    return false;
  });
  return [...single, ...joined.values()];
}

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

function compileCondition({ every, any, never = false }: Compiled): Sql {
  const term = ({ words, many, negated }: Filter) => {
    const condition = existing(
      many,
      conditionOf(words, ({ request, holds }) => holds(columnOf(request))),
    );
    return negated ? sql`(${condition}) IS NOT TRUE` : sql`(${condition})`;
  };
  const terms = [...(never ? [sql`FALSE`] : []), ...every.map(term)];
  if (any.length > 0) terms.push(sql`(${joined(any.map(term), ' OR ')})`);
  return terms.length === 0 ? EVERY_ROW : joined(terms, ' AND ');
}

/** How much of a text is searched, in characters. */
const SEARCHED_LENGTH = 10_000;
const MATCHED_LENGTH = 2_000;

function compileScan({ every, any }: Compiled): Scan {
  const columns: Sql[] = [];
  const place = (column: Sql) => {
    if (!columns.includes(column)) columns.push(column);
    return identifier(`s.v${columns.indexOf(column)}`);
  };
  const searchedIn = ({ holds, isQuick }: Lookup, column: Sql) =>
    holds(isQuick ? column : beginning(column, SEARCHED_LENGTH));
  const term = ({ words, many, negated }: Filter): ScanTerm => {
    if (many !== undefined) {
      const condition = conditionOf(words, (lookup) => searchedIn(lookup, columnOf(lookup.request)));
      return { negated, sql: place(existing(many, condition)) };
    }
    const [lookup] = words[0] ?? [];
    if (lookup !== undefined && lookup.expression !== null) {
      const { request, expression } = lookup;
      return { negated, text: beginning(place(columnOf(request)), MATCHED_LENGTH), expression };
    }
    const condition = conditionOf(words, (lookup) => searchedIn(lookup, place(columnOf(lookup.request))));
    return { negated, sql: condition };
  };
  const searched = searchedLength([...every, ...any]);
  return { every: every.map(term), any: any.map(term), columns, searched };
}

/** One of the related objects must match the condition. */
function existing(many: Many, condition: Sql): Sql {
  return many === undefined
    ? condition
    : sql`EXISTS (SELECT FROM ${many.from} WHERE ${many.on} AND (${condition}))`;
}

/** For each word, one of its lookups must match. */
function conditionOf(words: readonly (readonly Lookup[])[], holds: (lookup: Lookup) => Sql): Sql {
  const conditions = words.map((lookups) =>
    lookups.length === 0 ? sql`FALSE` : sql`(${joined(lookups.map(holds), ' OR ')})`,
  );
  return conditions.length === 0 ? EVERY_ROW : joined(conditions, ' AND ');
}

/** Filters only name fields that have a column. */
function columnOf({ field }: Pick<LookupRequest, 'field'>): Sql {
  if (field.column === undefined) throw new Error(`the field ${field.label} has no column`);
  return field.column;
}

function beginning(column: Sql, length: number): Sql {
  return sql`left(${column}::text, ${literal(length)})`;
}

export function filterEntries(query: URLSearchParams): readonly (readonly [name: string, value: string])[] {
  return [...query].filter(([name]) => !RESERVED.has(name));
}

/** A parameter's last value, which counts on the controller; null without one. */
export function lastValue(query: URLSearchParams, name: string): string | null {
  return query.getAll(name).at(-1) ?? null;
}

/** Compiles `order_by` (comma-separated fields, `-` for descending). By default it is the set's order. */
export function compileOrder(set: FieldSet, query: URLSearchParams): Sql {
  const [, asked = ''] = [...query].findLast(([name]) => name === 'order_by' || name === 'order') ?? [];
  const names = asked
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length > MAX_ORDER_FIELDS) throw badRequest(`More than ${MAX_ORDER_FIELDS} fields in order_by.`);
  const terms = (names.length > 0 ? names : set.order).map((name) => {
    const descending = name.startsWith('-');
    const { field, rest, many } = resolve(set, (descending ? name.slice(1) : name).split('__'), name);
    if (rest.length > 0 || many !== undefined) throw badRequest(`${name}: no such field to order by.`);
    return descending ? sql`${sortKey(field)} DESC` : sortKey(field);
  });
  // The id comes last: with ties, rows could move between pages.
  const id = set.fields['id']?.column;
  return joined([...terms, ...(id === undefined ? [] : [id])]);
}

const MAX_ORDER_FIELDS = 10;
/** How much of a text rows are sorted by, in characters. */
const SORTED_LENGTH = 200;

function sortKey(field: Field): Sql {
  const isLong = field.maxLength === undefined && ['string', 'object', 'json'].includes(field.type);
  return isLong ? beginning(columnOf({ field }), SORTED_LENGTH) : columnOf({ field });
}

function parse(set: FieldSet, name: string): FilterName {
  const parts = name.split('__');
  // As on the controller, `or` or `chain` comes first, then `not`.
  const takePrefix = (prefix: string) => parts[0] === prefix && parts.shift() !== undefined;
  const alternative = takePrefix('or');
  const chained = !alternative && takePrefix('chain');
  const prefixes = { alternative, chained, negated: takePrefix('not') };
  const related = parts.at(-1) === 'search' ? follow(set, parts.slice(0, -1)) : undefined;
  if (related !== undefined) return { ...prefixes, search: searched(related), many: related.many };
  const { field, rest, many } = resolve(set, parts, name);
  if (rest.length > 1) throw badRequest(`${name}: ${rest.join('__')} is not a lookup.`);
  return { ...prefixes, field, lookup: rest[0] ?? 'exact', many };
}

/** The resource at the end of a path of relations; undefined if the path is empty or invalid. */
function follow(set: Relation, path: readonly string[], many?: Many): Relation | undefined {
  const [head, ...rest] = path;
  const related = head === undefined ? undefined : own(set.relations ?? {}, head);
  if (related === undefined) return undefined;
  const through = related.many ?? many;
  return rest.length === 0
    ? { ...related, ...(through && { many: through }) }
    : follow(related, rest, through);
}

interface Resolved {
  readonly field: Field;
  readonly rest: readonly string[];
  readonly many: Many;
}

function resolve(set: Relation, path: readonly string[], name: string, many?: Many): Resolved {
  const [head = '', next = ''] = path;
  const related = own(set.relations ?? {}, head);
  const through = related?.many ?? many;
  if (related !== undefined && (own(related.fields, next) ?? own(related.relations ?? {}, next))) {
    return resolve(related, path.slice(1), name, through);
  }
  // The name of a relation to many objects means their ids.
  const isMany = related?.many !== undefined && !Object.hasOwn(set.fields, head);
  const field = isMany ? related.fields['id'] : own(set.fields, head);
  if (field?.secret) throw forbidden(`Filtering by ${name} is not allowed.`);
  if (field?.column === undefined) throw badRequest(`${name}: no such field.`);
  return { field, rest: path.slice(1), many: isMany ? through : many };
}

function searched({ fields, searchFields }: Relation): readonly Field[] {
  return searchFields.flatMap((name) => fields[name] ?? []);
}

/** The lookups of each term, which must occur in one of the fields. */
function searchWords(fields: readonly Field[], given: readonly string[]): readonly (readonly Lookup[])[] {
  const terms = given.map((term) => term.trim()).filter((term) => term !== '');
  if (terms.length > MAX_WORDS) throw badRequest(`More than ${MAX_WORDS} search terms.`);
  return terms.map((value) =>
    fields.map((field) => readLookup({ field, name: 'search', lookup: 'icontains', value })),
  );
}
