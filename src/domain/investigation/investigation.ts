import type { Visibility } from '../claims.ts';
import type { Severity } from '../policy/rule.ts';

export type InvestigationSubject =
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'token'; readonly id: number; readonly user: string }
  | { readonly kind: 'application'; readonly name: string; readonly users: readonly string[] };

/** A user of the controller. Over REST, a deleted user has no id, only the name in the activity stream. */
export interface Actor {
  readonly id: number | null;
  readonly username: string;
}

/**
 * An object of the controller; its kind in the controller's terms (`job_template`, `o_auth2_access_token`).
 */
export interface ObjectReference {
  readonly kind: string;
  /** Null if the activity stream no longer has it: it drops the links of deleted objects. */
  readonly id: number | null;
  readonly name: string | null;
}

/** A user whose actions count, and why. */
export interface ChainLink {
  readonly user: Actor;
  /**
   * `subject`: named by the investigation; `made`: created by `by`; `password_set`: `by` set the password.
   */
  readonly how: 'subject' | 'made' | 'password_set';
  /** Who brought this user into the chain; null for the subject. */
  readonly by: Actor | null;
  /** The id of the item that did so ({@link InvestigationItem.id}); null for the subject. */
  readonly through: string | null;
  /** 0 for the subject. */
  readonly depth: number;
  /** The user's actions count from this instant (RFC 3339). */
  readonly since: string;
  /** Whether the user still exists; null if this account cannot see that. */
  readonly exists: boolean | null;
}

/** The kinds of items: access paths, code that runs later, something that ran, or anything else. */
export const itemGroups = ['ways_in', 'code_later', 'ran', 'other'] as const;

export type ItemGroup = (typeof itemGroups)[number];

export const itemStates = ['there', 'running', 'unknown', 'finished', 'undone', 'changed', 'gone'] as const;

/**
 * The current state of an item.
 * - `there`: as the actor left it, in whole or in part
 * - `running`: a job that has not ended
 * - `unknown`: not checked; `stateReason` says why
 * - `finished`: a job that has ended
 * - `undone`: every changed value is as before, or a user is deactivated, a schedule or host switched off
 * - `changed`: another user has changed every value again, and nothing of the actor's is left
 * - `gone`: deleted
 */
type ItemState = (typeof itemStates)[number];

/** The states of an item that must still be resolved. */
const remainingStates: readonly ItemState[] = ['there', 'running', 'unknown'];

/** A field that the actor changed. Values are from the activity stream, truncated and without secrets. */
export interface FieldChange {
  readonly field: string;
  /**
   * The value before the actor's change, or before the last changes without another user's in between; absent
   * if hidden, or if the object was created.
   */
  readonly before?: unknown;
  /** The value after the actor's last change; absent if hidden. */
  readonly after?: unknown;
  /** The value now; absent if hidden or not read. */
  readonly now?: unknown;
  /** Whether the values are, or may contain, secrets: they are not printed. */
  readonly hidden: boolean;
  /**
   * The current value, compared with the actor's.
   * - `as_left`: the value that the actor left
   * - `left_in_part`: others changed it since; a line, member or entry of the actor is still there
   * - `as_before`: the value before the actor's first change
   * - `changed`: nothing of the actor is left
   * - `not_reviewed`: others changed it since, and the values do not show what is left of the actor's
   * - `unknown`: not read
   */
  readonly state: 'as_left' | 'left_in_part' | 'as_before' | 'changed' | 'not_reviewed' | 'unknown';
  /** The value before is the default of a setting, which no entry contains. */
  readonly isDefault?: true;
  /**
   * Others changed it between the actor's changes, and the value before the last of these contains something
   * from the actor: there is no value to restore.
   */
  readonly isMixed?: true;
  /** The activity stream entry with the value before. */
  readonly entry: number;
  /** The actor's last entry that changed it. */
  readonly lastEntry: number;
}

/** A later change of the same object by a user outside the chain. */
export interface LaterChange {
  readonly entry: number;
  readonly at: string;
  /** Null for an entry without an actor: a management command, the controller itself, or a deleted user. */
  readonly by: Actor | null;
  readonly operation: string;
  /** The changed fields; empty for other operations. */
  readonly fields: readonly string[];
}

/** The facts about a job, an ad hoc command or an update. */
export interface JobFacts {
  readonly status: string;
  /** `manual`, `scheduled`, `webhook`, `callback`, …; null if unknown. */
  readonly launchType: string | null;
  readonly started: string | null;
  readonly finished: string | null;
  /** What it was launched from. */
  readonly template: ObjectReference | null;
  /** The names of the credentials used. */
  readonly credentials: readonly string[];
  /** Number of hosts in the controller's host summaries; null if not read. */
  readonly hosts: number | null;
  /** Whether the actor launched it, or it ran something that the actor created or changed. */
  readonly because: 'launched' | 'made' | 'changed';
}

