import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { RE2JS } from 're2js';
import { badRequest } from '../failure.ts';
import type { Field } from './fields.ts';
import { compileExpression } from './scan.ts';

export interface LookupRequest {
  readonly field: Field;
  /** For messages. */
  readonly name: string;
  readonly lookup: string;
  readonly value: string;
}

/** A lookup with a valid value. */
export interface Lookup {
  readonly request: LookupRequest;
  /** Whether it takes about the same short time for every value, whatever its length. */
  readonly isQuick: boolean;
  /** Its regular expression; null for other lookups. */
  readonly expression: RE2JS | null;
  readonly holds: (column: Sql) => Sql;
}

const COMPARISONS: Readonly<Record<string, Sql>> = { lt: sql`<`, lte: sql`<=`, gt: sql`>`, gte: sql`>=` };

/** LIKE patterns by lookup: the text before and after the value. */
const PATTERNS: Readonly<Record<string, readonly [before: string, after: string, operator: Sql]>> = {
  iexact: ['', '', sql`ILIKE`],
  contains: ['%', '%', sql`LIKE`],
  icontains: ['%', '%', sql`ILIKE`],
  startswith: ['', '%', sql`LIKE`],
  istartswith: ['', '%', sql`ILIKE`],
  endswith: ['%', '', sql`LIKE`],
  iendswith: ['%', '', sql`ILIKE`],
};

const MAX_VALUES = 2000;
/** Larger than all numbers in the database. Larger values are replaced by it in comparisons. */
const MAX_COMPARED = 999_999_999_999_999;

/** Reads one lookup. Throws 400 if it does not exist or the value is not of the field's type. */
export function readLookup(request: LookupRequest): Lookup {
  const { lookup, value, name } = request;
  const quick = (holds: Lookup['holds']): Lookup => ({ request, isQuick: true, expression: null, holds });
  const comparison = own(COMPARISONS, lookup);
  const pattern = own(PATTERNS, lookup);
  if (value.includes('\0')) throw badRequest(`${name}: null characters are not allowed.`);
  if (comparison !== undefined) {
    const compared = sql`${typed(request, value)}${castOf(request)}`;
    return quick((column) => sql`${column} ${comparison} ${compared}`);
  }
  if (pattern !== undefined) {
    const [before, after, operator] = pattern;
    const text = `${before}${escapeLike(value)}${after}`;
    const holds = (column: Sql) => sql`${column}::text ${operator} ${text}`;
    return { request, isQuick: false, expression: null, holds };
  }
  switch (lookup) {
    case 'exact': {
      if (isNull(request)) return quick((column) => sql`${column} IS NULL`);
      const equal = sql`${typed(request, value)}${castOf(request)}`;
      return quick((column) => sql`${column} = ${equal}`);
    }
    case 'isnull': {
      const condition = boolean(request, value) ? sql`IS NULL` : sql`IS NOT NULL`;
      return quick((column) => sql`${column} ${condition}`);
    }
    case 'in': {
      const list = listed(request);
      const type = ARRAY_CAST[request.field.type] ?? sql`::text[]`;
      return quick((column) => sql`${column} = ANY(${list}${type})`);
    }
    case 'regex':
    case 'iregex': {
      const expression = compileExpression(value, { name, ignoreCase: lookup === 'iregex' });
      return { request, isQuick: false, expression, holds: () => sql`TRUE` };
    }
    default:
      throw badRequest(`${name}: ${lookup} is not a lookup.`);
  }
}

function listed(request: LookupRequest): readonly unknown[] {
  const parts = request.value.split(',').filter((part) => part !== '');
  if (parts.length === 0) throw badRequest(`${request.name}: empty list.`);
  if (parts.length > MAX_VALUES) throw badRequest(`${request.name}: more than ${MAX_VALUES} values.`);
  return parts.map((part) => typed(request, part));
}

const ARRAY_CAST: Readonly<Partial<Record<Field['type'], Sql>>> = {
  integer: sql`::bigint[]`,
  id: sql`::bigint[]`,
  field: sql`::bigint[]`,
  datetime: sql`::timestamptz[]`,
  boolean: sql`::boolean[]`,
};

