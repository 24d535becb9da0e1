import { identifier, joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { TokenEnd } from '../../operations/ports/target-parts.ts';
import { gatewayChanges, insertEntries } from './activity-entries.ts';
import type { Connection } from './connection.ts';
import { instant } from './counted-tokens.ts';
import { inBatches } from './queries.ts';
import { type Layout, TABLES } from './tables.ts';

/** How many rows one transaction changes, so that others do not wait long. */
const BATCH_SIZE = 1000;

/**
 * Sets when tokens expire, as `TokenEnds` does. The part of a row's time below a millisecond is kept, so that
 * the old expiry can be restored exactly. Each change has an activity stream entry, in the same statement.
 */
export async function setTokenEnds(
  connection: Connection,
  ends: readonly TokenEnd[],
): Promise<readonly number[]> {
  const { layout } = connection;
  const set: number[] = [];
  for (const batch of inBatches(ends, BATCH_SIZE)) {
    const statement = endsSql(layout, batch);
    set.push(...(await connection.write('ends', (transaction) => statement.ids(transaction))));
  }
  return set;
}

/** A controller links each entry to its token. Both are numbered in the order of writing. */
const LINK_CTE = sql`, link AS (
    INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
    SELECT e.id, c.id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM entry) e
      JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM changed) c USING (place)
  )`;

function endsSql(layout: Layout, ends: readonly TokenEnd[]): Sql {
  const { accessTokens, tokenTimestamps } = TABLES[layout];
  const rows = ends.map(({ id, created, from, to }) => ({
    ...{ id, created: created.getTime(), until: to.getTime() },
    earlier: from.map((each) => each.getTime()),
  }));
  const touched = tokenTimestamps.filter((name) => name !== 'created');
  const old = instant(sql`t.expires`);
  // Creation times come from two sources: a REST API with microseconds, a database with milliseconds.
  const isSame = sql`t.id = a.id AND abs(${instant(sql`t.created`)} - a.created) < 1000`;
  const change = sql`jsonb_build_array(${utc(sql`c.old`)}, ${utc(sql`c.expires`)})`;
  return sql`WITH asked AS MATERIALIZED (
      SELECT a.* FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
        AS a(id bigint, created float8, until float8, earlier float8[])
    ), found AS MATERIALIZED (
      SELECT t.id, t.expires AS old, t.expires + (a.until - ${old}) * interval '1 millisecond' AS expires
      FROM ${accessTokens} t JOIN asked a ON ${isSame}
      WHERE ${old} = ANY(a.earlier) AND ${old} <> a.until ORDER BY t.id FOR UPDATE OF t
    ), changed AS (
      UPDATE ${accessTokens} t SET expires = f.expires, ${joined(touched.map((name) => sql`${identifier(name)} = now()`))}
      FROM found f WHERE t.id = f.id RETURNING t.id, f.old, t.expires
    ), entry AS (
      ${insertEntries(layout, {
        operation: 'update',
        objectType: 'access_token',
        id: sql`c.id`,
        changes:
          layout === 'gateway'
            ? gatewayChanges('changed_fields', sql`jsonb_build_object('expires', ${change})`)
            : sql`'{"expires": ' || ${change}::text || '}'`,
        from: sql`FROM changed c ORDER BY c.id RETURNING id`,
      })}
    )${layout === 'gateway' ? sql`` : LINK_CTE}
    SELECT c.id FROM changed c
    UNION SELECT t.id FROM ${accessTokens} t JOIN asked a ON ${isSame} WHERE ${old} = a.until`;
}

/** An instant as in the activity stream, whatever the session's time zone. */
function utc(column: Sql): Sql {
  return sql`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
