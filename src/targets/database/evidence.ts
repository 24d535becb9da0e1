import type { Environment } from '../../db/connection-sources.ts';
import type { Queryable } from '../../db/database.ts';
import { openPostgres } from '../../db/postgres.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { StreamEntry } from '../../domain/investigation/deed.ts';
import type { ObjectReference } from '../../domain/investigation/investigation.ts';
import { isKnownKind } from '../../domain/investigation/kinds.ts';
import type { Secret } from '../../domain/secret.ts';
import type {
  CurrentObject,
  Evidence,
  JobRecord,
  JobSelector,
  RoleRecord,
  Window,
} from '../../operations/ports/evidence.ts';
import { Connection, databaseError } from './connection.ts';
import { JOBS_SQL, type JobRow, jobOf, kindOfModel } from './evidence-jobs.ts';
import { LINK_TABLES, ROLE_LINK, readTables, STORES, WITHHELD } from './evidence-tables.ts';
import { recognizeLayout } from './layout.ts';
import { Conditions, dateOf, dateOrNull, inBatches, milliseconds, PAGE_SIZE } from './queries.ts';

/** Which database, and how to reach it. */
export interface DatabaseEvidenceOptions {
  readonly connection: Secret;
  readonly environment?: Environment;
  readonly interruption?: () => AbortSignal | undefined;
}

/** Evidence that can be closed. */
export interface OpenedEvidence extends Evidence {
  close(): Promise<void>;
}

const STATEMENT_TIMEOUT_MS = 60_000;
/** How many entries without an actor are read, and counted. */
const MAX_WITHOUT_ACTOR = 2000;
/** Entries that were written at the same time may have their numbers in another order than their times. */
const CLOCK_MARGIN_MS = 3_600_000;

/**
 * Opens the database of a controller or of the service to investigate. Its sessions can only read.
 *
 * @throws TokenctlError `unsupported` for a gateway's database, `permission_refused` with the missing grant, and as for a
 * target.
 */
export async function openDatabaseEvidence(options: DatabaseEvidenceOptions): Promise<OpenedEvidence> {
  const { connection: url, environment, interruption } = options;
  const database = await openPostgres({
    url,
    ...(environment !== undefined && { environment }),
    connections: 4,
    applicationName: 'tokenctl investigation',
    statementTimeout: STATEMENT_TIMEOUT_MS,
    settings: { jit: 'off', default_transaction_read_only: 'on' },
  }).catch((error: unknown) => {
    throw databaseError(error, 'The database');
  });
  try {
    const layout = await recognizeLayout(database, database.address);
    if (layout.layout === 'gateway') throw gatewayUnsupported(database.address);
    const { present, refused, role } = await readTables(database);
    if (refused.length > 0) throw tablesRefused({ address: database.address, refused, role });
    return new DatabaseEvidence(new Connection(database, layout, interruption), present);
  } catch (error) {
    await database.close();
    throw databaseError(error, database.address);
  }
}

/** A gateway keeps neither templates nor jobs: what an intruder changes is at its controller. */
function gatewayUnsupported(address: string): TokenctlError {
  return new TokenctlError(
    'unsupported',
    `${address} is a platform gateway, which keeps no templates or jobs`,
    {
      hint: 'Investigate the controller behind it: use a context with `component: controller`, or its database.',
    },
  );
}

function tablesRefused(options: {
  readonly address: string;
  readonly refused: readonly string[];
  readonly role: string;
}): TokenctlError {
  const { address, refused, role } = options;
  const grant = `GRANT SELECT ON ${refused.join(', ')} TO ${role}`;
  return new TokenctlError(
    'permission_refused',
    `This role may not read ${refused.length} tables in ${address}`,
    {
      hint: `Ask the database administrator to run \`${grant};\``,
      details: { grants: [grant] },
    },
  );
}

interface EntryRow {
  readonly id: number;
  readonly at: number;
  readonly operation: string;
  readonly object1: string;
  readonly object2: string;
  readonly relationship: string;
  readonly changes: string | null;
  readonly setting: string | null;
  readonly actor_id: number | null;
  readonly actor: string | null;
  readonly deleted_id: number | null;
  readonly deleted: string | null;
}

type Links = Map<string, { id: number; name: string | null }[]>;

const ENTRY = `s.id, ${milliseconds('s.timestamp')} AS at, s.operation, s.object1, s.object2,
  s.object_relationship_type AS relationship, s.changes, s.setting->>'name' AS setting, s.actor_id,
  u.username AS actor, (s.deleted_actor->>'id')::bigint AS deleted_id, s.deleted_actor->>'username' AS deleted`;
