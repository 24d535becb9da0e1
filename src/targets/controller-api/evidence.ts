import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { type NameChange, nameChangesIn, type StreamEntry } from '../../domain/investigation/deed.ts';
import type { Actor, AssignedRole, ObjectReference } from '../../domain/investigation/investigation.ts';
import {
  definedRoleField,
  isKnownKind,
  kindOf,
  linkPath,
  objectPath,
} from '../../domain/investigation/kinds.ts';
import type {
  CurrentObject,
  Evidence,
  JobSelector,
  ListedObjects,
  MadeUser,
  MissingNumbers,
  RoleAssignment,
  RoleHolder,
  RoleRecord,
  StreamReach,
  Window,
} from '../../operations/ports/evidence.ts';
import { PATIENCE, type Patience } from '../../operations/ports/target-parts.ts';
import type { Api, Query } from './api.ts';
import type { ConnectionOptions } from './connection.ts';
import { openApi } from './controller-api.ts';
import {
  countMissingEntries,
  endsOf,
  listById,
  listMadeBy,
  listUsersMade,
  oldestUserOf,
  orMissing,
} from './evidence-lists.ts';
import {
  accessList,
  assignments,
  currentObject,
  currentObjects,
  DEFINITIONS,
  JOBS,
  ROLES,
  STREAM,
} from './evidence-records.ts';
import { countIn, listItems, newestItems, orOthers } from './listing.ts';
import { listFilter, queryString, within } from './queries.ts';
import { orNull } from './responses.ts';
import { readDefaults } from './setting-defaults.ts';

export interface ApiEvidenceOptions extends ConnectionOptions {
  readonly component?: 'gateway' | 'controller' | undefined;
}

/** For how many jobs hosts are counted. Each takes a request. */
const MAX_HOSTS_READ = 100;
/** A name that has the same form in stored JSON text. */
const PLAIN_NAME = /^[\w.@+-]+$/;
/** How many objects without a list are read. Each takes a request. */
const MAX_SINGLE = 200;
/** How many entries without an actor are read: ten pages. */
const MAX_WITHOUT_ACTOR = 2000;

/** The setting that turns the activity stream of a controller on. */
const STREAM_SWITCH = 'ACTIVITY_STREAM_ENABLED';

/** Opens a controller's REST API for an investigation. Uses GET only, sends nothing yet. Throws `configuration`. */
export function openApiEvidence(options: ApiEvidenceOptions): Evidence & { close(): Promise<void> } {
  const { open, close } = openApi(options, options.component);
  return new ApiEvidence(open, close);
}

class ApiEvidence implements Evidence {
  readonly #open: () => Promise<Api>;
  readonly close: () => Promise<void>;

  constructor(open: () => Promise<Api>, close: () => Promise<void>) {
    this.#open = open;
    this.close = close;
  }

