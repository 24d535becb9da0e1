import { badRequest } from '../failure.ts';
import type { Field } from './fields.ts';
import { checkRegularExpression } from './regular-expression.ts';

/** One filter to compile: a field, a lookup and a value out of the query string. */
export interface LookupRequest {
  readonly field: Field;
  /** The query parameter's name, for messages. */
  readonly name: string;
  readonly lookup: string;
  readonly value: string;
  /** Takes a value and returns its placeholder. */
  readonly parameter: (value: unknown) => string;
}

const COMPARISONS: Readonly<Record<string, string>> = { lt: '<', lte: '<=', gt: '>', gte: '>=' };

/** Patterns of LIKE by lookup: what stands before and after the text. */
const PATTERNS: Readonly<Record<string, readonly [before: string, after: string, operator: string]>> = {
  iexact: ['', '', 'ILIKE'],
  contains: ['%', '%', 'LIKE'],
  icontains: ['%', '%', 'ILIKE'],
  startswith: ['', '%', 'LIKE'],
  istartswith: ['', '%', 'ILIKE'],
  endswith: ['%', '', 'LIKE'],
  iendswith: ['%', '', 'ILIKE'],
};

const MOST_IN = 2000;

/**
 * Compiles one lookup to SQL.
 *
 * @throws RequestFailure 400 where the lookup does not exist or the value is not of the field's type.
 */
export function compileLookup(request: LookupRequest): string {
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
      return isNull(value) ? `${column} IS NULL` : `${column} = ${parameter(typed(request, value))}`;
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
  if (parts.length > MOST_IN) throw badRequest(`${request.name}: more than ${MOST_IN} values.`);
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

function isNull(value: string): boolean {
  return ['null', 'none'].includes(value.toLowerCase());
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
