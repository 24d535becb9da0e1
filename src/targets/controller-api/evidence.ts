import { z } from 'zod';
import { TokenctlError } from '../../domain/errors.ts';
import type { StreamEntry } from '../../domain/investigation/deed.ts';
import type { ObjectReference } from '../../domain/investigation/investigation.ts';
import { isKnownKind, kindOf, linkPath } from '../../domain/investigation/kinds.ts';
import type {
  CurrentObject,
  Evidence,
  JobRecord,
  JobSelector,
  RoleRecord,
  StreamReach,
  Window,
} from '../../operations/ports/evidence.ts';
import { type Api, id, instant, type Query } from './api.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { recognizeApi } from './controller-api.ts';
import { type Listing, listFilter, listItems, queryString } from './listing.ts';
import { parseJson } from './responses.ts';

/** Which controller, and how to reach it. */
export interface ApiEvidenceOptions extends ConnectionOptions {
  readonly component?: 'gateway' | 'controller';
}

/** How many jobs have their hosts counted: each takes a request. */
const MAX_HOSTS_READ = 100;
/** How many entries without an actor are read: ten pages. */
const MAX_WITHOUT_ACTOR = 2000;

/** The setting that decides whether a controller records activity. */
const STREAM_SWITCH = 'ACTIVITY_STREAM_ENABLED';

const named = z.looseObject({ id, name: z.string().nullish(), username: z.string().nullish() });
const summaries = z.record(z.string(), z.unknown()).catch({});

const streamEntry = z
  .object({
    id,
    timestamp: instant,
    operation: z.string(),
    object1: z.string(),
    object2: z.string().nullish(),
    object_association: z.string().nullish(),
    changes: z.record(z.string(), z.unknown()).catch({}),
    summary_fields: summaries,
  })
  .transform((body): StreamEntry => {
    const { actor, setting, ...objects } = body.summary_fields;
    const links = linksIn(objects);
    const relationship = body.changes['relationship'];
    const field = roleField(objects['role']);
    return {
      id: body.id,
      at: body.timestamp,
      operation: body.operation,
      actor: actorIn(actor),
      object1: body.object1,
      object2: body.object2 ?? '',
      relationship:
        field ?? (body.object_association || (typeof relationship === 'string' ? relationship : '')),
      changes: body.changes,
      setting: settingName(setting),
      links,
    };
  });

const actorSummary = z.object({ id: z.number().int().nullable(), username: z.string() });
const settingSummary = z.tuple([z.object({ name: z.string() })]);
const roleSummary = z.tuple([z.object({ role_field: z.string() })]).rest(z.unknown());

/** A deleted user is shown with its name and without its id. */
function actorIn(summary: unknown): StreamEntry['actor'] {
  return actorSummary.safeParse(summary).data ?? null;
}

function settingName(summary: unknown): string | null {
  return settingSummary.safeParse(summary).data?.[0].name ?? null;
}

function roleField(summary: unknown): string | null {
  return roleSummary.safeParse(summary).data?.[0].role_field ?? null;
}

function linksIn(objects: Readonly<Record<string, unknown>>): StreamEntry['links'] {
  return new Map(
    Object.entries(objects).flatMap(([kind, list]) => {
      const linked = z.array(named).safeParse(list).data ?? [];
      const items = linked.map((each) => ({ id: each.id, name: each.name ?? each.username ?? null }));
      return items.length === 0 ? [] : [[kind, items] as const];
    }),
  );
}

const STREAM: Listing<StreamEntry> = {
  path: 'activity_stream/',
  what: 'the activity stream',
  read: (body) => streamEntry.safeParse(body).data ?? null,
};

const currentObject = z
  .looseObject({ id })
  .transform((body): CurrentObject => ({ id: body.id, name: nameOf(body), fields: body }));

function nameOf(body: Readonly<Record<string, unknown>>): string | null {
  const name =
    body['name'] ?? body['username'] ?? body['hostname'] ?? body['identifier'] ?? body['description'];
  return typeof name === 'string' ? name : null;
}

