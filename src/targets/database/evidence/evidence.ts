import { setImmediate } from 'node:timers/promises';
import type { Environment } from '@tokenctl/common/db/connection-sources.ts';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { type NameChange, nameChangesIn, type StreamEntry } from '../../../domain/investigation/deed.ts';
import type { Actor, AssignedRole, ObjectReference } from '../../../domain/investigation/investigation.ts';
import { isKnownKind } from '../../../domain/investigation/kinds.ts';
import type {
  AssignedRoles,
  CurrentObject,
  Evidence,
  JobRecord,
  JobSelector,
  ListedObjects,
  MadeUser,
  MissingNumbers,
  RoleHolder,
  RoleRecord,
  StreamReach,
  Window,
} from '../../../operations/ports/evidence.ts';
import { type Connection, databaseError, openConnection } from '../connection.ts';
import { allOf, dateOrNull, inBatches, milliseconds, PAGE_SIZE } from '../queries.ts';
import { NAME_TABLES } from '../required-rights.ts';
import { storedValue } from '../settings.ts';
import { activityJson, readEntries, readEntryPages } from './evidence-entries.ts';
import { type JobRow, jobOf, jobsSql } from './evidence-jobs.ts';
import {
  type ObjectRow,
  readMadeBy,
  readMissingEntries,
  readMissingJobs,
  readNamingEntries,
  readOldestUser,
  readUsersMade,
} from './evidence-lists.ts';
import {
  hasAssignedRole,
  holdsRole,
  readAssignedRoles,
  readRoleHolders,
  readRoles,
} from './evidence-roles.ts';
import {
  ASSIGNMENT_TABLES,
  investigatedTables,
  linkTable,
  OLDER_ROLES,
  readableTables,
  STORES,
  WITHHELD,
} from './evidence-tables.ts';
import { openGatewayEvidence } from './gateway-evidence.ts';
import { hasServiceRoles, holdsServiceRole, readServiceRoles } from './service-roles.ts';

export interface DatabaseEvidenceOptions {
  readonly connection: Secret;
  readonly environment?: Environment;
  readonly interruption?: () => AbortSignal | undefined;
  /** Only reads who had which name. The role needs four tables for that, instead of all investigated tables. */
  readonly namesOnly?: boolean | undefined;
}

export interface OpenedEvidence extends Evidence {
  close(): Promise<void>;
}

const STATEMENT_TIMEOUT_MS = 60_000;
/** How many entries about objects are searched at once: each search starts with all entries about them. */
const LINKED_AT_ONCE = 60_000;
/** How many entries are yielded before the database's responses are checked. */
const ENTRIES_AT_ONCE = 1000;
/** How many entries without an actor are read and counted. */
const MAX_WITHOUT_ACTOR = 2000;
/** How many parts a query divides a range of entries into to find an instant. */
const PROBES = 64;
/** Entries written at the same time may have ids in a different order than their times. */
const CLOCK_MARGIN_MS = 3_600_000;

/**
 * Opens the database of a controller, of a gateway or of the service for an investigation. Its sessions are
 * read-only. Throws `permission_refused` with the missing grant, and as for a target.
 */
export async function openDatabaseEvidence(options: DatabaseEvidenceOptions): Promise<OpenedEvidence> {
  const { connection: url, environment, interruption, namesOnly = false } = options;
  const connection = await openConnection({
    url,
    environment,
    interruption,
    connections: 4,
    applicationName: 'tokenctl investigation',
    statementTimeout: STATEMENT_TIMEOUT_MS,
    settings: { default_transaction_read_only: 'on' },
  });
  const { database, address, layout } = connection;
  try {
    if (layout === 'gateway') return await openGatewayEvidence(connection, namesOnly);
    const tables = namesOnly ? NAME_TABLES.controller : investigatedTables();
    return new DatabaseEvidence(connection, await readableTables(connection, tables));
  } catch (error) {
    await database.close();
    throw databaseError(error, address);
  }
}

class DatabaseEvidence implements OpenedEvidence {
  readonly #connection: Connection;
  readonly #reader: Queryable;
  readonly #present: ReadonlySet<string>;
  /** The first entry id from an instant on, by instant. */
  readonly #firstIds = new Map<number, number>();

  constructor(connection: Connection, present: ReadonlySet<string>) {
    this.#connection = connection;
    this.#reader = connection.reader;
    this.#present = present;
  }

  async *deeds({ actorIds, ...window }: Window & { actorIds: readonly number[] }) {
    for (const actorId of actorIds) yield* this.#entries(window, sql`s.actor_id = ${actorId}::bigint`);
  }

