import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { type NameChange, nameChangesIn, type StreamEntry } from '../../../domain/investigation/deed.ts';
import { gatewayModelOf, SYSTEM_USER, settingValue } from '../../../domain/investigation/gateway-entries.ts';
import type { Actor } from '../../../domain/investigation/investigation.ts';
import { GATEWAY_LISTED_KINDS } from '../../../domain/investigation/kinds.ts';
import type {
  AssignedRoles,
  CurrentObject,
  Evidence,
  ListedObject,
  ListedObjects,
  MadeUser,
  MissingNumbers,
  StreamReach,
  Window,
} from '../../../operations/ports/evidence.ts';
import { GatewayEvidenceGaps } from '../../gateway-evidence-gaps.ts';
import { GatewayObjectNames } from '../../gateway-object-names.ts';
import type { Connection } from '../connection.ts';
import { allOf, dateOrNull, inBatches, milliseconds, PAGE_SIZE, when } from '../queries.ts';
import { NAME_TABLES } from '../required-rights.ts';
import { TABLES } from '../tables.ts';
import {
  type ListedRow,
  listedOf,
  MAKING,
  madeOrChanged,
  makersOf,
  type ObjectRow,
  readMissingEntries,
  readOldestUser,
  type UserMadeRow,
  userMadeOf,
} from './evidence-lists.ts';
import { readAssignedRoles, readRoleHolders } from './evidence-roles.ts';
import { readableTables, WITHHELD } from './evidence-tables.ts';
import { type GatewayEntryQuery, readGatewayEntries } from './gateway-evidence-entries.ts';

const { activity, users, settings } = TABLES.gateway;

/** How many entries without an actor are read and counted. */
const MAX_WITHOUT_ACTOR = 2000;

/** Where a gateway stores one kind of object, and the column with its name. All values are constants. */
export const GATEWAY_STORES: Readonly<Record<string, readonly [table: Sql, name: Sql]>> = {
  user: [users, sql`t.username`],
  organization: [sql`aap_gateway_api_organization`, sql`t.name`],
  team: [sql`aap_gateway_api_team`, sql`t.name`],
  o_auth2_access_token: [TABLES.gateway.accessTokens, sql`t.description`],
  o_auth2_refresh_token: [TABLES.gateway.refreshTokens, sql`t.id::text`],
  o_auth2_application: [TABLES.gateway.applications, sql`t.name`],
  authenticator: [sql`dab_authentication_authenticator`, sql`t.name`],
  authenticator_map: [sql`dab_authentication_authenticatormap`, sql`t.name`],
  role_definition: [sql`dab_rbac_roledefinition`, sql`t.name`],
};

const ASSIGNMENTS = ['dab_rbac_roleuserassignment', 'dab_rbac_roleteamassignment'] as const;

/** Every table that an investigation reads. Authenticators and teams are omitted if they are missing. */
const ALL_TABLES: readonly string[] = [
  ...new Set([
    ...[activity.text, settings.text, 'django_content_type', ...ASSIGNMENTS],
    ...Object.values(GATEWAY_STORES).map(([table]) => table.text),
  ]),
];

/** Columns of a gateway that contain secrets. They never leave the database. */
const WITHHELD_COLUMNS = [...WITHHELD, 'configuration'];

/** A gateway's tables for {@link readAssignedRoles}. */
const ROLE_TABLES = { users, teams: sql`aap_gateway_api_team` } as const;

type OpenedEvidence = Evidence & { close(): Promise<void> };

/** Opens a gateway's database for an investigation. Only reads. Throws `permission_refused`. */
export async function openGatewayEvidence(
  connection: Connection,
  namesOnly: boolean,
): Promise<OpenedEvidence> {
  const present = await readableTables(connection, namesOnly ? NAME_TABLES.gateway : ALL_TABLES);
  const names = await sql`SELECT p.id, p.name
    FROM ${settings} p`.rows<{ id: number; name: string }>(connection.reader);
  return new GatewayEvidence(connection, {
    present,
    settingNames: new Map(names.map(({ id, name }) => [id, name])),
  });
}

class GatewayEvidence extends GatewayEvidenceGaps implements OpenedEvidence {
  readonly #connection: Connection;
  readonly #reader: Queryable;
  readonly #present: ReadonlySet<string>;
  readonly #settingNames: ReadonlyMap<number, string>;
  readonly #names = new GatewayObjectNames((kind, ids) => this.objects(kind, ids));

  constructor(
    connection: Connection,
    facts: { readonly present: ReadonlySet<string>; readonly settingNames: ReadonlyMap<number, string> },
  ) {
    super();
    this.#connection = connection;
    this.#reader = connection.reader;
    this.#present = facts.present;
    this.#settingNames = facts.settingNames;
  }

  deeds({ actorIds, ...window }: Window & { actorIds: readonly number[] }) {
    return this.#pages(window, sql`s.created_by_id = ANY(${actorIds}::bigint[])`);
  }

