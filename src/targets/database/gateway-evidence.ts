import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type NameChange, nameChangesIn, type StreamEntry } from '../../domain/investigation/deed.ts';
import { gatewayModelOf, SYSTEM_USER, settingValue } from '../../domain/investigation/gateway-entries.ts';
import type { Actor } from '../../domain/investigation/investigation.ts';
import { GATEWAY_LISTED_KINDS } from '../../domain/investigation/kinds.ts';
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
} from '../../operations/ports/evidence.ts';
import { GatewayEvidenceGaps } from '../gateway-evidence-gaps.ts';
import { GatewayObjectNames } from '../gateway-object-names.ts';
import type { Connection } from './connection.ts';
import { readMissingEntries } from './evidence-lists.ts';
import { readAssignedRoles } from './evidence-roles.ts';
import { WITHHELD } from './evidence-tables.ts';
import { type GatewayEntryQuery, readGatewayEntries } from './gateway-evidence-entries.ts';
import { Conditions, dateOf, dateOrNull, inBatches, milliseconds, PAGE_SIZE } from './queries.ts';
import { TABLES } from './tables.ts';

const { activity, users, settings } = TABLES.gateway;

/** How many entries without an actor are read, and counted. */
const MAX_WITHOUT_ACTOR = 2000;

/** Where a gateway keeps one kind of object, and the column with its name. All values are constants. */
const STORES: Readonly<Record<string, readonly [table: string, name: string]>> = {
  user: [users, 'username'],
  organization: ['aap_gateway_api_organization', 'name'],
  team: ['aap_gateway_api_team', 'name'],
  o_auth2_access_token: [TABLES.gateway.accessTokens, 'description'],
  o_auth2_refresh_token: [TABLES.gateway.refreshTokens, 'id::text'],
  o_auth2_application: [TABLES.gateway.applications, 'name'],
  authenticator: ['dab_authentication_authenticator', 'name'],
  authenticator_map: ['dab_authentication_authenticatormap', 'name'],
  role_definition: ['dab_rbac_roledefinition', 'name'],
};

const ASSIGNMENTS = ['dab_rbac_roleuserassignment', 'dab_rbac_roleteamassignment'] as const;

/** Every table that an investigation reads. Authenticators and teams are left out where they are missing. */
const ALL_TABLES: readonly string[] = [
  ...new Set([
    ...[activity, settings, 'django_content_type', ...ASSIGNMENTS],
    ...Object.values(STORES).map(([table]) => table),
  ]),
];

/** What holds secrets in a gateway: it never leaves the database. */
const WITHHELD_COLUMNS = [...WITHHELD, 'configuration'];

/** The tables of a gateway for {@link readAssignedRoles}. */
const ROLE_TABLES = { users, teams: 'aap_gateway_api_team' } as const;

type OpenedEvidence = Evidence & { close(): Promise<void> };

/**
 * What a gateway's database keeps of what was done. The connection can only read.
 *
 * @throws TokenctlError `permission_refused` with the missing grant.
 */
export async function openGatewayEvidence(connection: Connection): Promise<OpenedEvidence> {
  const rows = await connection.read((database) =>
    database.query<{ name: string; readable: boolean; role: string }>(
      `SELECT w.name, has_table_privilege(to_regclass(w.name), 'SELECT') AS readable, quote_ident(current_user) AS role
       FROM unnest($1::text[]) AS w(name) WHERE to_regclass(w.name) IS NOT NULL ORDER BY w.name`,
      [ALL_TABLES],
    ),
  );
  const refused = rows.filter(({ readable }) => !readable).map(({ name }) => name);
  if (refused.length > 0) {
    const grant = `GRANT SELECT ON ${refused.join(', ')} TO ${rows[0]?.role ?? 'CURRENT_USER'}`;
    throw new TokenctlError(
      'permission_refused',
      `This role may not read ${refused.length} tables in ${connection.address}`,
      { hint: `Ask the database administrator to run \`${grant};\``, details: { grants: [grant] } },
    );
  }
  const names = await connection.read((database) =>
    database.query<{ id: number; name: string }>(`SELECT p.id, p.name FROM ${settings} p`),
  );
  return new GatewayEvidence(connection, {
    present: new Set(rows.map(({ name }) => name)),
    settingNames: new Map(names.map(({ id, name }) => [id, name])),
  });
}

