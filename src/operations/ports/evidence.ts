import type { CleaningAct } from '../../domain/investigation/cleaning.ts';
import type { NameChange, StreamEntry } from '../../domain/investigation/deed.ts';
import type { Actor, AssignedRole, ObjectReference } from '../../domain/investigation/investigation.ts';
import type { Patience } from './target-parts.ts';

export interface CurrentObject {
  readonly id: number;
  readonly name: string | null;
  /**
   * Its raw fields, named as in the activity stream: some may be secrets. Purely secret fields are missing.
   */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A job, an ad hoc command or an update of a project or inventory. */
export interface JobRecord {
  readonly kind: string;
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly launchType: string | null;
  readonly created: Date;
  readonly started: Date | null;
  readonly finished: Date | null;
  readonly createdBy: Actor | null;
  readonly template: { readonly id: number; readonly name: string | null } | null;
  readonly scheduleId: number | null;
  readonly credentials: readonly string[];
  /** Number of hosts it reached; null if not read. */
  readonly hosts: number | null;
}

/** Selects jobs that any of the lists names. */
export interface JobSelector {
  readonly createdBy: readonly number[];
  /** Job templates, workflow templates, projects and inventory sources. */
  readonly templateIds: readonly number[];
  readonly scheduleIds: readonly number[];
  readonly since: Date;
  readonly until: Date;
}

export interface RoleRecord {
  readonly id: number;
  /** `admin_role`; null for a role without a field name. */
  readonly field: string | null;
  readonly about: ObjectReference | null;
}

/** A role of a user or team in the newer role tables, which the activity stream does not record. */
export interface RoleAssignment {
  readonly kind: 'role_user_assignment' | 'role_team_assignment';
  readonly id: number;
  readonly at: Date;
  readonly by: Actor | null;
  readonly definition: { readonly id: number; readonly name: string; readonly managed: boolean };
  readonly holder: ObjectReference;
  /** Null for a system role. */
  readonly about: ObjectReference | null;
}

/** A user's role on an object, held directly or through a team. */
export interface RoleHolder {
  /** The user's name; the team's if its members are not listed. */
  readonly holder: string;
  /** `admin_role`; the name of a custom role. */
  readonly role: string;
}

/** Who created an object, and who changed it last. */
interface Making {
  readonly created: Date;
  readonly createdBy: Actor | null;
  readonly modified: Date;
  readonly modifiedBy: Actor | null;
}

/** A custom role with rights chosen by a user of the controller. */
export interface RoleDefinition extends Making {
  readonly id: number;
  readonly name: string;
}

/** The contents of controller 24.6.1's newer role tables for a period. */
export interface AssignedRoles {
  /** Made by these users. */
  readonly assignments: readonly RoleAssignment[];
  /** Created or last changed by these users, without built-in ones. */
  readonly definitions: readonly RoleDefinition[];
  /** Number of assignments in the period without a known author. */
  readonly unattributed: number;
}

/** A listed object, with who created it and who changed it last. */
export interface ListedObject extends Making {
  readonly kind: string;
  readonly id: number;
  readonly name: string | null;
}

/** The objects of a period according to a controller's lists, whatever its activity stream has. */
export interface ListedObjects {
  /** Ascending by kind and id. */
  readonly objects: readonly ListedObject[];
  /** The kinds whose lists could not be read here. */
  readonly unread: readonly string[];
}

export interface MadeUser {
  readonly id: number;
  readonly username: string;
  readonly at: Date;
  readonly isSuperuser: boolean;
  /** Whether the activity stream has the entry of its creation. */
  readonly isRecorded: boolean;
}

/** The missing ids of a table. Ids are not reused: the row was deleted or never stored. */
export interface MissingNumbers {
  /** The bounds of the search: up to the last id issued, or the last one that exists. */
  readonly first: number;
  readonly last: number;
  readonly missing: number;
  /** Whether the last id issued is known: otherwise the newest rows may be missing as well. */
  readonly isEndKnown: boolean;
}

/** Identifies the entries that were read, by two numbers: only the same entries have both. */
export interface EntryTally {
  readonly count: number;
  readonly sum: number;
}

export interface StreamReach {
  /** Whether activity is recorded now; null if unreadable. */
  readonly enabled: boolean | null;
  /** The time of the oldest entry; null for an empty stream. */
  readonly oldest: Date | null;
  /** The time of the newest entry; null for an empty stream. */
  readonly newest: Date | null;
  /** The creation time of the oldest account; null if unreadable. The controller is at least that old. */
  readonly oldestUser: Date | null;
  /** The earliest time in the period since which the stream may have been off, if known. */
  readonly switched: Date | null;
}

/** A period: from `since`, before `until`. */
export interface Window {
  readonly since: Date;
  readonly until: Date;
}

/** Reads a controller's records and the affected objects. Every method throws `TokenctlError` as a target. */
export interface Evidence {
  /** Streams the actions of these users, ascending by id, in pages. Excludes entries written meanwhile. */
  deeds(selector: Window & { readonly actorIds: readonly number[] }): AsyncIterable<StreamEntry>;
  /**
   * Streams the entries of these deleted users: by id if entries have one, otherwise by the stored user name
   * and by the last name of the user with the id.
   */
  deedsOfDeleted(selector: Window & { readonly users: readonly Actor[] }): AsyncIterable<StreamEntry>;
  /** Which users gained and lost which names since an instant, in order. */
  nameChanges(since: Date): Promise<readonly NameChange[]>;
  /** Streams the entries about any of these objects of one kind with a greater id, but not by these users. */
  entriesAbout(selector: {
    readonly kind: string;
    readonly ids: readonly number[];
    readonly after: number;
    readonly notBy: readonly number[];
    /** The caller's entries about these objects, by object: without other entries, they are not re-read. */
    readonly read: ReadonlyMap<number, EntryTally>;
  }): AsyncIterable<StreamEntry>;
  /** The existing entries with these ids. */
  entries(ids: readonly number[]): Promise<readonly StreamEntry[]>;
  /** Streams the entries about settings with a greater id. */
  settingEntries(after: number): AsyncIterable<StreamEntry>;
  /** The objects of one kind that exist and the caller can see; null if the kind is unreadable here. */
  objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null>;
  /** The values of settings, by name. Settings that are not set are missing if the target shows that. */
  settings(names: readonly string[], patience?: Patience): Promise<ReadonlyMap<string, unknown> | null>;
  /**
   * The defaults of settings that no one set, by name: the value, or `unset` if a setting without a value has
   * no row. Missing if unknown.
   */
  settingDefaults(
    settings: readonly { readonly name: string; readonly category: string | null }[],
  ): Promise<ReadonlyMap<string, { readonly value: unknown } | 'unset'>>;
  roles(ids: readonly number[]): Promise<ReadonlyMap<number, RoleRecord>>;
  /**
   * Roles that these users assigned or defined in a period; `absent` if the controller has no newer role
   * tables; null if they are unreadable or this is unknown.
   */
  assignedRoles(
    selector: Window & { readonly by: readonly number[] },
  ): Promise<AssignedRoles | 'absent' | null>;
  /** What these users created, or changed last, in a period, by the lists of objects; null for any user. */
  madeBy(selector: Window & { readonly by: readonly number[] | null }): Promise<ListedObjects>;
  /** The users created in a period; null if unreadable. */
  usersMade(window: Window): Promise<readonly MadeUser[] | null>;
  /** The entries missing since an instant; null if unreadable. */
  missingEntries(since: Date): Promise<MissingNumbers | null>;
  /** The jobs missing since an instant; null if unreadable. */
  missingJobs(since: Date): Promise<MissingNumbers | null>;
  /** Whether a user or team has a role directly; null if unreadable. */
  hasRole(role: number, holder: { readonly kind: string; readonly id: number }): Promise<boolean | null>;
  /** Whether a user or team has a role in the newer role tables; null if unreadable. */
  hasAssignment(assignment: AssignedRole): Promise<boolean | null>;
  /** The holders of roles on an object; null if unreadable. */
  roleHolders(object: { readonly kind: string; readonly id: number }): Promise<readonly RoleHolder[] | null>;
  /** Whether two objects are linked, such as a template and a credential; null if unreadable. */
  hasLink(link: string, object: ObjectReference, other: ObjectReference): Promise<boolean | null>;
  /** Streams jobs, each list of the selector ascending by id. */
  jobs(selector: JobSelector): AsyncIterable<JobRecord>;
  extent(window: Window): Promise<StreamReach>;
  /** Entries without an actor in a period: the newest 2,000, newest first, and their number; null if more. */
  withoutActor(
    window: Window,
  ): Promise<{ readonly count: number | null; readonly some: readonly StreamEntry[] }>;
}

/** Evidence over a connection of its own. */
export type OpenEvidence = Evidence & { close(): Promise<void> };

/** Opens the sources about user names, which are checked before a name is trusted. */
export type OpenNames = () => Promise<
  Pick<OpenEvidence, 'nameChanges' | 'usersMade' | 'missingEntries' | 'extent' | 'close'>
>;

/** The values for an action, from the entries that recorded the change. They may be secrets. */
export interface CleaningValues {
  /** The values to write, by field; empty for an action that restores none. */
  readonly write: Readonly<Record<string, unknown>>;
  /** The object's current readable values, which were compared with what the actor left. */
  readonly expected: Readonly<Record<string, unknown>>;
  /** The category of a setting to be reset to its default; null for any other action, or if unknown. */
  readonly category: string | null;
  /** Both values from the activity stream: the one that the actor left, and the one before. */
  readonly recorded: Readonly<Record<string, readonly [unknown, unknown]>>;
  /** The last entry about it; null if the item names none. */
  readonly entry: number | null;
}

/** Ends what an intruder left behind, one object at a time. */
export interface Cleaner {
  /** Why an action is not possible, as a sentence; null if it is. Makes no request. */
  refusal(act: CleaningAct): string | null;
  /**
   * Carries out an action. An object already in that state stays unchanged. Throws `TokenctlError` as a
   * target does.
   * @returns `unchanged` if there was nothing to do: the object is deleted, or the job has ended.
   * @throws TokenctlError `unsupported` if the target refuses it, for example because the object is in use,
   * or was changed since it was read.
   */
  apply(act: CleaningAct, values: CleaningValues): Promise<'done' | 'unchanged'>;
}
