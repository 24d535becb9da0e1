import { z } from 'zod';
import { type NameChange, nameChangesIn, type StreamEntry } from '../../domain/investigation/deed.ts';
import {
  type GatewayEntry,
  gatewayModelOf,
  recordedMaker,
  SYSTEM_USER,
  settingValue,
  streamEntryOf,
} from '../../domain/investigation/gateway-entries.ts';
import type { Actor } from '../../domain/investigation/investigation.ts';
import { GATEWAY_LISTED_KINDS, kindOf } from '../../domain/investigation/kinds.ts';
import type {
  CurrentObject,
  Evidence,
  ListedObject,
  ListedObjects,
  MadeUser,
  MissingNumbers,
  StreamReach,
  Window,
} from '../../operations/ports/evidence.ts';
import type { Patience } from '../../operations/ports/target-parts.ts';
import { GatewayEvidenceGaps } from '../gateway-evidence-gaps.ts';
import { GatewayObjectNames } from '../gateway-object-names.ts';
import { type Api, id, instant, namedUser, type Query } from './api.ts';
import { openApi } from './controller-api.ts';
import type { ApiEvidenceOptions } from './evidence.ts';
import { endsOf, listById, MADE_USERS, oldestUserOf, orMissing } from './evidence-lists.ts';
import { assignments, currentObjects, DEFINITIONS } from './evidence-records.ts';
import { type Listing, listItems, listOf, newestItems, orOthers } from './listing.ts';
import { listFilter, queryString, within } from './queries.ts';

/** How many entries without an actor are read. */
const MAX_WITHOUT_ACTOR = 2000;

const fields = z.record(z.string(), z.unknown()).nullable().catch(null);

const streamEntry = z
  .object({
    id,
    created: instant,
    operation: z.string(),
    object_id: z.string().nullish(),
    content_type_model: z.string().nullish(),
    related_content_type_model: z.string().nullish(),
    related_object_id: z.string().nullish(),
    related_field_name: z.string().nullish(),
    changes: fields,
    summary_fields: z.object({ created_by: namedUser.nullish().catch(null) }).catch({ created_by: null }),
  })
  .transform(
    (body): GatewayEntry => ({
      id: body.id,
      at: body.created,
      operation: body.operation,
      actor: body.summary_fields.created_by ?? null,
      model: body.content_type_model ?? '',
      objectId: body.object_id ?? null,
      relatedModel: body.related_content_type_model ?? '',
      relatedId: body.related_object_id ?? null,
      relatedField: body.related_field_name ?? '',
      changes: body.changes ?? {},
    }),
  );

/** A gateway's activity stream as stored. */
const STREAM = listOf('activitystream/', 'the activity stream', streamEntry);

const maker = namedUser.nullish().catch(null);
const summary = z.object({ created_by: maker, modified_by: maker });

const listed = z
  .object({ id, name: z.string(), created: instant, modified: instant, summary_fields: summary })
  .transform(({ summary_fields: of, ...body }) => ({
    ...body,
    createdBy: of.created_by ?? null,
    modifiedBy: of.modified_by ?? null,
  }));

/** A list whose objects show who created and last changed them. */
function madeObjects(kind: string): Listing<ListedObject> {
  const path = `${kindOf(kind)?.path}/`;
  return listOf(
    path,
    `the list ${path}`,
    listed.transform((body) => ({ kind, ...body })),
  );
}

/**
 * Opens a platform gateway's REST API for an investigation. Sends nothing yet, and later only GET requests.
 * With a token of scope write, each of them adds an entry to the activity stream, as any request does there.
 * @throws TokenctlError `configuration` for an invalid address or credential.
 */
export function openGatewayApiEvidence(options: ApiEvidenceOptions): Evidence & { close(): Promise<void> } {
  const { open, close } = openApi(options, 'gateway');
  return new GatewayApiEvidence(open, close);
}

class GatewayApiEvidence extends GatewayEvidenceGaps implements Evidence {
  readonly #open: () => Promise<Api>;
  readonly close: () => Promise<void>;
  #settingNames: Promise<ReadonlyMap<number, string>> | undefined;
  readonly #objectNames = new GatewayObjectNames((kind, ids) => this.objects(kind, ids));

  constructor(open: () => Promise<Api>, close: () => Promise<void>) {
    super();
    this.#open = open;
    this.close = close;
  }

  deeds({ actorIds, ...window }: Window & { actorIds: readonly number[] }) {
    const actors = listFilter('created_by__id', actorIds.map(String));
    return this.#stream(actors.map((actor) => [...periodOf(window), ...actor]));
  }

