import type { CleaningAct } from '../../domain/investigation/cleaning.ts';
import type { NameChange, StreamEntry } from '../../domain/investigation/deed.ts';
import type { Actor, AssignedRole, ObjectReference } from '../../domain/investigation/investigation.ts';
import type { Patience } from './target-parts.ts';

/** An object as it is now. */
export interface CurrentObject {
  readonly id: number;
  readonly name: string | null;
  /** Its fields in the names of the activity stream. Raw: some may be secrets. Fields that hold nothing but secrets are missing. */
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
  /** How many hosts it reached; null where that was not read. */
  readonly hosts: number | null;
}

/** Which jobs are meant: those that any of the lists names. */
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
  /** `admin_role`; null for one without a name. */
  readonly field: string | null;
  readonly about: ObjectReference | null;
}

/** A role that a user or team has by the newer tables of roles, which the activity stream does not record. */
export interface RoleAssignment {
  readonly kind: 'role_user_assignment' | 'role_team_assignment';
  readonly id: number;
  readonly at: Date;
  readonly by: Actor | null;
  readonly definition: { readonly id: number; readonly name: string; readonly managed: boolean };
  readonly holder: ObjectReference;
  /** Null for a role of the system. */
  readonly about: ObjectReference | null;
}

/** That a user has a role of an object, by itself or as a member of a team. */
export interface RoleHolder {
  /** The name of the user; of the team where its members are not listed. */
  readonly holder: string;
  /** `admin_role`; the name of a custom role. */
  readonly role: string;
}

/** Who made an object, and who changed it last. */
interface Making {
  readonly created: Date;
  readonly createdBy: Actor | null;
  readonly modified: Date;
  readonly modifiedBy: Actor | null;
}

/** A custom role, whose rights a user of the controller chose. */
export interface RoleDefinition extends Making {
  readonly id: number;
  readonly name: string;
}

/** What the newer tables of roles of controller 24.6.1 have of a period. */
export interface AssignedRoles {
  /** Made by these users. */
  readonly assignments: readonly RoleAssignment[];
  /** Made or last changed by these users; none of the controller's own. */
  readonly definitions: readonly RoleDefinition[];
  /** How many assignments of the period name no one who made them. */
  readonly unattributed: number;
}

/** An object by the list of its kind, which says who made it and who changed it last. */
export interface ListedObject extends Making {
  readonly kind: string;
  readonly id: number;
  readonly name: string | null;
}

/** What the lists of a controller have of a period, whatever its activity stream has. */
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

/** Which numbers of a table are missing. A number is given out once: what has it was deleted, or was never stored. */
export interface MissingNumbers {
  /** Where the search began and ended: the last number that was given out, or that there is. */
  readonly first: number;
  readonly last: number;
  readonly missing: number;
  /** Whether it is known which number was given out last: otherwise the newest may be missing as well. */
  readonly isEndKnown: boolean;
}

/** Which entries were read, in two numbers: only the same entries have both. */
export interface EntryTally {
  readonly count: number;
  /** The sum of their ids. */
  readonly sum: number;
}

export interface StreamReach {
  /** Whether activity is recorded now; null where that cannot be read. */
  readonly enabled: boolean | null;
  /** When its oldest entry was written; null for an empty stream. */
  readonly oldest: Date | null;
  /** When its newest entry was written; null for an empty stream. */
  readonly newest: Date | null;
  /** When the oldest account was made; null where that cannot be read. The controller is as old, or older. */
  readonly oldestUser: Date | null;
  /** Since when the stream may have been off for some time in the period: it was switched then, or later. Null if nothing is known. */
  readonly switched: Date | null;
}

/** A period: from `since`, before `until`. */
export interface Window {
  readonly since: Date;
  readonly until: Date;
}

/**
 * What a controller keeps of what was done, and the objects that it was done to. Reads only. Every method throws
 * `TokenctlError` as a target does.
 */
