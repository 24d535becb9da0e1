import { identifier, joined, literal, type Sql, shared, sql } from '@tokenctl/common/db/sql.ts';
import type { Actor } from '../../../domain/investigation/investigation.ts';
import { LISTED_KINDS, type ListedKind } from '../../../domain/investigation/kinds.ts';
import type {
  Evidence,
  ListedObjects,
  MadeUser,
  MissingNumbers,
  Window,
} from '../../../operations/ports/evidence.ts';
import type { Connection } from '../connection.ts';
import { dateOf, dateOrNull, milliseconds } from '../queries.ts';
import { STORES } from './evidence-tables.ts';

/** A row of the list of all kinds. Times are in milliseconds. */
export interface ListedRow extends MakingRow {
  readonly kind: string;
  readonly id: number;
  readonly name: string | null;
}

/** A row of any table, with its columns in JSON. */
export interface ObjectRow {
  readonly id: number;
  readonly name: string | null;
  readonly row: Record<string, unknown>;
}

/** When a row was created and last changed, in milliseconds, and by whom. */
export interface MakingRow {
  readonly created: number;
  readonly modified: number;
  readonly created_id: number | null;
  readonly created_name: string | null;
  readonly modified_id: number | null;
  readonly modified_name: string | null;
}

/** The columns of a {@link MakingRow} of a row `t` that is joined with {@link makersOf}. */
export const MAKING = sql`${milliseconds(sql`t.created`)} AS created, ${milliseconds(sql`t.modified`)} AS modified,
      t.created_by_id AS created_id, c.username AS created_name,
      t.modified_by_id AS modified_id, m.username AS modified_name`;

export function makersOf(users: Sql): Sql {
  return sql`LEFT JOIN ${users} c ON c.id = t.created_by_id LEFT JOIN ${users} m ON m.id = t.modified_by_id`;
}

/** The conditions on a row `t` that users created it, or last changed it, in a period. Null for any user. */
export function madeOrChanged(asked: Window & { readonly by: readonly number[] | null }) {
  const [since, until] = [shared(asked.since), shared(asked.until)];
  const by = asked.by === null ? sql`IS NOT NULL` : sql`= ANY(${shared(asked.by)}::bigint[])`;
  return {
    made: sql`t.created_by_id ${by} AND t.created >= ${since} AND t.created < ${until}`,
    changed: sql`t.modified_by_id ${by} AND t.modified >= ${since} AND t.modified < ${until}`,
  };
}

/** The objects `t` of a kind that users created or last changed. */
function listedSql(kind: ListedKind, { made, changed }: { made: Sql; changed: Sql }): Sql {
  const { table, parent, name } = tableOf(kind);
  const from =
    parent === undefined
      ? sql`${identifier(table)} t`
      : sql`${identifier(parent)} t
        JOIN ${identifier(table)} p ON ${identifier(`p.${parent.replace('main_', '')}_ptr_id`)} = t.id`;
  const isManaged = kind === 'credential_type' ? sql`NOT t.managed AND ` : sql``;
  return sql`SELECT ${literal(kind)} AS kind, t.id, ${identifier(`t.${name}`)}::text AS name, ${MAKING}
    FROM ${from} ${makersOf(sql`auth_user`)} WHERE ${isManaged}((${made}) OR (${changed}))`;
}

function tableOf(kind: ListedKind) {
  const store = STORES[kind];
  if (store === undefined) throw new Error(`no table of ${kind}`);
  return store;
}

/** Reads what users created, according to the objects' creator columns. */
export async function readMadeBy(
  connection: Connection,
  asked: Parameters<Evidence['madeBy']>[0],
): Promise<ListedObjects> {
  const kinds = Object.keys(LISTED_KINDS) as ListedKind[];
  const whole = await tablesWithMakers(connection, kinds);
  const readable = kinds.filter((kind) => whole.has(tableOf(kind).parent ?? tableOf(kind).table));
  const unread = kinds.filter((kind) => !readable.includes(kind));
  if (readable.length === 0 || asked.by?.length === 0) return { objects: [], unread };
  const which = madeOrChanged(asked);
  const lists = joined(
    readable.map((kind) => listedSql(kind, which)),
    ' UNION ALL ',
  );
  const rows = await sql`${lists} ORDER BY kind, id`.rows<ListedRow>(connection.reader);
  return { objects: rows.map(listedOf), unread };
}

/** The tables with columns for the creator and the time. Some of the service's own have none. */
async function tablesWithMakers(connection: Connection, kinds: readonly ListedKind[]) {
  const tables = [...new Set(kinds.map((kind) => tableOf(kind).parent ?? tableOf(kind).table))];
  const rows = await sql`SELECT w.name FROM unnest(${tables}::text[]) AS w(name)
       JOIN pg_attribute a ON a.attrelid = to_regclass(w.name)
       WHERE a.attname IN ('created', 'modified', 'created_by_id', 'modified_by_id') AND NOT a.attisdropped
       GROUP BY w.name HAVING count(*) = 4`.rows<{ name: string }>(connection.reader);
  return new Set(rows.map(({ name }) => name));
}