  deedsOfDeleted({ users, ...window }: Window & { users: readonly Actor[] }) {
    const actor = activityJson(this.#connection.recognized, sql`s.deleted_actor`);
    const keys = users.map(({ id, username }) => (id === null ? `name:${username}` : `id:${id}`));
    return this.#entries(
      window,
      sql`s.actor_id IS NULL
        AND ARRAY['id:' || (${actor}->>'id'), 'name:' || (${actor}->>'username')] && ${keys}::text[]`,
    );
  }

  /** Pages by id, up to the last entry at the start. */
  async *#entries(window: Window, condition: Sql): AsyncGenerator<StreamEntry, void> {
    const { first, last } = await this.#bounds(window);
    const queryAfter = (after: number) => ({
      where: allOf(
        sql`s.id > ${after}::bigint`,
        sql`s.id <= ${last}::bigint`,
        sql`s.timestamp >= ${window.since}::timestamptz`,
        sql`s.timestamp < ${window.until}::timestamptz`,
        condition,
      ),
      present: this.#present,
    });
    const pages = readEntryPages(this.#connection, first - 1, queryAfter);
    for await (const entries of pages) {
      for (const some of inBatches(entries, ENTRIES_AT_ONCE)) {
        yield* some;
        // Processes the database's responses and requests the next page, which must not wait for the caller.
        await setImmediate();
      }
    }
  }

  /** The range of ids of a period's entries. */
  async #bounds({ since }: Window): Promise<{ readonly first: number; readonly last: number }> {
    const ends = await sql`SELECT min(id) AS first, max(id) AS last
      FROM main_activitystream`.first<{ first: number | null; last: number | null }>(this.#reader);
    const last = ends?.last ?? 0;
    const known = this.#firstIds.get(since.getTime());
    if (known !== undefined) return { first: known, last };
    const first = await this.#firstId(since, { low: ends?.first ?? 1, high: last });
    this.#firstIds.set(since.getTime(), first);
    return { first, last };
  }

  /** The first id from an instant on. Times have no index, so each query divides the rest into {@link PROBES} parts. */
  async #firstId(since: Date, range: { readonly low: number; readonly high: number }): Promise<number> {
    const from = since.getTime() - CLOCK_MARGIN_MS;
    let { low, high } = range;
    while (low < high) {
      const step = Math.ceil((high - low) / PROBES);
      const ids = Array.from({ length: PROBES }, (_, part) => low + part * step).filter((id) => id < high);
      const probed = await sql`SELECT o.id, (
            SELECT ${milliseconds(sql`s.timestamp`)} FROM main_activitystream s
            WHERE s.id >= o.id ORDER BY s.id LIMIT 1) AS at
          FROM unnest(${ids}::bigint[]) AS o(id)
          ORDER BY o.id`.rows<{ id: number; at: number | null }>(this.#reader);
      const late = probed.findIndex(({ at }) => at === null || at >= from);
      const lastEarly = late === -1 ? probed.at(-1) : probed[late - 1];
      if (lastEarly !== undefined) low = lastEarly.id + 1;
      high = probed[late]?.id ?? high;
    }
    return low;
  }