/** A number may be larger than its column accepts. */
function castOf({ field: { type } }: LookupRequest): Sql {
  return ['integer', 'id', 'field'].includes(type) ? sql`::bigint` : sql``;
}

function typed(request: LookupRequest, value: string): unknown {
  switch (request.field.type) {
    case 'integer':
    case 'id':
    case 'field':
      if (!/^-?\d{1,400}$/.test(value))
        throw badRequest(`${request.name}: ${JSON.stringify(value)} is not a number.`);
      return Math.max(-MAX_COMPARED, Math.min(MAX_COMPARED, Number(value)));
    case 'boolean':
      return boolean(request, value);
    case 'datetime':
      return instant(request, value);
    default:
      return value;
  }
}

export function isTrue(value: string): boolean {
  return ['true', '1', 'yes', 'on'].includes(value.toLowerCase());
}

function boolean(request: LookupRequest, value: string): boolean {
  const lower = value.toLowerCase();
  if (isTrue(value)) return true;
  if (['false', '0', 'no', 'off'].includes(lower)) return false;
  throw badRequest(`${request.name}: ${JSON.stringify(value)} is neither true nor false.`);
}

const DATE = /(\d{4})-(\d{1,2})-(\d{1,2})/.source;
const TIME = /(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,6})\d*)?)?/.source;
const ZONE = /(Z|[+-]\d{2}(?::?\d{2})?)/.source;
/** Dates without separators and week dates, which Python accepts as well (ISO 8601). */
const BASIC_DATE = /^(\d{4})(\d{2})(\d{2})(?=T|$)/;
const WEEK = /^(\d{4})-?W(\d{2})(?:-?([1-7]))?(?=T|$)/;
/** The date formats that Django accepts: parts may have one digit; time, seconds and zone may be missing. */
const INSTANT = new RegExp(`^${DATE}(?:[T ]${TIME} *${ZONE}?)?$`);
/** A plus sign of a zone that was not escaped arrives as a space. */
const ZONE_WITHOUT_PLUS = /(:[\d.,]+) (\d{2}(?::?\d{2})?)$/;

/** A date and time in UTC with microseconds, in the database's format. Without a zone it is UTC. */
function instant({ name }: LookupRequest, value: string): string {
  const invalid = badRequest(`${name}: ${JSON.stringify(value)} is not a date.`);
  const parts = INSTANT.exec(withCalendarDate(value.trim()).replace(ZONE_WITHOUT_PLUS, '$1+$2'));
  if (parts === null) throw invalid;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part = '0') => Number(part));
  const [micros = '', zone = ''] = parts.slice(7);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // JavaScript turns days that a month does not have into days of the next month.
  const isCalendarDate = year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isCalendarDate || hour > 23 || minute > 59 || second > 59) throw invalid;
  date.setUTCHours(hour, minute - minutesOf(zone), second);
  return date.toISOString().replace('.000Z', `.${micros.padEnd(6, '0')}Z`);
}

/** The same time with its date as year, month and day. */
function withCalendarDate(text: string): string {
  return text
    .replace(BASIC_DATE, '$1-$2-$3')
    .replace(WEEK, (given, year: string, week: string, day = '1') => {
      if (Number(week) < 1 || Number(week) > 53) return given;
      // The week that contains January 4 is the first one, and weeks start on Mondays.
      const date = new Date(`${year}-01-04T00:00:00Z`);
      date.setUTCDate(4 - ((date.getUTCDay() + 6) % 7) + (Number(week) - 1) * 7 + Number(day) - 1);
      return date.toISOString().slice(0, 10);
    });
}

/** How many minutes a zone is ahead of UTC. */
function minutesOf(zone: string): number {
  const [, sign, hours = 0, minutes = 0] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  const ahead = Number(hours) * 60 + Number(minutes);
  return sign === '-' ? -ahead : ahead;
}

/** Relations accept `null` and `none`. For other fields they are values: users may have these names. */
function isNull({ field, value }: LookupRequest): boolean {
  const isRelation = field.type === 'id' || field.type === 'field';
  return isRelation && ['null', 'none'].includes(value.toLowerCase());
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/** The value of an own key of the record, not of its prototype. */
export function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