/** A row with its times as dates, and its makers as actors. */
export function listedOf<Row extends MakingRow>(row: Row) {
  const { created, modified, created_id, created_name, modified_id, modified_name, ...rest } = row;
  return {
    ...rest,
    created: dateOf(created),
    modified: dateOf(modified),
    createdBy: actorOf(created_id, created_name),
    modifiedBy: actorOf(modified_id, modified_name),
  };
}

/** The user in a row; null if there is none. */
export function actorOf(id: number | null, username: string | null): Actor | null {
  return id === null ? null : { id, username: username ?? '' };
}

/** The time is in milliseconds. */
export interface UserMadeRow extends Omit<MadeUser, 'at'> {
  readonly at: number;
}

export function userMadeOf(row: UserMadeRow): MadeUser {
  return { ...row, at: dateOf(row.at) };
}

/** Reads the users created in a period, and whether the activity stream has an entry about it. */
export async function readUsersMade(
  connection: Connection,
  { since, until }: Window,
): Promise<readonly MadeUser[]> {
  const rows = await sql`SELECT u.id, u.username, ${milliseconds(sql`u.date_joined`)} AS at,
         u.is_superuser AS "isSuperuser",
         EXISTS (SELECT FROM main_activitystream_user l JOIN main_activitystream s ON s.id = l.activitystream_id
           WHERE l.user_id = u.id AND s.object1 = 'user' AND s.operation = 'create') AS "isRecorded"
       FROM auth_user u WHERE u.date_joined >= ${since} AND u.date_joined < ${until}
       ORDER BY u.id`.rows<UserMadeRow>(connection.reader);
  return rows.map(userMadeOf);
}

/** When the oldest account of a controller or gateway was created. */
export async function readOldestUser({ reader, layout }: Connection): Promise<Date | null> {
  const table = layout === 'gateway' ? 'aap_gateway_api_user' : 'auth_user';
  const row = await sql`SELECT ${milliseconds(sql`min(u.date_joined)`)} AS at
    FROM ${identifier(table)} u`.first<{ at: number | null }>(reader);
  return dateOrNull(row?.at ?? null);
}

/** A table that assigns each number once. */
type NumberedTable = 'main_activitystream' | 'dab_activitystream_entry' | 'main_unifiedjob';

/** The last number that a table assigned; null if unreadable, or on a standby, whose numbers run ahead. */
function lastNumberSql(table: NumberedTable): Sql {
  const sequence = sql`pg_get_serial_sequence(${literal(table)}, 'id')::regclass`;
  return sql`CASE WHEN NOT pg_is_in_recovery() AND has_sequence_privilege(${sequence}, 'SELECT, USAGE')
    THEN coalesce(pg_sequence_last_value(${sequence}), 0) END`;
}

export async function readMissingEntries(connection: Connection, first: number): Promise<MissingNumbers> {
  const table = connection.layout === 'gateway' ? 'dab_activitystream_entry' : 'main_activitystream';
  const [row] = await sql`SELECT ${first}::bigint AS first, max(s.id) AS last, count(s.id) AS present,
         ${lastNumberSql(table)} AS given
       FROM ${identifier(table)} s WHERE s.id >= ${first}::bigint`.rows<NumbersRow>(connection.reader);
  return missingOf(row);
}

/** The ids of a controller's entries since an instant that set or remove a user's name, in order. Uses no index. */
export async function readNamingEntries(
  connection: Connection,
  first: number,
  since: Date,
): Promise<number[]> {
  return await sql`SELECT s.id FROM main_activitystream s
      WHERE s.id >= ${first}::bigint AND s.object1 = 'user' AND s.operation IN ('create', 'update', 'delete')
        AND s.timestamp >= ${since} AND strpos(s.changes, '"username"') > 0 ORDER BY s.id`.ids(
    connection.reader,
  );
}

/** Counts missing jobs, starting after the last job before an instant. */
export async function readMissingJobs(connection: Connection, since: Date): Promise<MissingNumbers> {
  const [row] = await sql`SELECT f.first, max(j.id) AS last, count(j.id) AS present,
         ${lastNumberSql('main_unifiedjob')} AS given
       FROM (SELECT coalesce(max(b.id), 0) + 1 AS first FROM main_unifiedjob b WHERE b.created < ${since}) f
         LEFT JOIN main_unifiedjob j ON j.id >= f.first GROUP BY f.first`.rows<NumbersRow>(connection.reader);
  return missingOf(row);
}

interface NumbersRow {
  readonly first: number;
  readonly last: number | null;
  readonly present: number;
  readonly given: number | null;
}

function missingOf(row: NumbersRow | undefined): MissingNumbers {
  const [first, present, given] = [Number(row?.first ?? 1), Number(row?.present ?? 0), row?.given ?? null];
  const last = Math.max(Number(row?.last ?? 0), Number(given ?? 0), first - 1);
  return { first, last, missing: Math.max(0, last - first + 1 - present), isEndKnown: given !== null };
}