  /** A gateway forgets the actor of a deleted user. Only objects created by such a user still show the creator. */
  async *deedsOfDeleted({ users, ...window }: Window & { users: readonly Actor[] }) {
    const byId = await this.#deletedUsers(users);
    if (byId.size === 0) return;
    const settings = await this.#names();
    const query: Query = [...periodOf(window), ['created_by__isnull', 'true']];
    for await (const entry of listItems(await this.#open(), [query], STREAM)) {
      const actor = byId.get(recordedMaker(entry) ?? 0) ?? null;
      const read = actor === null ? null : streamEntryOf({ ...entry, actor }, settings);
      if (read !== null) yield read;
    }
  }

  /** The ids and last names of deleted users, matched by id or by their name at deletion. */
  async #deletedUsers(users: readonly Actor[]): Promise<ReadonlyMap<number, Actor>> {
    const ids = new Set(users.flatMap((each) => each.id ?? []));
    const names = new Set(users.flatMap((each) => (each.id === null ? [each.username] : [])));
    const query: Query = [['operation', 'delete'], ...ofModel('user')];
    const found = new Map<number, Actor>();
    for await (const { object, changes } of this.#readable([query])) {
      const { username } = changes;
      if (object === null || typeof username !== 'string') continue;
      if (ids.has(object) || names.has(username)) found.set(object, { id: object, username });
    }
    return found;
  }

