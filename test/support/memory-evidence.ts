import { nameChangesIn, type StreamEntry } from '../../src/domain/investigation/deed.ts';
import type { Actor, AssignedRole, ObjectReference } from '../../src/domain/investigation/investigation.ts';
import type {
  AssignedRoles,
  CurrentObject,
  Evidence,
  JobRecord,
  JobSelector,
  ListedObject,
  MadeUser,
  MissingNumbers,
} from '../../src/operations/ports/evidence.ts';

const START = Date.UTC(2026, 10, 20, 8);

/** A stream of entries and the objects that they are about, in memory. */
export class MemoryEvidence implements Evidence {
  readonly entriesList: StreamEntry[] = [];
  /** The fields of what there is now, by kind and id: `job_template:7`. */
  readonly now = new Map<string, Readonly<Record<string, unknown>>>();
  readonly values = new Map<string, unknown>();
  /** Held roles and present links, as `role:9:user:12` or `credentials:7:3`. */
  readonly ties = new Set<string>();
  readonly ran: JobRecord[] = [];
  /** The users that there are, by id with their names. */
  readonly users = new Map<number, string>();
  readonly deletedUsers = new Set<string>();
  /** Entries whose actor was deleted since, where another user has its name now. */
  readonly deletedActors = new Set<number>();

  /** Writes an entry, a minute after the last one. */
  write(
    actor: string | null,
    operation: string,
    object: string,
    changes: Readonly<Record<string, unknown>> = {},
    more: Partial<StreamEntry> = {},
  ): StreamEntry {
    const [kind = '', id = ''] = object.split(':');
    const number = this.entriesList.length + 1;
    const [name, actorId] = actor?.split(':') ?? [];
    const entry: StreamEntry = {
      id: number,
      at: new Date(START + number * 60_000),
      operation,
      actor:
        name === undefined ? null : { id: actorId === undefined ? null : Number(actorId), username: name },
      object1: kind,
      object2: '',
      relationship: '',
      changes,
      setting: kind === 'setting' ? id : null,
      settingCategory: kind === 'setting' ? 'authentication' : null,
      links: new Map(id === '' || kind === 'setting' ? [] : [[kind, [{ id: Number(id), name: null }]]]),
      ...more,
    };
    this.entriesList.push(entry);
    return entry;
  }

  deeds({ actorIds, since, until }: { actorIds: readonly number[]; since: Date; until: Date }) {
    return this.#among(
      ({ id, actor, at }) =>
        actor?.id != null &&
        !this.deletedActors.has(id) &&
        !this.deletedUsers.has(actor.username) &&
        actorIds.includes(actor.id) &&
        at >= since &&
        at < until,
    );
  }

  deedsOfDeleted({ users, since, until }: { users: readonly Actor[]; since: Date; until: Date }) {
    return this.#among(
      ({ id, actor, at }) =>
        actor !== null &&
        (this.deletedActors.has(id) || this.deletedUsers.has(actor.username)) &&
        users.some(({ username }) => username === actor.username) &&
        at >= since &&
        at < until,
    );
  }

  entriesAbout({ kind, ids, after, notBy, read }: Parameters<Evidence['entriesAbout']>[0]) {
    const about = (number: number) =>
      this.entriesList.filter(
        ({ id, links }) => id > after && links.get(kind)?.some((each) => each.id === number),
      );
    const unread = ids.filter((number) => {
      const sum = about(number).reduce((total, { id }) => total + id, 0);
      return read.get(number)?.count !== about(number).length || read.get(number)?.sum !== sum;
    });
    const found = new Set(unread.flatMap(about));
    return this.#among((entry) => found.has(entry) && !notBy.includes(entry.actor?.id ?? 0));
  }

  async nameChanges(since: Date) {
    return nameChangesIn(this.entriesList.filter(({ at }) => at >= since));
  }

  async entries(ids: readonly number[]) {
    return this.entriesList.filter(({ id }) => ids.includes(id));
  }

  settingEntries(after: number) {
    return this.#among(({ id, object1 }) => id > after && object1 === 'setting');
  }

  async objects(kind: string, ids: readonly number[]) {
    const found = new Map<number, CurrentObject>();
    for (const id of ids) {
      const name = kind === 'user' ? (this.users.get(id) ?? null) : null;
      const fields = this.now.get(`${kind}:${id}`) ?? (name === null ? undefined : {});
      if (fields !== undefined) found.set(id, { id, name, fields });
    }
    return found;
  }

  /** What settings have that no one set. */
  readonly defaults = new Map<string, { readonly value: unknown } | 'unset'>();
  settingDefaults = () => Promise.resolve(this.defaults);
  settings = () => Promise.resolve(this.values);
  roles = () => Promise.resolve(new Map());
  /** The newer tables of roles. */
  assigned: AssignedRoles | 'absent' | null = { assignments: [], definitions: [], unattributed: 0 };
  assignedRoles = () => Promise.resolve(this.assigned);
  /** What the lists of objects have of the period, by anybody. */
  listed: ListedObject[] = [];
  unread: string[] = [];
  madeBy = async ({ by }: { by: readonly number[] | null }) => ({
    objects: this.listed.filter(({ createdBy, modifiedBy }) =>
      [createdBy, modifiedBy].some((each) => by?.includes(each?.id ?? 0)),
    ),
    unread: this.unread,
  });
  joined: MadeUser[] | null = [];
  usersMade = () => Promise.resolve(this.joined);
  lost: { entries: MissingNumbers | null; jobs: MissingNumbers | null } = {
    entries: { first: 1, last: 0, missing: 0, isEndKnown: true },
    jobs: { first: 1, last: 0, missing: 0, isEndKnown: true },
  };
  missingEntries = () => Promise.resolve(this.lost.entries);
  missingJobs = () => Promise.resolve(this.lost.jobs);
  /** Assigned roles, as `29:user:12:1`. */
  readonly assignedTies = new Set<string>();
  hasAssignment = ({ definition, holder, about }: AssignedRole) =>
    Promise.resolve(this.assignedTies.has(`${definition}:${holder.kind}:${holder.id}:${about}`));
  roleHolders = () => Promise.resolve(null);
  hasRole = (role: number, { kind, id }: { kind: string; id: number }) =>
    Promise.resolve(this.ties.has(`role:${role}:${kind}:${id}`));
  hasLink = (link: string, object: ObjectReference, other: ObjectReference) =>
    Promise.resolve(this.ties.has(`${link}:${object.id}:${other.id}`));

  async *jobs({ createdBy, templateIds, scheduleIds }: JobSelector) {
    for (const job of this.ran) {
      const isMeant =
        createdBy.includes(job.createdBy?.id ?? 0) ||
        templateIds.includes(job.template?.id ?? 0) ||
        scheduleIds.includes(job.scheduleId ?? 0);
      if (isMeant) yield job;
    }
  }

  /** When the stream was switched off and on; null for never. */
  switched: Date | null = null;

  extent = () =>
    Promise.resolve({
      enabled: true,
      oldest: new Date(START),
      newest: new Date(START),
      oldestUser: null,
      switched: this.switched,
    });

  async withoutActor() {
    const some = await Array.fromAsync(this.#among(({ actor }) => actor === null));
    return { count: some.length, some: some.reverse() };
  }

  async *#among(isMeant: (entry: StreamEntry) => boolean): AsyncGenerator<StreamEntry, void> {
    for (const entry of this.entriesList) if (isMeant(entry)) yield entry;
  }
}