/** How to resolve an item. */
export interface ItemRemedy {
  /** `command` can be pasted unchanged; `call` is one request of the REST API; `manual` is a sentence. */
  readonly kind: 'command' | 'call' | 'manual';
  readonly text: string;
  /** For a `call` that was not tested on any controller. */
  readonly isUntried?: true;
}

export interface ItemFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
}

/** A role of a user or team in the newer role tables, with what is needed to create it again. */
export interface AssignedRole {
  readonly definition: number;
  readonly holder: { readonly kind: 'user' | 'team'; readonly id: number };
  /** The id of the object that it is about; null for a system role. */
  readonly about: number | null;
}

/** What the actor did to one object: all entries about it together. Instants are RFC 3339. */
export interface InvestigationItem {
  /**
   * The item's id, equal in all investigations of the same actions: `schedule:6`, `setting:OAUTH2_PROVIDER`.
   */
  readonly id: string;
  readonly group: ItemGroup;
  /**
   * `made` an object, `changed` its fields, `granted` a role, `linked` two objects, `removed` a role or a
   * link, `deleted` an object, `launched` a job.
   */
  readonly act: 'made' | 'changed' | 'granted' | 'linked' | 'removed' | 'deleted' | 'launched';
  readonly object: ObjectReference;
  /** The other object of a role or link: what the role is about, or what was linked. */
  readonly other: ObjectReference | null;
  /** A granted or removed role: its field (`admin_role`) and its id, if known. */
  readonly role: { readonly id: number | null; readonly field: string | null } | null;
  /** For a role assignment, which the stream does not record; missing in a file of an earlier version. */
  readonly assignment?: AssignedRole | null;
  /** The link's name in the REST API (`credentials`, `notification_templates_success`); may be empty. */
  readonly link: string;
  /** The action as a phrase: `created the schedule nightly (6)`. */
  readonly summary: string;
  /** Who did it; several if several users of the chain did. */
  readonly by: readonly Actor[];
  readonly first: string;
  readonly last: string;
  /** The ids of the entries in the activity stream, at most a hundred. */
  readonly entries: readonly number[];
  readonly entryCount: number;
  readonly state: ItemState;
  /** Why the state is `unknown`; null for any other. */
  readonly stateReason: string | null;
  readonly changes: readonly FieldChange[];
  readonly changedSince: readonly LaterChange[];
  readonly job: JobFacts | null;
  readonly findings: readonly ItemFinding[];
  /** The highest severity of the findings; null without findings. */
  readonly risk: Severity | null;
  readonly remedy: ItemRemedy | null;
}

/** Something that the investigation cannot know, or did not read. */
export interface EvidenceLimit {
  readonly limit:
    | 'stream_off'
    | 'stream_pruned'
    | 'entries_missing'
    | 'jobs_missing'
    | 'no_actor'
    | 'renamed'
    | 'clock'
    | 'visibility'
    | 'not_recorded'
    | 'token_unknown'
    | 'links_lost'
    | 'bound_reached'
    | 'not_listed'
    | 'honest_work';
  readonly text: string;
  /** The counted entries if the limit is about them; absent otherwise, and in files of earlier versions. */
  readonly entries?: NamelessEntries;
}

/** The entries of the period without a user, including tokenctl's. */
export interface NamelessEntries {
  /** Null for more than can be counted. */
  readonly count: number | null;
  /** What they lack, in the terms of the stream. */
  readonly lack: 'actor' | 'user';
  /** Who writes such entries, and what else hides an actor. */
  readonly why: string;
}

/** An entry about access without an actor, which may be the investigated actor's. */
export interface UnattributedEntry extends Omit<LaterChange, 'by'> {
  readonly object: ObjectReference;
  /** The other object of a link; what a role is about. Missing otherwise, and in older files. */
  readonly other?: ObjectReference;
  /** The token's owner; null for other objects, and for a token deleted since. */
  readonly owner: string | null;
}

/** How far back the activity stream goes. */
interface StreamExtent {
  /** Whether the controller records activity now; null if this account may not read the setting. */
  readonly enabled: boolean | null;
  /** When its oldest entry was written; null for an empty stream. */
  readonly oldest: string | null;
  /**
   * The gap in the period, as a sentence; null if none is known. Missing in a file of an earlier version, and
   * null for an account that does not see everything.
   */
  readonly hole?: string | null;
  /** Number of the actors' entries that were read. */
  readonly read: number;
  /** Number of entries in the window without an actor; null if not counted. */
  readonly withoutActor: number | null;
}

/** What the owner of a stolen token did in the period before it was created, and so without it. */
export interface BeforeToken {
  /** When the token was created (RFC 3339): the theft did not begin earlier. */
  readonly madeAt: string;
  /** In chronological order. Each is `unknown`: its current state was not read. No cleaning includes them. */
  readonly items: readonly InvestigationItem[];
  /** Whether no entries about further objects were omitted. */
  readonly isWhole: boolean;
}