class GatewayEvidence extends GatewayEvidenceGaps implements OpenedEvidence {
  readonly #connection: Connection;
  readonly #present: ReadonlySet<string>;
  readonly #settingNames: ReadonlyMap<number, string>;
  readonly #names = new GatewayObjectNames((kind, ids) => this.objects(kind, ids));

  constructor(
    connection: Connection,
    facts: { readonly present: ReadonlySet<string>; readonly settingNames: ReadonlyMap<number, string> },
  ) {
    super();
    this.#connection = connection;
    this.#present = facts.present;
    this.#settingNames = facts.settingNames;
  }

  deeds({ actorIds, ...window }: Window & { readonly actorIds: readonly number[] }) {
    return this.#pages(window, (conditions) =>
      conditions.add(actorIds, (ids) => `s.created_by_id = ANY(${ids}::bigint[])`),
    );
  }

  /** A gateway forgets the actor of a deleted user. What such a user made says who made it; most changes do not. */
  async *deedsOfDeleted({ users: deleted, ...window }: Window & { readonly users: readonly Actor[] }) {
    const byId = await this.#deletedUsers(deleted);
    if (byId.size === 0) return;
    const maker =
      "coalesce(s.changes->'added_fields'->>'created_by', s.changes->'changed_fields'->'modified_by'->>1)";
    const pages = this.#pages(
      window,
      (conditions) =>
        conditions
          .require('s.created_by_id IS NULL')
          .add([...byId.keys()], (ids) => `${maker} = ANY(${ids}::bigint[]::text[])`),
      (makerId) => (makerId === null ? null : (byId.get(makerId) ?? null)),
    );
    yield* pages;
  }

  /** The ids and last names of deleted users: by id, or by a name that one had when it was deleted. */
  async #deletedUsers(deleted: readonly Actor[]): Promise<ReadonlyMap<number, Actor>> {
    const rows = await this.#select<{ id: number; username: string }>(
      `SELECT DISTINCT s.object_id::bigint AS id, s.changes->'removed_fields'->>'username' AS username
       FROM ${activity} s JOIN django_content_type c ON c.id = s.content_type_id
       WHERE c.app_label = 'aap_gateway_api' AND c.model = 'user' AND s.operation = 'delete' AND s.object_id ~ '^[0-9]{1,15}$'
         AND (s.object_id = ANY($1::bigint[]::text[]) OR s.changes->'removed_fields'->>'username' = ANY($2::text[]))`,
      [
        deleted.flatMap(({ id }) => id ?? []),
        deleted.flatMap(({ id, username }) => (id === null ? [username] : [])),
      ],
    );
    return new Map(rows.map(({ id, username }) => [id, { id, username }]));
  }

  async nameChanges(since: Date): Promise<readonly NameChange[]> {
    const entries = this.#pages({ since, until: null }, (conditions) =>
      conditions.require(
        "c.model = 'user' AND (s.operation IN ('create', 'delete') OR s.changes->'changed_fields' ? 'username')",
      ),
    );
    return nameChangesIn(await Array.fromAsync(entries));
  }

  async *entriesAbout(selector: Parameters<Evidence['entriesAbout']>[0]) {
    const { kind, ids, after, notBy } = selector;
    for (const batch of inBatches(ids, 1000)) {
      yield* this.#pages(null, (conditions) =>
        conditions
          .add(after, (id) => `s.id > ${id}::bigint`)
          .add(gatewayModelOf(kind), (model) => `c.model = ${model}`)
          .add(batch, (some) => `s.object_id = ANY(${some}::bigint[]::text[])`)
          .add(notBy, (some) => `(s.created_by_id IS NULL OR s.created_by_id <> ALL(${some}::bigint[]))`),
      );
    }
  }

  async entries(ids: readonly number[]): Promise<readonly StreamEntry[]> {
    const entries = this.#pages(null, (conditions) =>
      conditions.add(ids, (some) => `s.id = ANY(${some}::bigint[])`),
    );
    return ids.length === 0 ? [] : await Array.fromAsync(entries);
  }

  settingEntries(after: number) {
    return this.#pages(null, (conditions) =>
      conditions.add(after, (id) => `s.id > ${id}::bigint`).require("c.model = 'preference'"),
    );
  }

  async objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null> {
    const [table, name] = STORES[kind] ?? [];
    if (table === undefined || name === undefined || !this.#present.has(table)) return null;
    const objects = new Map<number, CurrentObject>();
    for (const batch of inBatches(ids, PAGE_SIZE)) {
      const rows = await this.#select<{ id: number; name: string | null; row: Record<string, unknown> }>(
        `SELECT t.id, t.${name} AS name, to_jsonb(t) - $2::text[] AS row FROM ${table} t WHERE t.id = ANY($1::bigint[])`,
        [batch, WITHHELD_COLUMNS],
      );
      for (const each of rows) {
        objects.set(each.id, { id: each.id, name: each.name, fields: fieldsOf(each.row) });
      }
    }
    return objects;
  }

  async settings(names: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const rows = await this.#select<{ name: string; value: string | null }>(
      `SELECT p.name, p.raw_value AS value FROM ${settings} p WHERE p.name = ANY($1::text[])`,
      [names],
    );
    return new Map(rows.map(({ name, value }) => [name, settingValue(value)]));
  }

  async assignedRoles(selector: Parameters<Evidence['assignedRoles']>[0]): Promise<AssignedRoles | 'absent'> {
    if (!ASSIGNMENTS.every((table) => this.#present.has(table))) return 'absent';
    return await readAssignedRoles(this.#connection, selector, ROLE_TABLES);
  }

  async madeBy({ by, since, until }: Parameters<Evidence['madeBy']>[0]): Promise<ListedObjects> {
    const objects: ListedObject[] = [];
    const kinds = Object.entries(GATEWAY_LISTED_KINDS);
    const isPresent = (kind: string) => this.#present.has(STORES[kind]?.[0] ?? '');
    for (const [kind, field] of kinds) {
      const [table, name] = STORES[kind] ?? [];
      if (table === undefined || name === undefined || !isPresent(kind)) continue;
      const rows = await this.#select<ListedRow>(
        `SELECT t.id, t.${name} AS name, ${milliseconds('t.created')} AS created, ${milliseconds('t.modified')} AS modified,
           t.created_by_id, c.username AS creator, t.modified_by_id, m.username AS modifier
         FROM ${table} t LEFT JOIN ${users} c ON c.id = t.created_by_id LEFT JOIN ${users} m ON m.id = t.modified_by_id
         WHERE (t.created_by_id = ANY($1::bigint[]) AND t.created >= $2 AND t.created < $3)
           OR ($4 AND t.modified_by_id = ANY($1::bigint[]) AND t.modified >= $2 AND t.modified < $3) ORDER BY t.id`,
        [by, since, until, field !== null],
      );
      objects.push(...rows.map((row) => listedOf(kind, row)));
    }
    return { objects, unread: kinds.flatMap(([kind]) => (isPresent(kind) ? [] : [kind])) };
  }

  async usersMade({ since, until }: Window): Promise<readonly MadeUser[]> {
    const rows = await this.#select<{
      id: number;
      username: string;
      at: number;
      superuser: boolean;
      recorded: boolean;
    }>(
      `SELECT u.id, u.username, ${milliseconds('u.created')} AS at, u.is_superuser AS superuser,
         EXISTS (SELECT FROM ${activity} s JOIN django_content_type c ON c.id = s.content_type_id
           WHERE c.model = 'user' AND s.operation = 'create' AND s.object_id = u.id::text) AS recorded
       FROM ${users} u WHERE u.created >= $1 AND u.created < $2 ORDER BY u.id`,
      [since, until],
    );
    return rows.map(({ id, username, at, superuser, recorded }) => ({
      id,
      username,
      at: dateOf(at),
      isSuperuser: superuser,
      isRecorded: recorded,
    }));
  }

  async missingEntries(since: Date): Promise<MissingNumbers> {
    const [row] = await this.#select<{ first: number }>(
      `SELECT coalesce(max(s.id), 0) + 1 AS first FROM ${activity} s WHERE s.created < $1`,
      [since],
    );
    return await readMissingEntries(this.#connection, row?.first ?? 1);
  }

  /** A gateway runs none. */
  missingJobs(): Promise<MissingNumbers> {
    return Promise.resolve({ first: 1, last: 0, missing: 0, isEndKnown: true });
  }

  async extent(): Promise<StreamReach> {
    const [oldest] = await this.#select<{ at: number }>(
      `SELECT ${milliseconds('s.created')} AS at FROM ${activity} s ORDER BY s.id LIMIT 1`,
    );
    return { enabled: null, oldest: dateOrNull(oldest?.at ?? null), switched: null };
  }

  async withoutActor(
    window: Window,
  ): Promise<{ readonly count: number | null; readonly some: readonly StreamEntry[] }> {
    const conditions = new Conditions()
      .add(window.since, (at) => `s.created >= ${at}::timestamptz`)
      .add(window.until, (at) => `s.created < ${at}::timestamptz`)
      .add(SYSTEM_USER, (name) => `(s.created_by_id IS NULL OR u.username = ${name})`);
    const { entries: some, next } = await this.#read({
      conditions,
      limit: MAX_WITHOUT_ACTOR,
      newestFirst: true,
    });
    const named = await Array.fromAsync(this.#names.named(some));
    return { count: next === null ? some.length : null, some: named };
  }

  close(): Promise<void> {
    return this.#connection.database.close();
  }

  /**
   * Entries of a period, ascending by id, up to the last one that there is at the start.
   *
   * @param actorOf Whose entry it is, by who made its object, where the entry has no actor.
   */
  async *#pages(
    window: { readonly since: Date; readonly until: Date | null } | null,
    restrict: (conditions: Conditions) => Conditions,
    actorOf?: (maker: number | null) => Actor | null,
  ): AsyncGenerator<StreamEntry, void> {
    const [end] = await this.#select<{ last: number | null }>(`SELECT max(s.id) AS last FROM ${activity} s`);
    for (let after = 0; ; ) {
      const conditions = restrict(
        new Conditions()
          .add(after, (id) => `s.id > ${id}::bigint`)
          .add(end?.last ?? 0, (id) => `s.id <= ${id}::bigint`)
          .add(window?.since, (at) => `s.created >= ${at}::timestamptz`)
          .add(window?.until ?? undefined, (at) => `s.created < ${at}::timestamptz`),
      );
      const { entries, next } = await this.#read({ conditions, limit: PAGE_SIZE, actorOf });
      yield* this.#names.named(entries);
      if (next === null) return;
      after = next;
    }
  }

  #read(query: Omit<GatewayEntryQuery, 'settingNames'>) {
    return readGatewayEntries(this.#connection, { ...query, settingNames: this.#settingNames });
  }

  #select<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#connection.read((database: Queryable) => database.query<Row>(sql, values));
  }
}

/** Times in milliseconds. */
interface ListedRow {
  readonly id: number;
  readonly name: string | null;
  readonly created: number;
  readonly modified: number;
  readonly created_by_id: number | null;
  readonly creator: string | null;
  readonly modified_by_id: number | null;
  readonly modifier: string | null;
}

function listedOf(kind: string, row: ListedRow): ListedObject {
  const actor = (id: number | null, username: string | null) =>
    id === null ? null : { id, username: username ?? '' };
  return {
    kind,
    id: row.id,
    name: row.name,
    created: dateOf(row.created),
    modified: dateOf(row.modified),
    createdBy: actor(row.created_by_id, row.creator),
    modifiedBy: actor(row.modified_by_id, row.modifier),
  };
}

/** The columns of a row in the names of the activity stream. */
function fieldsOf(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = Object.entries(row).map(([name, value]) => [name.replace(/_id$/, ''), value] as const);
  // `client_id` is a value, and no reference.
  return { ...Object.fromEntries(named), ...('client_id' in row && { client_id: row['client_id'] }) };
}