const STREAM = 'main_activitystream s LEFT JOIN auth_user u ON u.id = s.actor_id';

class DatabaseEvidence implements OpenedEvidence {
  readonly #connection: Connection;
  readonly #present: ReadonlySet<string>;
  /** The first id of the entries from an instant on. */
  readonly #firstIds = new Map<number, number>();

  constructor(connection: Connection, present: ReadonlySet<string>) {
    this.#connection = connection;
    this.#present = present;
  }

  async *deeds({ actorIds, ...window }: Window & { readonly actorIds: readonly number[] }) {
    for (const actorId of actorIds) {
      yield* this.#entries(window, (conditions) =>
        conditions.add(actorId, (id) => `s.actor_id = ${id}::bigint`),
      );
    }
  }

  deedsOfDeleted({ usernames, ...window }: Window & { readonly usernames: readonly string[] }) {
    return this.#entries(window, (conditions) =>
      conditions
        .require('s.actor_id IS NULL')
        .add(usernames, (names) => `s.deleted_actor->>'username' = ANY(${names}::text[])`),
    );
  }

  /** Pages by id, up to the last entry that there is at the start. */
  async *#entries(
    window: Window,
    restrict: (conditions: Conditions) => Conditions,
  ): AsyncGenerator<StreamEntry, void> {
    const bounds = await this.#bounds(window);
    for (let after = bounds.first - 1; ; ) {
      const conditions = restrict(
        new Conditions()
          .add(after, (id) => `s.id > ${id}::bigint`)
          .add(bounds.last, (id) => `s.id <= ${id}::bigint`)
          .add(window.since, (at) => `s.timestamp >= ${at}::timestamptz`)
          .add(window.until, (at) => `s.timestamp < ${at}::timestamptz`),
      );
      const rows = await this.#read<EntryRow>(
        `SELECT ${ENTRY} FROM ${STREAM} WHERE ${conditions.sql} ORDER BY s.id LIMIT ${PAGE_SIZE}`,
        conditions.values,
      );
      yield* await this.#withLinks(rows);
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE_SIZE) return;
      after = last.id;
    }
  }

  /** The ids between which a period's entries are. */
  async #bounds({ since }: Window): Promise<{ readonly first: number; readonly last: number }> {
    const [ends] = await this.#read<{ first: number | null; last: number | null }>(
      'SELECT min(id) AS first, max(id) AS last FROM main_activitystream',
    );
    const last = ends?.last ?? 0;
    const known = this.#firstIds.get(since.getTime());
    if (known !== undefined) return { first: known, last };
    const first = await this.#firstId(since, { low: ends?.first ?? 1, high: last });
    this.#firstIds.set(since.getTime(), first);
    return { first, last };
  }

  /** The first id from an instant on. There is no index on times: it is found by halving. */
  async #firstId(since: Date, range: { readonly low: number; readonly high: number }): Promise<number> {
    const from = since.getTime() - CLOCK_MARGIN_MS;
    let { low, high } = range;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [row] = await this.#read<{ id: number; at: number }>(
        `SELECT s.id, ${milliseconds('s.timestamp')} AS at FROM main_activitystream s WHERE s.id >= $1 ORDER BY s.id LIMIT 1`,
        [middle],
      );
      if (row === undefined || row.at >= from) high = middle;
      else low = row.id + 1;
    }
    return low;
  }

  /** Updates and links name their objects only in tables of links; other entries name them themselves. */
  async #withLinks(rows: readonly EntryRow[]): Promise<StreamEntry[]> {
    const byKind = new Map<string, number[]>();
    for (const { id, operation, object1, object2 } of rows) {
      if (operation === 'create' || operation === 'delete') continue;
      const kinds = new Set(operation === 'update' ? [object1] : [object1, object2, 'role']);
      for (const kind of kinds) {
        const ids = byKind.get(kind);
        if (ids === undefined) byKind.set(kind, [id]);
        else ids.push(id);
      }
    }
    const links = new Map<number, Links>();
    for (const [kind, ids] of byKind) {
      for (const { entry, id, name } of await this.#readLinks(kind, ids)) {
        const ofEntry: Links = links.get(entry) ?? new Map();
        links.set(entry, ofEntry.set(kind, [...(ofEntry.get(kind) ?? []), { id, name }]));
      }
    }
    return rows.map((row) => entryOf(row, links.get(row.id) ?? new Map()));
  }

  async #readLinks(
    kind: string,
    entries: readonly number[],
  ): Promise<{ readonly entry: number; readonly id: number; readonly name: string | null }[]> {
    const found = isKnownKind(kind) ? STORES[kind] : undefined;
    const [table, column] = kind === 'role' ? ROLE_LINK : (found?.link ?? [null, null]);
    if (table === null || !this.#present.has(table)) return [];
    const named = found?.parent ?? found?.table;
    const join = named === undefined ? '' : `LEFT JOIN ${named} t ON t.id = l.${column}`;
    return await this.#read(
      `SELECT l.activitystream_id AS entry, l.${column} AS id, ${named === undefined ? 'NULL' : `t.${found?.name}`} AS name
       FROM ${table} l ${join} WHERE l.activitystream_id = ANY($1::bigint[]) ORDER BY l.id`,
      [entries],
    );
  }

  async *entriesAbout(selector: {
    readonly kind: string;
    readonly ids: readonly number[];
    readonly after: number;
    readonly notBy: readonly number[];
  }): AsyncGenerator<StreamEntry, void> {
    const [table, column] = (isKnownKind(selector.kind) ? STORES[selector.kind]?.link : undefined) ?? [null];
    if (table === null || !this.#present.has(table)) return;
    for (const ids of inBatches(selector.ids, 1000)) {
      for (let after = selector.after; ; ) {
        // One object after the other by its index: statistics of a whole list can choose to read the whole stream.
        const linked: { id: number }[] = await this.#read(
          `SELECT DISTINCT x.id FROM unnest($1::bigint[]) AS o(id) CROSS JOIN LATERAL (
             SELECT s.id FROM ${table} l JOIN main_activitystream s ON s.id = l.activitystream_id
             WHERE l.${column} = o.id AND l.activitystream_id > $2::bigint
               AND (s.actor_id IS NULL OR s.actor_id <> ALL($3::bigint[])) OFFSET 0) x
           ORDER BY x.id LIMIT ${PAGE_SIZE}`,
          [ids, after, selector.notBy],
        );
        const rows = await this.#read<EntryRow>(
          `SELECT ${ENTRY} FROM ${STREAM} WHERE s.id = ANY($1::bigint[]) ORDER BY s.id`,
          [linked.map(({ id }) => id)],
        );
        yield* await this.#withLinks(rows);
        const last = linked.at(-1);
        if (last === undefined || linked.length < PAGE_SIZE) break;
        after = last.id;
      }
    }
  }

  async entries(ids: readonly number[]): Promise<readonly StreamEntry[]> {
    const rows = await this.#read<EntryRow>(
      `SELECT ${ENTRY} FROM ${STREAM} WHERE s.id = ANY($1::bigint[]) ORDER BY s.id`,
      [ids],
    );
    return await this.#withLinks(rows);
  }

  async *settingEntries(after: number): AsyncGenerator<StreamEntry, void> {
    const rows = await this.#read<EntryRow>(
      `SELECT ${ENTRY} FROM ${STREAM} WHERE s.id > $1::bigint AND s.object1 = 'setting' ORDER BY s.id LIMIT ${PAGE_SIZE}`,
      [after],
    );
    yield* await this.#withLinks(rows);
  }

  async objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null> {
    const found = isKnownKind(kind) ? STORES[kind] : undefined;
    if (found === undefined || !this.#present.has(found.table)) return null;
    const { table, parent, name } = found;
    const key = parent === undefined ? 'id' : `${parent.replace('main_', '')}_ptr_id`;
    const [from, row] =
      parent === undefined
        ? [`${table} t`, 'to_jsonb(t)']
        : [`${parent} t JOIN ${table} c ON c.${key} = t.id`, 'to_jsonb(t) || to_jsonb(c)'];
    const objects = new Map<number, CurrentObject>();
    for (const batch of inBatches(ids, PAGE_SIZE)) {
      const rows = await this.#read<{ id: number; name: string | null; row: Record<string, unknown> }>(
        `SELECT t.id, t.${name} AS name, (${row}) - $2::text[] AS row FROM ${from} WHERE t.id = ANY($1::bigint[])`,
        [batch, WITHHELD],
      );
      for (const each of rows)
        objects.set(each.id, { id: each.id, name: each.name, fields: fieldsOf(each.row) });
    }
    return objects;
  }

  async settings(names: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const rows = await this.#read<{ key: string; value: unknown }>(
      'SELECT s.key, s.value FROM conf_setting s WHERE s.user_id IS NULL AND s.key = ANY($1::text[])',
      [names],
    );
    return new Map(rows.map(({ key, value }) => [key, value]));
  }

  async roles(ids: readonly number[]): Promise<ReadonlyMap<number, RoleRecord>> {
    if (!this.#present.has('main_rbac_roles')) return new Map();
    const rows = await this.#read<{
      id: number;
      field: string | null;
      model: string | null;
      object: number | null;
    }>(
      `SELECT r.id, coalesce(nullif(r.role_field, ''), r.singleton_name) AS field, c.model, r.object_id AS object
       FROM main_rbac_roles r LEFT JOIN django_content_type c ON c.id = r.content_type_id
       WHERE r.id = ANY($1::bigint[])`,
      [ids],
    );
    return new Map(
      rows.map(({ id, field, model, object }) => {
        const about =
          model === null || object === null ? null : { kind: kindOfModel(model), id: object, name: null };
        return [id, { id, field, about }];
      }),
    );
  }

  async hasRole(
    role: number,
    holder: { readonly kind: string; readonly id: number },
  ): Promise<boolean | null> {
    const query = ROLE_HOLDERS[holder.kind];
    if (query === undefined || !this.#present.has('main_rbac_roles_members')) return null;
    const [row] = await this.#read<{ has: boolean }>(`SELECT EXISTS (${query}) AS has`, [role, holder.id]);
    return row?.has ?? null;
  }

  async hasLink(link: string, object: ObjectReference, other: ObjectReference): Promise<boolean | null> {
    const [table, first, second] = LINK_TABLES[link] ?? [];
    if (table === undefined || !this.#present.has(table)) return null;
    const [row] = await this.#read<{ has: boolean }>(
      `SELECT EXISTS (SELECT FROM ${table} l WHERE l.${first} = $1::bigint AND l.${second} = $2::bigint) AS has`,
      [object.id, other.id],
    );
    return row?.has ?? null;
  }

  async *jobs(selector: JobSelector): AsyncGenerator<JobRecord, void> {
    if (!this.#present.has('main_unifiedjob')) return;
    const { createdBy, templateIds, scheduleIds, since, until } = selector;
    for (let after = 0; ; ) {
      const rows = await this.#read<JobRow>(`${JOBS_SQL} ORDER BY j.id LIMIT ${PAGE_SIZE}`, [
        ...[createdBy, templateIds, scheduleIds, since, until, after],
      ]);
      yield* rows.map(jobOf);
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE_SIZE) return;
      after = last.id;
    }
  }

  async extent(): Promise<{ readonly enabled: boolean | null; readonly oldest: Date | null }> {
    const [oldest] = await this.#read<{ at: number }>(
      `SELECT ${milliseconds('s.timestamp')} AS at FROM main_activitystream s ORDER BY s.id LIMIT 1`,
    );
    const set = await this.settings(['ACTIVITY_STREAM_ENABLED']);
    // A controller records activity unless this setting, or a file of its servers, says otherwise.
    return {
      enabled: set.get('ACTIVITY_STREAM_ENABLED') === false ? false : null,
      oldest: dateOrNull(oldest?.at ?? null),
    };
  }

  async withoutActor(
    window: Window,
  ): Promise<{ readonly count: number | null; readonly some: readonly StreamEntry[] }> {
    const { first, last } = await this.#bounds(window);
    const rows = await this.#read<EntryRow>(
      `SELECT ${ENTRY} FROM ${STREAM} WHERE s.id BETWEEN $1::bigint AND $2::bigint AND s.actor_id IS NULL
         AND s.deleted_actor IS NULL AND s.timestamp >= $3 AND s.timestamp < $4 ORDER BY s.id LIMIT ${MAX_WITHOUT_ACTOR}`,
      [first, last, window.since, window.until],
    );
    const count = rows.length < MAX_WITHOUT_ACTOR ? rows.length : null;
    return { count, some: await this.#withLinks(rows) };
  }

  close(): Promise<void> {
    return this.#connection.database.close();
  }

  #read<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#connection.read((database: Queryable) => database.query<Row>(sql, values));
  }
}

/** Users hold roles themselves; teams by their member role, a parent of the role. */
const ROLE_HOLDERS: Readonly<Record<string, string>> = {
  user: 'SELECT FROM main_rbac_roles_members m WHERE m.role_id = $1::bigint AND m.user_id = $2::bigint',
  team: `SELECT FROM main_rbac_roles_parents p JOIN main_team t ON t.member_role_id = p.to_role_id
    WHERE p.from_role_id = $1::bigint AND t.id = $2::bigint`,
};

/** The columns of a row in the names of the activity stream. */
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

function entryOf(row: EntryRow, links: Links): StreamEntry {
  const { id, operation, object1, object2, relationship, setting } = row;
  const username = row.actor ?? row.deleted;
  return {
    ...{ id, operation, object1, object2, relationship, setting, links },
    at: dateOf(row.at),
    actor: username === null ? null : { id: row.actor_id ?? row.deleted_id, username },
    changes: changesOf(row.changes),
  };
}

function changesOf(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}