/** What an actor did, what remains of it, and what is unknown. Plain JSON, saved unchanged. */
export interface Investigation {
  readonly format: 'tokenctl-investigation';
  readonly version: 1;
  readonly madeAt: string;
  readonly target: {
    readonly context: string;
    readonly address: string;
    readonly installUuid: string | null;
    readonly dialect: 'controller' | 'gateway' | 'service';
    readonly version: string | null;
  };
  /** The account that investigated, as the target identifies it. */
  readonly as: string;
  readonly visibility: Visibility;
  readonly incident: string | null;
  readonly subject: InvestigationSubject;
  readonly since: string;
  /** What `since` is: given, the token's or application's creation, or a default. Missing in older files. */
  readonly begins?: 'given' | 'created' | 'default' | undefined;
  readonly until: string;
  readonly chain: readonly ChainLink[];
  /** By group, then risk, then time. */
  readonly items: readonly InvestigationItem[];
  /** Not part of `items`. Missing without a stolen token, or if the period begins after its creation. */
  readonly beforeToken?: BeforeToken;
  /** What the actor may have read, as sentences. */
  readonly mayHaveRead: readonly string[];
  /** Some of them, newest first. */
  readonly unattributed: readonly UnattributedEntry[];
  /** Their number among the newest entries that were read; missing in a file of an earlier version. */
  readonly unattributedCount?: number;
  readonly stream: StreamExtent;
  readonly limits: readonly EvidenceLimit[];
}

/** Whether a field may contain something from the actor. */
export function isLeft({ state }: Pick<FieldChange, 'state'>): boolean {
  return state !== 'as_before' && state !== 'changed';
}

/** Whether anything of an item may still exist: access, code that runs later, or any other change. */
export function isStillThere({ state }: Pick<InvestigationItem, 'state'>): boolean {
  return remainingStates.includes(state);
}

/** Whether it is a created user, schedule or host that is off now: it can be switched on again. */
export function isSwitchedOff({ state, act }: Pick<InvestigationItem, 'state' | 'act'>): boolean {
  return state === 'undone' && act === 'made';
}

/** The state of an item in words, as it was read. Does not say who did it. */
export function stateText({
  state,
  act,
  object,
}: Pick<InvestigationItem, 'state' | 'act' | 'object'>): string {
  if (state !== 'undone') return state.replaceAll('_', ' ');
  if (act !== 'made') return 'restored';
  return object.kind === 'user' ? 'deactivated' : 'switched off';
}

/** Who did it, by name; empty if not recorded. */
export function whoText({ by }: Pick<InvestigationItem, 'by'>): string {
  return by.map(({ username }) => username).join(', ');
}

const USER_FLAGS: Readonly<Record<string, string>> = {
  is_superuser: 'superuser',
  is_system_auditor: 'auditor',
};

/**
 * The summary of an item. For a created token, with its description and scope, which distinguish it from
 * others; for a created user, with its original rights. Contains data from users.
 */
export function describedSummary({
  summary,
  object,
  act,
  changes,
}: Pick<InvestigationItem, 'summary' | 'object' | 'act' | 'changes'>): string {
  if (act !== 'made') return summary;
  if (object.kind === 'user') {
    const roles = ['is_superuser', 'is_system_auditor'].filter((name) =>
      changes.some(({ field, hidden, after }) => field === name && !hidden && after === true),
    );
    return roles.length === 0 ? summary : `${summary}: ${roles.map((name) => USER_FLAGS[name]).join(', ')}`;
  }
  if (object.kind !== 'o_auth2_access_token') return summary;
  const known = ['description', 'scope'].flatMap((name) => {
    const after = changes.find(({ field, hidden }) => field === name && !hidden)?.after;
    return typeof after === 'string' && after !== ''
      ? [name === 'scope' ? `scope ${after}` : `"${after}"`]
      : [];
  });
  return known.length === 0 ? summary : `${summary}: ${known.join(', ')}`;
}

/**
 * Whether an item is the creation of the stolen token by the subject of the investigation: the theft began
 * with it, and it is not an action of the intruder.
 */
export function isStolenToken(
  { id, act }: Pick<InvestigationItem, 'id' | 'act'>,
  { subject }: Pick<Investigation, 'subject'>,
): boolean {
  return subject.kind === 'token' && act === 'made' && id === `o_auth2_access_token:${subject.id}`;
}

/** Whether an item that gives access or runs code still exists. */
export function remains({ state, group }: Pick<InvestigationItem, 'state' | 'group'>): boolean {
  return group !== 'other' && isStillThere({ state });
}

/** Whether an item still exists that gives no access and runs no code by any rule, such as a description. */
export function isOtherChangeLeft({ state, group }: Pick<InvestigationItem, 'state' | 'group'>): boolean {
  return group === 'other' && isStillThere({ state });
}