  deeds({ actorIds, ...window }: Window & { actorIds: readonly number[] }) {
    return this.#stream(
      listFilter('actor__id', actorIds.map(String)).map((actors) => [...periodOf(window), ...actors]),
    );
  }

  /** The API shows a deleted actor with its last name and no id. These entries are matched by name. */
  async *deedsOfDeleted({ users, ...window }: Window & { users: readonly Actor[] }) {
    const names = new Set(users.map(({ username }) => username));
    const ids = new Set(users.flatMap(({ id }) => id ?? []));
    for (const { changes } of ids.size === 0 ? [] : await this.#deletedUsers(window)) {
      const { id: deletedId, username } = changes;
      if (typeof deletedId === 'number' && ids.has(deletedId) && typeof username === 'string')
        names.add(username);
    }
    const some: Query = [...periodOf(window), ['actor__isnull', 'true']];
    const byName = [...names].map((name): Query => [...some, ['deleted_actor__icontains', name]]);
    const isPlain = [...names].every((name) => PLAIN_NAME.test(name));
    const seen = new Set<number>();
    // A controller 24.6.1 has this filter [seen].
    const named = this.#stream(isPlain ? byName : [some]);
    for await (const entry of orOthers(named, () => this.#stream([some]))) {
      if (entry.actor === null || !names.has(entry.actor.username) || seen.has(entry.id)) continue;
      seen.add(entry.id);
      yield entry;
    }
  }

  /** The entries about deleted users, from the start of a period until now. */
  async #deletedUsers({ since }: Window): Promise<readonly StreamEntry[]> {
    const query: Query = [
      ['timestamp__gte', since.toISOString()],
      ['operation', 'delete'],
      ['object1', 'user'],
    ];
    return await Array.fromAsync(this.#stream([query]));
  }

  async *entriesAbout(selector: Parameters<Evidence['entriesAbout']>[0]): AsyncGenerator<StreamEntry, void> {
    const { kind, ids, after, notBy } = selector;
    if (!isKnownKind(kind) || kind === 'setting' || ids.length === 0) return;
    const queries = listFilter(`${kind}__id`, ids.map(String));
    const others: Query = notBy.length === 0 ? [] : [['not__actor__id__in', notBy.join(',')]];
    yield* this.#stream(queries.map((objects) => [...objects, ...others, ['id__gt', String(after)]]));
  }

  async nameChanges(since: Date): Promise<readonly NameChange[]> {
    const query: Query = [
      ['timestamp__gte', since.toISOString()],
      ['object1', 'user'],
    ];
    return nameChangesIn(await Array.fromAsync(this.#stream([query])));
  }

  async entries(ids: readonly number[]): Promise<readonly StreamEntry[]> {
    if (ids.length === 0) return [];
    return await Array.fromAsync(this.#stream(listFilter('id', ids.map(String))));
  }

  settingEntries(after: number) {
    return this.#stream([
      [
        ['object1', 'setting'],
        ['id__gt', String(after)],
      ],
    ]);
  }

  async objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null> {
    const known = kindOf(kind);
    if (known?.path === undefined || kind === 'setting') return null;
    const { path } = known;
    if (known.isUnlisted === true) return await this.#single(path, ids);
    return await orMissing(async () => await listById(await this.#open(), ids, currentObjects(path)));
  }

  /** Objects without a list, by id; null if there are more than are read one by one. */
  async #single(path: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null> {
    if (ids.length > MAX_SINGLE) return null;
    const found = new Map<number, CurrentObject>();
    for (const each of ids) {
      const place = `${path}/${each}/`;
      const body = await orNull(['not_found'], () => this.#get(place, place));
      const object = currentObject.safeParse(body).data;
      if (object !== undefined) found.set(each, object);
    }
    return found;
  }

  async settings(names: readonly string[], patience?: Patience) {
    const body = await this.#get('settings/all/', 'the settings', patience);
    const all = z.record(z.string(), z.unknown()).safeParse(body).data;
    if (all === undefined) return null;
    return new Map(names.filter((name) => Object.hasOwn(all, name)).map((name) => [name, all[name]]));
  }

  async settingDefaults(settings: readonly { readonly name: string; readonly category: string | null }[]) {
    const byCategory = Map.groupBy(settings, ({ category }) => category);
    const found = new Map<string, { readonly value: unknown }>();
    for (const [category, some] of byCategory) {
      const defaults = await readDefaults(await this.#open(), category);
      for (const { name } of some) if (defaults.has(name)) found.set(name, { value: defaults.get(name) });
    }
    return found;
  }

  async roles(ids: readonly number[]): Promise<ReadonlyMap<number, RoleRecord>> {
    return (await orMissing(async () => await listById(await this.#open(), ids, ROLES))) ?? new Map();
  }

  async assignedRoles({ by, ...window }: Window & { by: readonly number[] }) {
    const [made, changed] = [within('created', window), within('modified', window)];
    const some = (field: string, more: Query) =>
      listFilter(field, by.map(String)).map((filter) => [...more, ...filter]);
    const api = await this.#open();
    const found: RoleAssignment[] = [];
    let unattributed = 0;
    return await orMissing(async () => {
      for (const kind of ['role_user_assignment', 'role_team_assignment'] as const) {
        const queries = some('created_by__id', made);
        found.push(...(await Array.fromAsync(listItems(api, queries, assignments(kind)))));
        const query: Query = [...made, ['created_by__isnull', 'true']];
        unattributed += (await this.#count(`${kind}s/`, query, 'the list of role assignments')) ?? 0;
      }
      const defined = [
        ...some('created_by__id', [['managed', 'false'], ...made]),
        ...some('modified_by__id', [['managed', 'false'], ...changed]),
      ];
      const definitions = await Array.fromAsync(listItems(api, defined, DEFINITIONS));
      const distinct = new Map(definitions.map((each) => [each.id, each]));
      return { assignments: found, definitions: [...distinct.values()], unattributed };
    });
  }

  async madeBy(selector: Parameters<Evidence['madeBy']>[0]): Promise<ListedObjects> {
    return await listMadeBy(await this.#open(), selector);
  }

  async usersMade(window: Window): Promise<readonly MadeUser[] | null> {
    return await listUsersMade(await this.#open(), window);
  }

  async missingEntries(since: Date): Promise<MissingNumbers | null> {
    return await countMissingEntries(await this.#open(), since);
  }

  /** It is unknown whether the list has jobs of all kinds: any that it omits would count as missing. */
  missingJobs = () => Promise.resolve(null);

  async hasRole(roleId: number, holder: { readonly kind: string; readonly id: number }) {
    const holders = holder.kind === 'user' ? 'users' : holder.kind === 'team' ? 'teams' : null;
    if (holders === null) return null;
    const query: Query = [['id', String(holder.id)]];
    const count = await this.#count(`roles/${roleId}/${holders}/`, query, 'the members of a role');
    return count === null ? null : count > 0;
  }

  async hasAssignment({ definition, holder, about }: AssignedRole): Promise<boolean | null> {
    const query: Query = [
      [`${holder.kind}__id`, String(holder.id)],
      ['role_definition__id', String(definition)],
      about === null ? ['object_id__isnull', 'true'] : ['object_id', String(about)],
    ];
    const count = await this.#count(
      `role_${holder.kind}_assignments/`,
      query,
      'the list of role assignments',
    );
    return count === null ? null : count > 0;
  }

  /** Combines the users with access and the new roles, which a controller 24.6.1 lists separately. */
  async roleHolders({ kind, id }: Parameters<Evidence['roleHolders']>[0]): Promise<RoleHolder[] | null> {
    const path = objectPath(kind, id)?.replace('/api/v2/', '');
    if (path === undefined) return null;
    const api = await this.#open();
    const listed = await orMissing(() => Array.fromAsync(listItems(api, [[]], accessList(path))));
    if (listed === null) return null;
    const found = listed.flatMap(({ holders }) => holders);
    for (const list of ['role_user_assignment', 'role_team_assignment'] as const) {
      const query: Query = [['object_id', String(id)]];
      const all = await orMissing(() => Array.fromAsync(listItems(api, [query], assignments(list))));
      for (const { about, holder, definition } of all ?? []) {
        if (about?.kind !== kind || about.id !== id) continue;
        const role = definition.managed ? definedRoleField(definition.name) : definition.name;
        found.push({ holder: `${holder.kind === 'team' ? 'team ' : ''}${holder.name}`, role });
      }
    }
    return found;
  }

  async hasLink(link: string, object: ObjectReference, other: ObjectReference): Promise<boolean | null> {
    const path = object.id === null ? null : linkPath(link, { kind: object.kind, id: object.id });
    if (path === null || other.id === null) return null;
    const query: Query = [['id', String(other.id)]];
    const count = await this.#count(path.replace('/api/v2/', ''), query, 'the links of an object');
    return count === null ? null : count > 0;
  }

  async *jobs({ createdBy, templateIds, scheduleIds, ...window }: JobSelector) {
    const period = within('created', window);
    const some = (field: string, ids: readonly number[]) =>
      listFilter(field, ids.map(String)).map((filter) => [...period, ...filter]);
    const queries = [
      ...some('created_by__id', createdBy),
      ...some('unified_job_template__id', templateIds),
      ...some('schedule__id', scheduleIds),
    ];
    let counted = 0;
    for await (const each of listItems(await this.#open(), queries, JOBS)) {
      const counts = each.kind === 'job' && counted < MAX_HOSTS_READ;
      if (counts) counted += 1;
      yield counts
        ? {
            ...each,
            hosts: await this.#count(`jobs/${each.id}/job_host_summaries/`, [], 'the hosts of a job'),
          }
        : each;
    }
  }

  async extent(window: Window): Promise<StreamReach> {
    const api = await this.#open();
    const ends = await endsOf(api, STREAM);
    const [enabled, switched] = [await this.#enabled(), await this.#switched(window)];
    return { enabled, ...ends, oldestUser: await oldestUserOf(api), switched };
  }

  /** When the stream was first turned on or off in a period. A controller 24.6.1 records this only sometimes. */
  async #switched(window: Window): Promise<Date | null> {
    for await (const { setting, at } of this.#stream([[...periodOf(window), ['object1', 'setting']]])) {
      if (setting === STREAM_SWITCH) return at;
    }
    return null;
  }

  /** Null if the settings are unreadable for any reason: only a remark needs them. */
  async #enabled(): Promise<boolean | null> {
    try {
      const enabled = (await this.settings([STREAM_SWITCH], PATIENCE))?.get(STREAM_SWITCH);
      return typeof enabled === 'boolean' ? enabled : null;
    } catch (error) {
      if (error instanceof TokenctlError && error.code !== 'interrupted') return null;
      throw error;
    }
  }

  async withoutActor(window: Window) {
    const query: Query = [...periodOf(window), ['actor__isnull', 'true']];
    const newest = await newestItems(await this.#open(), query, { ...STREAM, max: MAX_WITHOUT_ACTOR });
    const some = newest.items.filter(({ actor }) => actor === null);
    return { count: newest.isWhole ? some.length : null, some };
  }

  async *#stream(queries: readonly Query[]): AsyncGenerator<StreamEntry, void> {
    yield* listItems(await this.#open(), queries, STREAM);
  }

  async #get(path: string, what: string, patience?: Patience): Promise<unknown> {
    return await (await this.#open()).getJson(path, what, patience);
  }

  async #count(path: string, query: Query, what: string): Promise<number | null> {
    return await orMissing(async () => {
      const body = await this.#get(`${path}?${queryString([...query, ['page_size', '1']])}`, what);
      return countIn(body);
    });
  }
}

function periodOf(window: Window): Query {
  return within('timestamp', window);
}