  async *entriesAbout(selector: Parameters<Evidence['entriesAbout']>[0]): AsyncGenerator<StreamEntry, void> {
    const { kind, notBy } = selector;
    const link = isKnownKind(kind) ? STORES[kind]?.link : undefined;
    if (link === undefined || !this.#present.has(link[0])) return;
    const [table, column] = [identifier(link[0]), identifier(link[1])];
    for (const batch of inBatches(selector.ids, 1000)) {
      const ids = await this.#withUnreadEntries(selector, { table, column, ids: batch });
      for (let after = selector.after; ids.length > 0; ) {
        // One object at a time by its index: for a whole list, statistics can make the planner read the whole stream.
        const linked: { id: number }[] = await sql`SELECT DISTINCT x.id
           FROM unnest(${ids}::bigint[]) AS o(id) CROSS JOIN LATERAL (
             SELECT s.id FROM ${table} l JOIN main_activitystream s ON s.id = l.activitystream_id
             WHERE l.${column} = o.id AND l.activitystream_id > ${after}::bigint
               AND (s.actor_id IS NULL OR s.actor_id <> ALL(${notBy}::bigint[])) OFFSET 0) x
           ORDER BY x.id LIMIT ${literal(LINKED_AT_ONCE)}`.rows(this.#reader);
        for (const some of inBatches(linked, PAGE_SIZE)) yield* await this.entries(some.map(({ id }) => id));
        const last = linked.at(-1);
        if (last === undefined || linked.length < LINKED_AT_ONCE) break;
        after = last.id;
      }
    }
  }

  /** Excludes objects whose entries have all been read. This reads only the link table. */
  async #withUnreadEntries(
    { after, read }: Parameters<Evidence['entriesAbout']>[0],
    { table, column, ids }: { table: Sql; column: Sql; ids: readonly number[] },
  ): Promise<readonly number[]> {
    // The list is a subquery, so that statistics of a whole list cannot make the planner read the whole table.
    const tallies = await sql`SELECT l.${column} AS id, count(*) AS count,
          sum(l.activitystream_id)::bigint AS sum FROM ${table} l
        WHERE l.${column} = ANY(ARRAY(SELECT unnest(${ids}::bigint[]))) AND l.activitystream_id > ${after}::bigint
        GROUP BY l.${column}`.rows<{ id: number; count: number; sum: number }>(this.#reader);
    return tallies.flatMap(({ id, count, sum }) => {
      const known = read.get(id);
      return known?.count === count && known.sum === sum ? [] : [id];
    });
  }

  async nameChanges(since: Date): Promise<readonly NameChange[]> {
    const { first } = await this.#bounds({ since, until: since });
    return nameChangesIn(await this.entries(await readNamingEntries(this.#connection, first, since)));
  }

  async entries(ids: readonly number[]): Promise<readonly StreamEntry[]> {
    return ids.length === 0 ? [] : await this.#readEntries(sql`s.id = ANY(${ids}::bigint[])`);
  }

  async *settingEntries(after: number): AsyncGenerator<StreamEntry, void> {
    for (let last = after; ; ) {
      const page = await this.#readEntries(sql`s.id > ${last}::bigint AND s.object1 = 'setting'`, {
        limit: PAGE_SIZE,
      });
      yield* page;
      const next = page.at(-1)?.id;
      if (next === undefined || page.length < PAGE_SIZE) return;
      last = next;
    }
  }

  async objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null> {
    const found = isKnownKind(kind) ? STORES[kind] : undefined;
    if (found === undefined || !this.#present.has(found.table)) return null;
    const { table, parent, name } = found;
    const key = parent === undefined ? 'id' : `${parent.replace('main_', '')}_ptr_id`;
    const [from, row] =
      parent === undefined
        ? [sql`${identifier(table)} t`, sql`to_jsonb(t)`]
        : [
            sql`${identifier(parent)} t JOIN ${identifier(table)} c ON ${identifier(`c.${key}`)} = t.id`,
            sql`to_jsonb(t) || to_jsonb(c)`,
          ];
    const objects = new Map<number, CurrentObject>();
    for (const batch of inBatches(ids, PAGE_SIZE)) {
      const rows =
        await sql`SELECT t.id, ${identifier(`t.${name}`)} AS name, (${row}) - ${WITHHELD}::text[] AS row
          FROM ${from} WHERE t.id = ANY(${batch}::bigint[])`.rows<ObjectRow>(this.#reader);
      for (const each of rows)
        objects.set(each.id, { id: each.id, name: each.name, fields: fieldsOf(each.row) });
    }
    return objects;
  }

  async settings(names: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const rows = await sql`SELECT s.key, s.value::text AS value FROM conf_setting s
      WHERE s.user_id IS NULL
        AND s.key = ANY(${names}::text[])`.rows<{ key: string; value: string | null }>(this.#reader);
    return new Map(rows.map(({ key, value }) => [key, storedValue(value)]));
  }

  /** A setting's row is created when it is first set. */
  settingDefaults = (settings: readonly { readonly name: string }[]) =>
    Promise.resolve(new Map(settings.map(({ name }) => [name, 'unset'] as const)));

  async roles(ids: readonly number[]): Promise<ReadonlyMap<number, RoleRecord>> {
    if (hasServiceRoles(this.#present)) return await readServiceRoles(this.#connection, ids);
    return this.#present.has('main_rbac_roles') ? await readRoles(this.#connection, ids) : new Map();
  }

  async assignedRoles(selector: Parameters<Evidence['assignedRoles']>[0]): Promise<AssignedRoles | 'absent'> {
    if (!ASSIGNMENT_TABLES.every((table) => this.#present.has(table))) return 'absent';
    return await readAssignedRoles(this.#connection, selector);
  }

  madeBy(selector: Parameters<Evidence['madeBy']>[0]): Promise<ListedObjects> {
    return readMadeBy(this.#connection, selector);
  }

  async usersMade(window: Window): Promise<readonly MadeUser[] | null> {
    return this.#present.has('main_activitystream_user')
      ? await readUsersMade(this.#connection, window)
      : null;
  }

  async missingEntries(since: Date): Promise<MissingNumbers> {
    const { first } = await this.#bounds({ since, until: since });
    return await readMissingEntries(this.#connection, first);
  }

  async missingJobs(since: Date): Promise<MissingNumbers | null> {
    return this.#present.has('main_unifiedjob') ? await readMissingJobs(this.#connection, since) : null;
  }

  async hasRole(role: number, holder: { readonly kind: string; readonly id: number }) {
    if (hasServiceRoles(this.#present)) return await holdsServiceRole(this.#connection, role, holder);
    return this.#present.has('main_rbac_roles_members')
      ? await holdsRole(this.#connection, role, holder)
      : null;
  }

  async hasAssignment(assignment: AssignedRole): Promise<boolean | null> {
    const isThere = ASSIGNMENT_TABLES.every((table) => this.#present.has(table));
    return isThere ? await hasAssignedRole(this.#connection, assignment) : null;
  }

  async roleHolders(held: Parameters<Evidence['roleHolders']>[0]): Promise<readonly RoleHolder[] | null> {
    const older = [...OLDER_ROLES, 'main_team'].every((table) => this.#present.has(table));
    const newer = ASSIGNMENT_TABLES.every((table) => this.#present.has(table));
    return older || newer ? await readRoleHolders(this.#connection, held, { older, newer }) : null;
  }

  async hasLink(link: string, object: ObjectReference, other: ObjectReference): Promise<boolean | null> {
    const found = linkTable(link, object.kind);
    if (found === undefined || !this.#present.has(found[0])) return null;
    const [table, first, second] = found.map(identifier);
    return await sql`SELECT FROM ${table} l WHERE l.${first} = ${object.id}::bigint
      AND l.${second} = ${other.id}::bigint LIMIT 1`.exists(this.#reader);
  }

  async *jobs(selector: JobSelector): AsyncGenerator<JobRecord, void> {
    if (!this.#present.has('main_unifiedjob')) return;
    for (let after = 0; ; ) {
      const rows = await jobsSql(selector, after).rows<JobRow>(this.#reader);
      yield* rows.map(jobOf);
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE_SIZE) return;
      after = last.id;
    }
  }

  async extent({ until }: Window): Promise<StreamReach> {
    const end = (order: Sql) =>
      sql`SELECT ${milliseconds(sql`s.timestamp`)} AS at FROM main_activitystream s
        ORDER BY s.id ${order} LIMIT 1`.first<{ at: number }>(this.#reader);
    const [oldest, newest] = [await end(sql`ASC`), await end(sql`DESC`)];
    // A controller has a row for each setting that was ever set, without the times of later changes.
    const set = await sql`SELECT s.value::text AS value, ${milliseconds(sql`s.created`)} AS created
      FROM conf_setting s WHERE s.user_id IS NULL
        AND s.key = 'ACTIVITY_STREAM_ENABLED'`.first<{ value: string | null; created: number }>(this.#reader);
    const switched = dateOrNull(set?.created ?? null);
    return {
      // A controller records activity unless this setting, or a file on its servers, turns it off.
      enabled: storedValue(set?.value ?? null) === false ? false : null,
      oldest: dateOrNull(oldest?.at ?? null),
      newest: dateOrNull(newest?.at ?? null),
      oldestUser: await readOldestUser(this.#connection),
      switched: switched !== null && switched < until ? switched : null,
    };
  }

  async withoutActor(window: Window) {
    const { first, last } = await this.#bounds(window);
    const some = await this.#readEntries(
      sql`s.id BETWEEN ${first}::bigint AND ${last}::bigint AND s.actor_id IS NULL AND s.deleted_actor IS NULL
        AND s.timestamp >= ${window.since} AND s.timestamp < ${window.until}`,
      { limit: MAX_WITHOUT_ACTOR, newestFirst: true },
    );
    return { count: some.length < MAX_WITHOUT_ACTOR ? some.length : null, some };
  }

  close(): Promise<void> {
    return this.#connection.database.close();
  }

  #readEntries(where: Sql, some: { readonly limit?: number; readonly newestFirst?: boolean } = {}) {
    return readEntries(this.#connection, { where, present: this.#present, ...some });
  }
}

/** The columns of a row, named as in the activity stream. */
function fieldsOf(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { char_prompts: prompts, ...columns } = row;
  return {
    ...Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [
        name.endsWith('_id') ? name.slice(0, -3) : name,
        value,
      ]),
    ),
    ...(typeof prompts === 'object' ? prompts : {}),
    id: row['id'],
  };
}