const job = z
  .object({
    id,
    type: z.string(),
    name: z.string().catch(''),
    status: z.string(),
    launch_type: z.string().nullish(),
    created: instant,
    started: instant.nullish(),
    finished: instant.nullish(),
    unified_job_template: id.nullish(),
    schedule: id.nullish(),
    summary_fields: summaries,
  })
  .transform((body): JobRecord => {
    // The list of all jobs names the schedule here only.
    const {
      schedule,
      created_by: creator,
      unified_job_template: template,
      credentials,
      credential,
    } = body.summary_fields;
    const used =
      z.array(named).safeParse(credentials).data ?? z.array(named).safeParse([credential]).data ?? [];
    return {
      ...{ kind: body.type, id: body.id, name: body.name, status: body.status, created: body.created },
      launchType: body.launch_type ?? null,
      started: body.started ?? null,
      finished: body.finished ?? null,
      createdBy: actorIn(creator),
      template:
        body.unified_job_template == null
          ? null
          : { id: body.unified_job_template, name: named.safeParse(template).data?.name ?? null },
      scheduleId: body.schedule ?? named.safeParse(schedule).data?.id ?? null,
      credentials: used.flatMap(({ name }) => (name == null ? [] : [name])),
      hosts: null,
    };
  });

const JOBS: Listing<JobRecord> = {
  path: 'unified_jobs/',
  what: 'the list of jobs',
  read: (body) => job.safeParse(body).data ?? null,
};

const role = z
  .object({ id, name: z.string().nullish(), summary_fields: summaries })
  .transform((body): RoleRecord => {
    const { resource_type: kind, resource_id: about, resource_name: name } = body.summary_fields;
    const field = body.name == null ? null : roleFieldOf(body.name, kind === undefined);
    return {
      id: body.id,
      field,
      about:
        typeof kind === 'string' && typeof about === 'number'
          ? { kind, id: about, name: typeof name === 'string' ? name : null }
          : null,
    };
  });

/** The API shows roles by their title (`Job Template Admin`, `System Administrator`), the activity stream by their field. */
function roleFieldOf(title: string, isSystem: boolean): string {
  const field = title
    .toLowerCase()
    .replaceAll(' ', '_')
    .replace('ad_hoc', 'adhoc')
    .replace('approve', 'approval');
  return isSystem ? field : `${field}_role`;
}

/**
 * Opens the REST API of a controller to investigate; nothing is sent yet. It sends GET requests only.
 *
 * @throws TokenctlError `configuration` for an invalid address or credential.
 */
export function openApiEvidence(options: ApiEvidenceOptions): Evidence & { close(): Promise<void> } {
  const connection = new Connection(options);
  let recognized: Promise<Api> | undefined;
  const open = (): Promise<Api> => {
    recognized ??= recognizeApi(connection, options.component);
    return recognized;
  };
  return new ApiEvidence(open, () => connection.close());
}

class ApiEvidence implements Evidence {
  readonly #open: () => Promise<Api>;
  readonly close: () => Promise<void>;

  constructor(open: () => Promise<Api>, close: () => Promise<void>) {
    this.#open = open;
    this.close = close;
  }