  /** A gateway forgets the actor of a deleted user. Only objects created by such a user still show the creator. */
  async *deedsOfDeleted({ users: deleted, ...window }: Window & { users: readonly Actor[] }) {
    const byId = await this.#deletedUsers(deleted);
    if (byId.size === 0) return;
    const maker = sql`coalesce(s.changes->'added_fields'->>'created_by',
      s.changes->'changed_fields'->'modified_by'->>1)`;
    yield* this.#pages(
      window,
      sql`s.created_by_id IS NULL AND ${maker} = ANY(${[...byId.keys()]}::bigint[]::text[])`,
      (makerId) => (makerId === null ? null : (byId.get(makerId) ?? null)),
    );
  }

  /** The ids and last names of deleted users, matched by id or by their name at deletion. */
  async #deletedUsers(deleted: readonly Actor[]): Promise<ReadonlyMap<number, Actor>> {
    const ids = deleted.flatMap(({ id }) => id ?? []);
    const names = deleted.flatMap(({ id, username }) => (id === null ? [username] : []));
    const rows = await sql`SELECT DISTINCT s.object_id::bigint AS id,
          s.changes->'removed_fields'->>'username' AS username
        FROM ${activity} s JOIN django_content_type c ON c.id = s.content_type_id
        WHERE c.app_label = 'aap_gateway_api' AND c.model = 'user' AND s.operation = 'delete'
          AND s.object_id ~ '^[0-9]{1,15}$' AND (s.object_id = ANY(${ids}::bigint[]::text[])
            OR s.changes->'removed_fields'->>'username'
              = ANY(${names}::text[]))`.rows<{ id: number; username: string }>(this.#reader);
    return new Map(rows.map(({ id, username }) => [id, { id, username }]));
  }

  async nameChanges(since: Date): Promise<readonly NameChange[]> {
    const entries = this.#pages(
      { since, until: null },
      sql`c.model = 'user'
        AND (s.operation IN ('create', 'delete') OR s.changes->'changed_fields' ? 'username')`,
    );
    return nameChangesIn(await Array.fromAsync(entries));
  }

  async *entriesAbout(selector: Parameters<Evidence['entriesAbout']>[0]) {
    const { kind, ids, after, notBy } = selector;
    for (const batch of inBatches(ids, 1000)) {
      yield* this.#pages(
        null,
        allOf(
          sql`s.id > ${after}::bigint`,
          sql`c.model = ${gatewayModelOf(kind)}`,
          sql`s.object_id = ANY(${batch}::bigint[]::text[])`,
          when(notBy, (some) => sql`(s.created_by_id IS NULL OR s.created_by_id <> ALL(${some}::bigint[]))`),
        ),
      );
    }
  }

  async entries(ids: readonly number[]): Promise<readonly StreamEntry[]> {
    const entries = this.#pages(null, sql`s.id = ANY(${ids}::bigint[])`);
    return ids.length === 0 ? [] : await Array.fromAsync(entries);
  }

  settingEntries(after: number) {
    return this.#pages(null, sql`s.id > ${after}::bigint AND c.model = 'preference'`);
  }

  async objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null> {
    const [table, name] = GATEWAY_STORES[kind] ?? [];
    if (table === undefined || name === undefined || !this.#present.has(table.text)) return null;
    const objects = new Map<number, CurrentObject>();
    for (const batch of inBatches(ids, PAGE_SIZE)) {
      const rows = await sql`SELECT t.id, ${name} AS name, to_jsonb(t) - ${WITHHELD_COLUMNS}::text[] AS row
          FROM ${table} t WHERE t.id = ANY(${batch}::bigint[])`.rows<ObjectRow>(this.#reader);
      for (const each of rows) {
        objects.set(each.id, { id: each.id, name: each.name, fields: fieldsOf(each.row) });
      }
    }
    return objects;
  }

  async settings(names: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const rows = await sql`SELECT p.name, p.raw_value AS value FROM ${settings} p
      WHERE p.name = ANY(${names}::text[])`.rows<{ name: string; value: string | null }>(this.#reader);
    return new Map(rows.map(({ name, value }) => [name, settingValue(value)]));
  }

  async assignedRoles(selector: Parameters<Evidence['assignedRoles']>[0]): Promise<AssignedRoles | 'absent'> {
    if (!ASSIGNMENTS.every((table) => this.#present.has(table))) return 'absent';
    return await readAssignedRoles(this.#connection, selector, ROLE_TABLES);
  }

  roleHolders(held: Parameters<Evidence['roleHolders']>[0]): ReturnType<Evidence['roleHolders']> {
    const newer = ASSIGNMENTS.every((table) => this.#present.has(table));
    if (!newer) return Promise.resolve(null);
    return readRoleHolders(this.#connection, held, { older: false, newer, tables: ROLE_TABLES });
  }

  async madeBy(asked: Parameters<Evidence['madeBy']>[0]): Promise<ListedObjects> {
    const objects: ListedObject[] = [];
    const kinds = Object.entries(GATEWAY_LISTED_KINDS);
    const { made, changed } = madeOrChanged(asked);
    const isPresent = (kind: string) => this.#present.has(GATEWAY_STORES[kind]?.[0].text ?? '');
    for (const [kind, field] of kinds) {
      const [table, name] = GATEWAY_STORES[kind] ?? [];
      if (table === undefined || name === undefined || !isPresent(kind)) continue;
      const rows = await sql`SELECT t.id, ${name} AS name, ${MAKING} FROM ${table} t ${makersOf(users)}
          WHERE (${made}) OR (${field !== null} AND ${changed})
          ORDER BY t.id`.rows<Omit<ListedRow, 'kind'>>(this.#reader);
      objects.push(...rows.map((row) => listedOf({ kind, ...row })));
    }
    return { objects, unread: kinds.flatMap(([kind]) => (isPresent(kind) ? [] : [kind])) };
  }

  async usersMade({ since, until }: Window): Promise<readonly MadeUser[]> {
    const rows = await sql`SELECT u.id, u.username, ${milliseconds(sql`u.created`)} AS at,
          u.is_superuser AS "isSuperuser",
          EXISTS (SELECT FROM ${activity} s JOIN django_content_type c ON c.id = s.content_type_id
            WHERE c.model = 'user' AND s.operation = 'create' AND s.object_id = u.id::text) AS "isRecorded"
        FROM ${users} u WHERE u.created >= ${since} AND u.created < ${until}
        ORDER BY u.id`.rows<UserMadeRow>(this.#reader);
    return rows.map(userMadeOf);
  }

  async missingEntries(since: Date): Promise<MissingNumbers> {
    const row = await sql`SELECT coalesce(max(s.id), 0) + 1 AS first FROM ${activity} s
      WHERE s.created < ${since}`.first<{ first: number }>(this.#reader);
    return await readMissingEntries(this.#connection, row?.first ?? 1);
  }

  async extent(): Promise<StreamReach> {
    const end = async (order: Sql) => {
      const row = await sql`SELECT ${milliseconds(sql`s.created`)} AS at FROM ${activity} s
        ORDER BY s.id ${order} LIMIT 1`.first<{ at: number }>(this.#reader);
      return dateOrNull(row?.at ?? null);
    };
    const ends = { oldest: await end(sql`ASC`), newest: await end(sql`DESC`) };
    return { enabled: null, ...ends, oldestUser: await readOldestUser(this.#connection), switched: null };
  }

  async withoutActor(window: Window) {
    const where = allOf(
      sql`s.created >= ${window.since}::timestamptz`,
      when(window.until, (at) => sql`s.created < ${at}::timestamptz`),
      sql`(s.created_by_id IS NULL OR u.username = ${SYSTEM_USER})`,
    );
    const { entries: some, next } = await this.#read({ where, limit: MAX_WITHOUT_ACTOR, newestFirst: true });
    const named = await Array.fromAsync(this.#names.named(some));
    return { count: next === null ? some.length : null, some: named };
  }

  close(): Promise<void> {
    return this.#connection.database.close();
  }

  /**
   * Entries of a period, ascending by id, up to the last one at the start.
   * @param actorOf The actor of an entry without one, derived from its object's creator.
   */
  async *#pages(
    window: { readonly since: Date; readonly until: Date | null } | null,
    condition: Sql,
    actorOf?: (maker: number | null) => Actor | null,
  ): AsyncGenerator<StreamEntry, void> {
    const end = await sql`SELECT max(s.id) AS last
      FROM ${activity} s`.first<{ last: number | null }>(this.#reader);
    for (let after = 0; ; ) {
      const where = allOf(
        sql`s.id > ${after}::bigint`,
        sql`s.id <= ${end?.last ?? 0}::bigint`,
        when(window?.since, (at) => sql`s.created >= ${at}::timestamptz`),
        when(window?.until, (at) => sql`s.created < ${at}::timestamptz`),
        condition,
      );
      const { entries, next } = await this.#read({ where, limit: PAGE_SIZE, actorOf });
      yield* this.#names.named(entries);
      if (next === null) return;
      after = next;
    }
  }

  #read(query: Omit<GatewayEntryQuery, 'settingNames'>) {
    return readGatewayEntries(this.#connection, { ...query, settingNames: this.#settingNames });
  }
}

/** The columns of a row, named as in the activity stream. */
function fieldsOf(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = Object.entries(row).map(([name, value]) => [name.replace(/_id$/, ''), value] as const);
  // `client_id` is a value, not a reference.
  return { ...Object.fromEntries(named), ...('client_id' in row && { client_id: row['client_id'] }) };
}
