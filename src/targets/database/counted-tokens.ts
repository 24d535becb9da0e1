import type { Queryable } from '../../db/database.ts';
import { type Condition, WHITESPACE } from '../../domain/policy/condition.ts';
import type { CountedToken } from '../../domain/policy/rule.ts';
import { isLeftOut, type Selector } from '../../domain/selector.ts';
import type { Connection } from './connection.ts';
import {
  type ArraysOf,
  type ColumnSql,
  type Conditions,
  type IdRange,
  inRange,
  MAX_DATE_MS,
  milliseconds,
  PAGE_SIZE,
  pagesById,
  readColumns,
} from './queries.ts';
import { TokenReferences } from './references.ts';
import { type Layout, TABLES } from './tables.ts';
import { criteriaOf, requireCriteria, type TokenCriteria } from './tokens.ts';

/** What is read of a token that is only counted. */
interface CountedRow {
  readonly id: number;
  readonly user_id: number | null;
  readonly application_id: number | null;
  readonly description: string;
  /** In milliseconds since 1970. */
  readonly expires: number;
  /** A bit for each condition that the token meets, the lowest for the first. */
  readonly met: number;
}

/**
 * Tells of each access token of a selector which conditions it meets, ascending by id: {@link Target.countTokens}. The database
 * decides the conditions, so that nothing else of a row has to be sent.
 *
 * @returns False for a database of another encoding than UTF-8, which may not know every white space.
 */
export async function countTokens(
  connection: Connection,
  selector: Selector,
  conditions: readonly Condition[],
  each: (token: CountedToken, met: number) => void,
): Promise<boolean> {
  if (!(await connection.read(isUnicode))) return false;
  const references = new TokenReferences(connection.layout);
  const { layout } = connection;
  const criteria = await criteriaOf(connection, selector);
  const pages = pagesById(connection.table('accessTokens'), {
    ids: selector.ids,
    read: (database, range) => readCountedPage(database, { layout, criteria, range, conditions }),
    lastId: ({ id }) => (id === null || id.length < PAGE_SIZE ? null : (id.at(-1) ?? null)),
  });
  // One object for all, of which every member is set: an object for each token would be most of the work.
  const expires = new Date(0);
  const token: { -readonly [Name in keyof CountedToken]: CountedToken[Name] } = {
    id: 0,
    user: null,
    application: null,
    description: '',
    expires,
  };
  for await (const page of pages) {
    await references.loadIds(connection, page);
    const { id, user_id, application_id, description, expires: instants, met } = page;
    for (let index = 0; index < (id?.length ?? 0); index++) {
      token.id = id?.[index] ?? 0;
      token.user = references.userOf(user_id?.[index] ?? null);
      token.application = references.applicationOf(application_id?.[index] ?? null);
      token.description = description?.[index] ?? '';
      expires.setTime(instants?.[index] ?? Number.NaN);
      if (!isLeftOut(selector, token)) each(token, met?.[index] ?? 0);
    }
  }
  return true;
}

async function isUnicode(database: Queryable): Promise<boolean> {
  const [row] = await database.query<{ encoding: string }>(
    `SELECT current_setting('server_encoding') AS encoding`,
  );
  return row?.encoding === 'UTF8';
}

function readCountedPage(
  database: Queryable,
  options: {
    readonly layout: Layout;
    readonly criteria: TokenCriteria;
    readonly range: IdRange;
    readonly conditions: readonly Condition[];
  },
): Promise<ArraysOf<CountedRow>> {
  const { layout, criteria, range, conditions } = options;
  const where = inRange('t.id', range);
  requireCriteria(where, criteria);
  const bits = conditions.map((condition, bit) => `((${conditionSql(condition, where)})::int << ${bit})`);
  const columns: ColumnSql<CountedRow> = {
    id: 'm.id',
    user_id: 'm.user_id',
    application_id: 'm.application_id',
    description: 'm.description',
    expires: 'm.expires',
    met: bits.length === 0 ? '0' : bits.join(' | '),
  };
  // The limit keeps the inner query by itself, so that each instant is computed once.
  return readColumns(database, {
    columns,
    from: `FROM (SELECT t.id, t.user_id, t.application_id, t.scope, t.description, ${instant('t.created')} AS created,
        ${instant('t.expires')} AS expires, ${instant('coalesce(t.last_used, t.created)')} AS used,
        t.last_used IS NULL AS never_used
      FROM ${TABLES[layout].accessTokens} t WHERE ${where.sql} ORDER BY t.id LIMIT ${PAGE_SIZE}) m`,
    values: where.values,
  });
}

/** SQL for what `dateOf` makes of {@link milliseconds}, by the same arithmetic. */
function instant(column: string): string {
  return `least(greatest(floor(${milliseconds(column)} + 0.0005), ${-MAX_DATE_MS}), ${MAX_DATE_MS})`;
}

/** SQL for a condition on a row `m` of {@link readCountedPage}; it decides as `holds` does. */
function conditionSql(condition: Condition, where: Conditions): string {
  if ('all' in condition)
    return ['TRUE', ...condition.all.map((part) => `(${conditionSql(part, where)})`)].join(' AND ');
  if ('not' in condition) return `NOT (${conditionSql(condition.not, where)})`;
  const number = (value: number) => `${where.parameter(value)}::float8`;
  if ('expiresAfter' in condition) return `m.expires > ${number(condition.expiresAfter)}`;
  if ('livesLongerThan' in condition) return `m.expires - m.created > ${number(condition.livesLongerThan)}`;
  if ('createdBefore' in condition) return `m.created < ${number(condition.createdBefore)}`;
  if ('unusedSince' in condition) return `m.used < ${number(condition.unusedSince)}`;
  switch (condition.is) {
    case 'never_used':
      return 'm.never_used';
    case 'writing':
      return `'write' = ANY(string_to_array(m.scope, ' '))`;
    case 'personal':
      return 'm.application_id IS NULL';
    case 'undescribed':
      return `btrim(m.description, ${where.parameter(WHITESPACE)}::text) = ''`;
  }
}