  deeds({ actorIds, ...window }: Window & { readonly actorIds: readonly number[] }) {
    return this.#stream(
      listFilter('actor__id', actorIds.map(String)).map((actors) => [...periodOf(window), ...actors]),
    );
  }

  /** A deleted actor cannot be filtered by its name: entries without an actor are read, and told apart here. */
  async *deedsOfDeleted(selector: Window & { readonly usernames: readonly string[] }) {
    const names = new Set(selector.usernames);
    const query: Query = [...periodOf(selector), ['actor__isnull', 'true']];
    for await (const entry of this.#stream([query])) {
      if (entry.actor !== null && names.has(entry.actor.username)) yield entry;
    }
  }

  async *entriesAbout(selector: Parameters<Evidence['entriesAbout']>[0]): AsyncGenerator<StreamEntry, void> {
    const { kind, ids, after, notBy } = selector;
    if (!isKnownKind(kind) || kind === 'setting' || ids.length === 0) return;
    const queries = listFilter(`${kind}__id`, ids.map(String));
    const others: Query = notBy.length === 0 ? [] : [['not__actor__id__in', notBy.join(',')]];
    yield* this.#stream(queries.map((objects) => [...objects, ...others, ['id__gt', String(after)]]));
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
    const path = kindOf(kind)?.path;
    if (path === undefined || kind === 'setting') return null;
    const found = new Map<number, CurrentObject>();
    const listing: Listing<CurrentObject> = {
      path: `${path}/`,
      what: `the list ${path}`,
      read: (body) => currentObject.safeParse(body).data ?? null,
    };
    try {
      for await (const each of listItems(await this.#open(), listFilter('id', ids.map(String)), listing)) {
        found.set(each.id, each);
      }
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    return found;
  }

  async settings(names: readonly string[]): Promise<ReadonlyMap<string, unknown> | null> {
    const body = await this.#get('settings/all/', 'the settings');
    const all = z.record(z.string(), z.unknown()).safeParse(body).data;
    if (all === undefined) return null;
    return new Map(names.filter((name) => Object.hasOwn(all, name)).map((name) => [name, all[name]]));
  }

  async roles(ids: readonly number[]): Promise<ReadonlyMap<number, RoleRecord>> {
    const found = new Map<number, RoleRecord>();
    const listing: Listing<RoleRecord> = {
      ...{ path: 'roles/', what: 'the list of roles' },
      read: (body) => role.safeParse(body).data ?? null,
    };
    try {
      for await (const each of listItems(await this.#open(), listFilter('id', ids.map(String)), listing)) {
        found.set(each.id, each);
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    return found;
  }

  async hasRole(
    roleId: number,
    holder: { readonly kind: string; readonly id: number },
  ): Promise<boolean | null> {
    const holders = holder.kind === 'user' ? 'users' : holder.kind === 'team' ? 'teams' : null;
    if (holders === null) return null;
    const query: Query = [['id', String(holder.id)]];
    const count = await this.#count(`roles/${roleId}/${holders}/`, query, 'the members of a role');
    return count === null ? null : count > 0;
  }

  async hasLink(link: string, object: ObjectReference, other: ObjectReference): Promise<boolean | null> {
    const path = object.id === null ? null : linkPath(link, { kind: object.kind, id: object.id });
    if (path === null || other.id === null) return null;
    const query: Query = [['id', String(other.id)]];
    const count = await this.#count(path.replace('/api/v2/', ''), query, 'the links of an object');
    return count === null ? null : count > 0;
  }

  async *jobs({
    createdBy,
    templateIds,
    scheduleIds,
    since,
    until,
  }: JobSelector): AsyncGenerator<JobRecord, void> {
    const period: Query = [
      ['created__gte', since.toISOString()],
      ['created__lt', until.toISOString()],
    ];
    const some = (field: string, ids: readonly number[]) =>
      ids.length === 0 ? [] : listFilter(field, ids.map(String)).map((filter) => [...period, ...filter]);
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
    const body = await this.#get(
      `activity_stream/?${queryString([
        ['order_by', 'id'],
        ['page_size', '1'],
      ])}`,
      STREAM.what,
    );
    const oldest =
      z.looseObject({ results: z.array(streamEntry) }).safeParse(body).data?.results[0]?.at ?? null;
    return { enabled: await this.#enabled(), oldest, switched: await this.#switched(window) };
  }

  /** When the stream was switched first in a period. A controller 24.6.1 records that at times only. */
  async #switched(window: Window): Promise<Date | null> {
    for await (const { setting, at } of this.#stream([[...periodOf(window), ['object1', 'setting']]])) {
      if (setting === STREAM_SWITCH) return at;
    }
    return null;
  }

  /** Null where this account may not read the settings. */
  async #enabled(): Promise<boolean | null> {
    try {
      const enabled = (await this.settings([STREAM_SWITCH]))?.get(STREAM_SWITCH);
      return typeof enabled === 'boolean' ? enabled : null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async withoutActor(
    window: Window,
  ): Promise<{ readonly count: number | null; readonly some: readonly StreamEntry[] }> {
    const some: StreamEntry[] = [];
    let read = 0;
    for await (const entry of this.#stream([[...periodOf(window), ['actor__isnull', 'true']]])) {
      if (entry.actor === null) some.push(entry);
      read += 1;
      if (read >= MAX_WITHOUT_ACTOR) return { count: null, some };
    }
    return { count: some.length, some };
  }

  async *#stream(queries: readonly Query[]): AsyncGenerator<StreamEntry, void> {
    yield* listItems(await this.#open(), queries, STREAM);
  }

  async #get(path: string, what: string): Promise<unknown> {
    const api = await this.#open();
    return parseJson(await api.send({ method: 'GET', path }), api, what);
  }

  async #count(path: string, query: Query, what: string): Promise<number | null> {
    try {
      const body = await this.#get(`${path}?${queryString([...query, ['page_size', '1']])}`, what);
      return z.looseObject({ count: z.number() }).safeParse(body).data?.count ?? null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }
}

function periodOf({ since, until }: Window): Query {
  return [
    ['timestamp__gte', since.toISOString()],
    ['timestamp__lt', until.toISOString()],
  ];
}

/** What this version or this account does not have. */
function isMissing(error: unknown): boolean {
  return (
    error instanceof TokenctlError && ['not_found', 'permission_refused', 'unsupported'].includes(error.code)
  );
}
