import type { Queryable } from '@tokenctl/common/db/database.ts';
import { joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { type Condition, WHITESPACE } from '../../domain/policy/condition.ts';
import type { CountedToken } from '../../domain/policy/rule.ts';
import { isLeftOut, type Selector } from '../../domain/selector.ts';
import type { Connection } from './connection.ts';
import {
  allOf,
  type ColumnSql,
  type IdRange,
  inRange,
  MAX_DATE_MS,
  milliseconds,
  PAGE_LIMIT,
  PAGE_SIZE,
  pagesById,
  readColumns,
} from './queries.ts';
import { TokenReferences } from './references.ts';
import { type Layout, TABLES } from './tables.ts';
import { conditionsOf } from './tokens.ts';

/** The columns for a token that is only counted. */
interface CountedRow {
  readonly id: number;
  readonly user_id: number | null;
  readonly application_id: number | null;
  readonly description: string;
  /** In milliseconds since 1970. */
  readonly expires: number;
  /** A bit for each condition that the token meets; the lowest bit is for the first condition. */
  readonly met: number;
}

/**
 * Determines which conditions each access token of a selector meets, ascending by id: {@link
 * Target.countTokens}. The database evaluates the conditions, so that no other columns have to be sent.
 * @returns False for a database with an encoding other than UTF-8, which may not know every white space.
 */
export async function countTokens(
  connection: Connection,
  selector: Selector,
  conditions: readonly Condition[],
  each: (token: CountedToken, met: number) => void,
): Promise<boolean> {
  if (!(await isUnicode(connection.reader))) return false;
  const references = new TokenReferences(connection.layout);
  const { layout } = connection;
  const criteria = await conditionsOf(connection, selector);
  const columns = countedColumns(conditions);
  const pages = pagesById(connection.table('accessTokens'), {
    ids: selector.ids,
    read: (range) => readColumns(connection.reader, columns, countedSql(layout, criteria, range)),
    lastId: ({ id }) => (id === null || id.length < PAGE_SIZE ? null : (id.at(-1) ?? null)),
  });
  // One object for all tokens, with every member replaced: an object per token would be most of the work.
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
      token.user = references.user(user_id?.[index] ?? null);
      token.application = references.application(application_id?.[index] ?? null);
      token.description = description?.[index] ?? '';
      expires.setTime(instants?.[index] ?? Number.NaN);
      if (!isLeftOut(selector, token)) each(token, met?.[index] ?? 0);
    }
  }
  return true;
}

async function isUnicode(database: Queryable): Promise<boolean> {
  const row = await sql`SELECT current_setting('server_encoding')
    AS encoding`.first<{ encoding: string }>(database);
  return row?.encoding === 'UTF8';
}

function countedColumns(conditions: readonly Condition[]): ColumnSql<CountedRow> {
  const bits = conditions.map(
    (condition, bit) => sql`((${conditionSql(condition)})::int << ${literal(bit)})`,
  );
  return {
    id: sql`m.id`,
    user_id: sql`m.user_id`,
    application_id: sql`m.application_id`,
    description: sql`m.description`,
    expires: sql`m.expires`,
    met: bits.length === 0 ? sql`0` : joined(bits, ' | '),
  };
}

/** The limit keeps PostgreSQL from merging the inner query, so that each instant is computed once. */
function countedSql(layout: Layout, criteria: readonly (Sql | undefined)[], range: IdRange): Sql {
  const where = allOf(...inRange(sql`t.id`, range), ...criteria);
  return sql`FROM (SELECT t.id, t.user_id, t.application_id, t.scope, t.description,
      ${instant(sql`t.created`)} AS created, ${instant(sql`t.expires`)} AS expires,
      ${instant(sql`coalesce(t.last_used, t.created)`)} AS used, t.last_used IS NULL AS never_used
    FROM ${TABLES[layout].accessTokens} t WHERE ${where} ORDER BY t.id ${PAGE_LIMIT}) m`;
}

const [EARLIEST, LATEST] = [literal(-MAX_DATE_MS), literal(MAX_DATE_MS)];

/** The result of `dateOf` for {@link milliseconds}, with the same arithmetic. */
export function instant(column: Sql): Sql {
  return sql`least(greatest(floor(${milliseconds(column)} + 0.0005), ${EARLIEST}), ${LATEST})`;
}

/** A condition on a row `m` of {@link countedSql}. Same rules as `holds`. */
function conditionSql(condition: Condition): Sql {
  if ('all' in condition) return allOf(...condition.all.map((part) => sql`(${conditionSql(part)})`));
  if ('not' in condition) return sql`NOT (${conditionSql(condition.not)})`;
  if ('expiresAfter' in condition) return sql`m.expires > ${condition.expiresAfter}::float8`;
  if ('livesLongerThan' in condition)
    return sql`m.expires - m.created > ${condition.livesLongerThan}::float8`;
  if ('createdBefore' in condition) return sql`m.created < ${condition.createdBefore}::float8`;
  if ('unusedSince' in condition) return sql`m.used < ${condition.unusedSince}::float8`;
  switch (condition.is) {
    case 'never_used':
      return sql`m.never_used`;
    case 'writing':
      return sql`'write' = ANY(string_to_array(m.scope, ' '))`;
    case 'personal':
      return sql`m.application_id IS NULL`;
    case 'undescribed':
      return sql`btrim(m.description, ${WHITESPACE}::text) = ''`;
  }
}