  async *#readable(queries: readonly Query[]) {
    for await (const { changes } of this.#stream(queries)) {
      const { id: object } = changes;
      yield { object: typeof object === 'number' ? object : null, changes };
    }
  }

  async nameChanges(since: Date): Promise<readonly NameChange[]> {
    const query: Query = [['created__gte', since.toISOString()], ...ofModel('user')];
    return nameChangesIn(await Array.fromAsync(this.#stream([query])));
  }

  async *entriesAbout(selector: Parameters<Evidence['entriesAbout']>[0]): AsyncGenerator<StreamEntry, void> {
    const { kind, ids, after, notBy } = selector;
    const about = listFilter('object_id', ids.map(String)).map(
      (objects): Query => [...ofModel(gatewayModelOf(kind)), ...objects, ['id__gt', String(after)]],
    );
    const some = notBy.length === 0 ? about : about.map((query) => [...query, ...notMadeBy(notBy)]);
    const others = new Set(notBy);
    // Not every gateway may have this filter.
    for await (const entry of orOthers(this.#stream(some), () => this.#stream(about))) {
      if (!others.has(entry.actor?.id ?? 0)) yield entry;
    }
  }

  async entries(ids: readonly number[]): Promise<readonly StreamEntry[]> {
    if (ids.length === 0) return [];
    return await Array.fromAsync(this.#stream(listFilter('id', ids.map(String))));
  }

  settingEntries(after: number) {
    return this.#stream([[...ofModel('preference'), ['id__gt', String(after)]]]);
  }

  async objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null> {
    const path = kind === 'setting' ? undefined : kindOf(kind)?.path;
    if (path === undefined) return null;
    return await orMissing(async () => await listById(await this.#open(), ids, currentObjects(path)));
  }

  async settings(names: readonly string[], patience?: Patience) {
    return await orMissing(async () => {
      const body = await (await this.#open()).getJson('settings/all/', 'the settings', patience);
      const all = z.record(z.string(), z.unknown()).safeParse(body).data ?? {};
      const present = names.filter((name) => Object.hasOwn(all, name));
      return new Map(present.map((name) => [name, settingValue(all[name])]));
    });
  }

  /** Reads whole lists, because no filters by creator are known for them. */
  async assignedRoles({ by, since, until }: Window & { by: readonly number[] }) {
    const isIn = (at: Date) => at >= since && at < until;
    const isBy = (actor: Actor | null) => actor?.id != null && by.includes(actor.id);
    return await orMissing(async () => {
      const api = await this.#open();
      const kinds = ['role_user_assignment', 'role_team_assignment'] as const;
      const lists = kinds.map((kind) => Array.fromAsync(listItems(api, [[]], assignments(kind))));
      const all = (await Promise.all(lists)).flat().filter(({ at }) => isIn(at));
      const definitions = (await Array.fromAsync(listItems(api, [[]], DEFINITIONS))).filter(
        (each) =>
          (isBy(each.createdBy) && isIn(each.created)) || (isBy(each.modifiedBy) && isIn(each.modified)),
      );
      return {
        assignments: all.filter((each) => isBy(each.by)),
        definitions,
        unattributed: all.filter((each) => each.by === null).length,
      };
    });
  }

  /** It is unknown whether there is a list of users with access. */
  roleHolders = () => Promise.resolve(null);

  /** Reads each whole list, because no filters by creator are known for them. */
  async madeBy({ by, since, until }: Parameters<Evidence['madeBy']>[0]): Promise<ListedObjects> {
    const api = await this.#open();
    const isOf = (actor: Actor | null, at: Date) =>
      actor?.id != null && by?.includes(actor.id) !== false && at >= since && at < until;
    const objects: ListedObject[] = [];
    const unread: string[] = [];
    for (const [kind, field] of Object.entries(GATEWAY_LISTED_KINDS)) {
      const found = await orMissing(() => Array.fromAsync(listItems(api, [[]], madeObjects(kind))));
      if (found === null) unread.push(kind);
      const made = (found ?? []).filter(
        ({ createdBy, created, modifiedBy, modified }) =>
          isOf(createdBy, created) || (field !== null && isOf(modifiedBy, modified)),
      );
      objects.push(...made);
    }
    return { objects, unread };
  }

  async usersMade({ since, until }: Window): Promise<readonly MadeUser[] | null> {
    return await orMissing(async () => {
      const api = await this.#open();
      const users = (await Array.fromAsync(listItems(api, [[]], MADE_USERS))).filter(
        ({ at }) => at >= since && at < until,
      );
      const recorded = new Set<number | null>();
      const query: Query = [['operation', 'create'], ...ofModel('user')];
      for await (const { object } of this.#readable([query])) recorded.add(object);
      return users.map((each) => ({ ...each, isRecorded: recorded.has(each.id) }));
    });
  }

  /** Between the first and the last existing entry: the API does not show the last assigned number. */
  async missingEntries(since: Date): Promise<MissingNumbers | null> {
    return await orMissing(async () => {
      const api = await this.#open();
      const from: Query = [['created__gte', since.toISOString()]];
      const { items: newest } = await newestItems(api, from, { ...STREAM, max: 1 });
      const last = newest.at(0)?.id;
      if (last === undefined) return { first: 1, last: 0, missing: 0, isEndKnown: false };
      const range = queryString([...from, ['id__lte', String(last)], ['order_by', 'id'], ['page_size', '1']]);
      const page = await api.getJson(`${STREAM.path}?${range}`, STREAM.what);
      const body = z.looseObject({ count: z.number(), results: z.array(streamEntry) }).safeParse(page).data;
      const first = body?.results[0]?.id;
      if (body === undefined || first === undefined) return null;
      return { first, last, missing: Math.max(0, last - first + 1 - body.count), isEndKnown: false };
    });
  }

  async extent(): Promise<StreamReach> {
    const api = await this.#open();
    return {
      enabled: null,
      ...(await endsOf(api, STREAM)),
      oldestUser: await oldestUserOf(api),
      switched: null,
    };
  }

  async withoutActor(window: Window) {
    const api = await this.#open();
    const settings = await this.#names();
    const found: StreamEntry[] = [];
    let isWhole = true;
    for (const filter of [
      ['created_by__username', SYSTEM_USER],
      ['created_by__isnull', 'true'],
    ] as const) {
      const query: Query = [...periodOf(window), filter];
      const newest = await newestItems(api, query, { ...STREAM, max: MAX_WITHOUT_ACTOR });
      isWhole &&= newest.isWhole;
      found.push(...newest.items.flatMap((entry) => streamEntryOf(entry, settings) ?? []));
    }
    const newestFirst = found.sort((a, b) => b.id - a.id);
    const some = await Array.fromAsync(this.#objectNames.named(newestFirst));
    return { count: isWhole ? some.length : null, some };
  }

  #stream(queries: readonly Query[]): AsyncGenerator<StreamEntry, void> {
    return this.#objectNames.named(this.#unnamed(queries));
  }

  async *#unnamed(queries: readonly Query[]): AsyncGenerator<StreamEntry, void> {
    const settings = await this.#names();
    for await (const entry of listItems(await this.#open(), queries, STREAM)) {
      const read = streamEntryOf(entry, settings);
      if (read !== null) yield read;
    }
  }

  /** The names of settings by row id. Only the entries about their creation, at the first start, have both. */
  #names(): Promise<ReadonlyMap<number, string>> {
    this.#settingNames ??= this.#readNames();
    return this.#settingNames;
  }

  async #readNames(): Promise<ReadonlyMap<number, string>> {
    const names = new Map<number, string>();
    const query: Query = [['operation', 'create'], ...ofModel('preference')];
    for await (const { objectId, changes } of listItems(await this.#open(), [query], STREAM)) {
      const added = changes['added_fields'];
      const name = typeof added === 'object' && added !== null && 'name' in added ? added.name : undefined;
      if (typeof name === 'string' && objectId !== null) names.set(Number(objectId), name);
    }
    return names;
  }
}

function periodOf(window: Window): Query {
  return within('created', window);
}

function ofModel(model: string): Query {
  return [['content_type__model', model]];
}

function notMadeBy(ids: readonly number[]): Query {
  return ids.map((each) => ['not__created_by', String(each)] as const);
}