export interface Evidence {
  /** Streams what these users did, ascending by id, in pages. Nothing that is written meanwhile. */
  deeds(selector: Window & { readonly actorIds: readonly number[] }): AsyncIterable<StreamEntry>;
  /**
   * Streams the entries of these users, who were deleted since: by id where entries have one, otherwise by the name in the user and
   * by the last name that a user with the id had.
   */
  deedsOfDeleted(selector: Window & { readonly users: readonly Actor[] }): AsyncIterable<StreamEntry>;
  /** Which users got and gave up which names since an instant, in order. */
  nameChanges(since: Date): Promise<readonly NameChange[]>;
  /** Streams the entries about any of these objects of one kind with a greater id, but not those by these users. */
  entriesAbout(selector: {
    readonly kind: string;
    readonly ids: readonly number[];
    readonly after: number;
    readonly notBy: readonly number[];
    /** The caller's entries about these objects, by object: where there are no others, they need not be read again. */
    readonly read: ReadonlyMap<number, EntryTally>;
  }): AsyncIterable<StreamEntry>;
  /** The entries with these ids that there are. */
  entries(ids: readonly number[]): Promise<readonly StreamEntry[]>;
  /** Streams the entries about settings with a greater id. */
  settingEntries(after: number): AsyncIterable<StreamEntry>;
  /** The objects of one kind that exist and that the caller may see; null for a kind that cannot be read here. */
  objects(kind: string, ids: readonly number[]): Promise<ReadonlyMap<number, CurrentObject> | null>;
  /** The values of settings, by name; those that are not set are missing where the target tells. */
  settings(names: readonly string[], patience?: Patience): Promise<ReadonlyMap<string, unknown> | null>;
  /**
   * What settings have that no one set, by name: the value, or `unset` where a setting without one has no row. Missing where it is
   * not known.
   */
  settingDefaults(
    settings: readonly { readonly name: string; readonly category: string | null }[],
  ): Promise<ReadonlyMap<string, { readonly value: unknown } | 'unset'>>;
  roles(ids: readonly number[]): Promise<ReadonlyMap<number, RoleRecord>>;
  /**
   * Roles that these users gave, or defined, in a period; `absent` where the controller has no newer tables of roles, null where they
   * cannot be read, or where that cannot be told.
   */
  assignedRoles(
    selector: Window & { readonly by: readonly number[] },
  ): Promise<AssignedRoles | 'absent' | null>;
  /** What these users made, or changed last, in a period, by the lists of the objects; null for any user. */
  madeBy(selector: Window & { readonly by: readonly number[] | null }): Promise<ListedObjects>;
  /** The users who were made in a period; null where that cannot be read. */
  usersMade(window: Window): Promise<readonly MadeUser[] | null>;
  /** Which entries since an instant are missing; null where that cannot be read. */
  missingEntries(since: Date): Promise<MissingNumbers | null>;
  /** Which jobs since an instant are missing; null where that cannot be read. */
  missingJobs(since: Date): Promise<MissingNumbers | null>;
  /** Whether a user or team has a role by itself; null where that cannot be read. */
  hasRole(role: number, holder: { readonly kind: string; readonly id: number }): Promise<boolean | null>;
  /** Whether a user or team has a role by the newer tables of roles; null where that cannot be read. */
  hasAssignment(assignment: AssignedRole): Promise<boolean | null>;
  /** Who has a role of an object; null where that cannot be read. */
  roleHolders(object: { readonly kind: string; readonly id: number }): Promise<readonly RoleHolder[] | null>;
  /** Whether two objects are linked, such as a template and a credential; null where that cannot be read. */
  hasLink(link: string, object: ObjectReference, other: ObjectReference): Promise<boolean | null>;
  /** Streams jobs, each list of the selector ascending by id. */
  jobs(selector: JobSelector): AsyncIterable<JobRecord>;
  /** How far the activity stream reaches. */
  extent(window: Window): Promise<StreamReach>;
  /** Entries without an actor in a period: the newest 2,000, newest first, and how many there are; null for more. */
  withoutActor(
    window: Window,
  ): Promise<{ readonly count: number | null; readonly some: readonly StreamEntry[] }>;
}

/** Evidence over a connection of its own. */
export type OpenEvidence = Evidence & { close(): Promise<void> };

/** Opens what is read of the names of users before one is trusted. */
export type OpenNames = () => Promise<
  Pick<OpenEvidence, 'nameChanges' | 'usersMade' | 'missingEntries' | 'extent' | 'close'>
>;

/** What an act needs of the entries that recorded the change. Values may be secrets. */
export interface CleaningValues {
  /** The values to write, by field; empty for an act that restores none. */
  readonly write: Readonly<Record<string, unknown>>;
  /** The values that the object has now, where they can be read: those that were compared with what the actor left. */
  readonly expected: Readonly<Record<string, unknown>>;
  /** Of a setting that gets its default again: the settings that it belongs to; null for any other act, or where it is not known. */
  readonly category: string | null;
  /** Both values as the activity stream has them: what the actor left, and what it was before. */
  readonly recorded: Readonly<Record<string, readonly [unknown, unknown]>>;
  /** The last entry about it; null if the item names none. */
  readonly entry: number | null;
}

/** Ends what an intruder left behind, one object at a time. */
export interface Cleaner {
  /** Why an act is not possible, as a sentence; null if it is. Makes no request. */
  refusal(act: CleaningAct): string | null;
  /**
   * Carries out an act. What is so already stays so. Throws `TokenctlError` as a target does.
   * @returns `unchanged` if there was nothing to do: the object is deleted, or the job has ended.
   * @throws TokenctlError `unsupported` where the target refuses it, for example because the object is in
   * use, or was changed since it was read.
   */
  apply(act: CleaningAct, values: CleaningValues): Promise<'done' | 'unchanged'>;
}
