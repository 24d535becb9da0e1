import type { Visibility } from '../claims.ts';
import type { Severity } from '../policy/rule.ts';

/** Whose deeds are investigated. */
export type InvestigationSubject =
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'token'; readonly id: number; readonly user: string }
  | { readonly kind: 'application'; readonly name: string; readonly users: readonly string[] };

/** A user of the controller. A deleted user has no id over REST, only the name that the activity stream keeps. */
export interface Actor {
  readonly id: number | null;
  readonly username: string;
}

/** An object of the controller: its kind in the controller's words (`job_template`, `o_auth2_access_token`). */
export interface ObjectReference {
  readonly kind: string;
  /** Null where the activity stream no longer has it: it drops the links of deleted objects. */
  readonly id: number | null;
  readonly name: string | null;
}

/** A user whose deeds count, and why. */
export interface ChainLink {
  readonly user: Actor;
  /** `subject`: named by the investigation; `made`: created by `by`; `password_set`: `by` set the password. */
  readonly how: 'subject' | 'made' | 'password_set';
  /** Who brought this user into the chain; null for the subject. */
  readonly by: Actor | null;
  /** The item through which ({@link InvestigationItem.id}); null for the subject. */
  readonly through: string | null;
  /** 0 for the subject. */
  readonly depth: number;
  /** The deeds of the user count from this instant (RFC 3339). */
  readonly since: string;
  /** Whether the user still exists; null where this account cannot see that. */
  readonly exists: boolean | null;
}

/** What an item means: a way in, a way to run code later, something that ran, or anything else. */
export const itemGroups = ['ways_in', 'code_later', 'ran', 'other'] as const;

/** One of {@link itemGroups}. */
export type ItemGroup = (typeof itemGroups)[number];

export const itemStates = ['there', 'running', 'unknown', 'finished', 'undone', 'changed', 'gone'] as const;

/**
 * What an item is now.
 * - `there`: as the actor left it, in whole or in part
 * - `running`: a job that has not ended
 * - `unknown`: not checked; `stateReason` says why
 * - `finished`: a job that has ended
 * - `undone`: every changed value is as it was before, or a user is deactivated, a schedule or host switched off
 * - `changed`: every changed value was changed again since by another user, and holds nothing that the actor
 * put in
 * - `gone`: deleted
 */
type ItemState = (typeof itemStates)[number];

/** The states of an item that is left to deal with. */
const remainingStates: readonly ItemState[] = ['there', 'running', 'unknown'];

/** A field that the actor changed. Values are as the activity stream has them, without secrets, cut to some length. */
export interface FieldChange {
  readonly field: string;
  /**
   * The value before the actor's change, or before the last ones that no one else interrupted; absent if hidden, or if the object was
   * created.
   */
  readonly before?: unknown;
  /** The value after the actor's last change; absent if hidden. */
  readonly after?: unknown;
  /** The value now; absent if hidden or not read. */
  readonly now?: unknown;
  /** The values are, or may contain, secrets: they are not printed. */
  readonly hidden: boolean;
  /**
   * What the field is now, compared with what the actor put in.
   * - `as_left`: the value that the actor left
   * - `left_in_part`: others changed it since; a line, member or entry that the actor put in is still there
   * - `as_before`: the value before the actor's first change
   * - `changed`: nothing that the actor put in is there
   * - `not_reviewed`: others changed it since, and the values do not show what is left of the actor's
   * - `unknown`: not read
   */
  readonly state: 'as_left' | 'left_in_part' | 'as_before' | 'changed' | 'not_reviewed' | 'unknown';
  /** The value before is the default of a setting, which no entry has. */
  readonly isDefault?: true;
  /**
   * Others changed it between changes of the actor, and the value before the last of these holds something that the actor put in:
   * there is no value to go back to.
   */
  readonly isMixed?: true;
  /** The entry of the activity stream that has the value before. */
  readonly entry: number;
  /** The last entry of the actor that changed it. */
  readonly lastEntry: number;
}

/** A change of the same object by a user outside the chain, after the actor's. */
export interface LaterChange {
  readonly entry: number;
  readonly at: string;
  /** Null for an entry without an actor: a management command, the controller itself, or a deleted user. */
  readonly by: Actor | null;
  readonly operation: string;
  /** The changed fields; empty for other operations. */
  readonly fields: readonly string[];
}

/** What is known of a job, an ad hoc command or an update. */
export interface JobFacts {
  readonly status: string;
  /** `manual`, `scheduled`, `webhook`, `callback`, …; null if unknown. */
  readonly launchType: string | null;
  readonly started: string | null;
  readonly finished: string | null;
  /** What it was launched from. */
  readonly template: ObjectReference | null;
  /** The names of the credentials that it used. */
  readonly credentials: readonly string[];
  /** How many hosts it reached by the host summaries of the controller; null if not read. */
  readonly hosts: number | null;
  /** Whether the actor launched it, or something that the actor made or changed was what ran. */
  readonly because: 'launched' | 'made' | 'changed';
}

/** How to deal with an item. */
export interface ItemRemedy {
  /** `command` can be pasted as it is; `call` is one request of the REST API; `manual` is a sentence. */
  readonly kind: 'command' | 'call' | 'manual';
  readonly text: string;
  /** Of a `call`: no controller was seen carrying it out. */
  readonly isUntried?: true;
}

/** One verdict of the rules on an item. */
export interface ItemFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
}

/** A role that a user or team has by the newer tables of roles: what makes it again. */
export interface AssignedRole {
  readonly definition: number;
  readonly holder: { readonly kind: 'user' | 'team'; readonly id: number };
  /** The id of the object that it is about; null for a role of the system. */
  readonly about: number | null;
}

/** One thing that the actor did to one object, all entries about it together. Instants are RFC 3339. */
export interface InvestigationItem {
  /** Names the item, the same in every investigation of the same deeds: `schedule:6`, `setting:OAUTH2_PROVIDER`. */
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
  /** A granted or removed role: its field (`admin_role`) and its id, where they are known. */
  readonly role: { readonly id: number | null; readonly field: string | null } | null;
  /** Of a role assignment, which the activity stream does not record; missing in a file of an earlier version. */
  readonly assignment?: AssignedRole | null;
  /** The name of a link in the REST API (`credentials`, `notification_templates_success`); empty for anything else. */
  readonly link: string;
  /** What was done, as a phrase: `created the schedule nightly (6)`. */
  readonly summary: string;
  /** Who did it; more than one if several users of the chain did. */
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
  /** What the limit is that counts entries; absent for any other, and in a file of an earlier version. */
  readonly entries?: NamelessEntries;
}

/** The entries of the period that name no one, those of tokenctl too. */
export interface NamelessEntries {
  /** Null for more than are counted. */
  readonly count: number | null;
  /** What they lack, in the words of the stream. */
  readonly lack: 'actor' | 'user';
  /** Who writes such entries, and what else hides an actor. */
  readonly why: string;
}

/** An entry without an actor that is about access, and that may be the actor's. */
export interface UnattributedEntry extends Omit<LaterChange, 'by'> {
  readonly object: ObjectReference;
  /** The other object of a link; what a role is about. Missing in a file of an earlier version, and for any other entry. */
  readonly other?: ObjectReference;
  /** Whose token it is; null for other objects, and for a token that was deleted since. */
  readonly owner: string | null;
}

/** How far the activity stream reaches. */
interface StreamExtent {
  /** Whether the controller records activity now; null if this account may not read the setting. */
  readonly enabled: boolean | null;
  /** When its oldest entry was written; null for an empty stream. */
  readonly oldest: string | null;
  /**
   * What is missing of it in the period, as a sentence; null where nothing is known to be. Missing in a file of an earlier version, and
   * null for an account that sees only part.
   */
  readonly hole?: string | null;
  /** How many entries of the actors were read. */
  readonly read: number;
  /** How many entries in the window have no actor; null where that was not counted. */
  readonly withoutActor: number | null;
}

/** What the owner of a stolen token did in the period before the token was made: no one did it with that token. */
export interface BeforeToken {
  /** When the token was made (RFC 3339): the theft did not begin before. */
  readonly madeAt: string;
  /** In order of time. What became of them was not read: each is `unknown`. No cleaning takes them. */
  readonly items: readonly InvestigationItem[];
  /** Whether no entry about a further object was left out. */
  readonly isWhole: boolean;
}

/** What an actor did, what remains of it, and what is not known. Plain JSON: it is saved as it is. */
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
  /** Who investigated, as the target knows it. */
  readonly as: string;
  readonly visibility: Visibility;
  /** The incident that it belongs to. */
  readonly incident: string | null;
  readonly subject: InvestigationSubject;
  readonly since: string;
  /** What `since` is: given, the creation of the token or application, or a default. Missing in a file of an earlier version. */
  readonly begins?: 'given' | 'created' | 'default' | undefined;
  readonly until: string;
  readonly chain: readonly ChainLink[];
  /** By group, then risk, then time. */
  readonly items: readonly InvestigationItem[];
  /** Not among `items`. Missing where the period begins after the stolen token was made, or the subject is no token. */
  readonly beforeToken?: BeforeToken;
  /** What the actor may have read, as sentences. */
  readonly mayHaveRead: readonly string[];
  /** Newest first, some of them. */
  readonly unattributed: readonly UnattributedEntry[];
  /** How many there are among the newest entries that were read; missing in a file of an earlier version. */
  readonly unattributedCount?: number;
  readonly stream: StreamExtent;
  readonly limits: readonly EvidenceLimit[];
}

/** Whether a field may hold something that the actor put in. */
export function isLeft({ state }: Pick<FieldChange, 'state'>): boolean {
  return state !== 'as_before' && state !== 'changed';
}

/** Whether anything of an item may be there still: access, code that runs later, or another change, such as a new description. */
export function isStillThere({ state }: Pick<InvestigationItem, 'state'>): boolean {
  return remainingStates.includes(state);
}

/** Whether it is a user, schedule or host that was made and is off now: it can be switched on again. */
export function isSwitchedOff({ state, act }: Pick<InvestigationItem, 'state' | 'act'>): boolean {
  return state === 'undone' && act === 'made';
}

/** The state of an item in words, as it was read: nothing in it says who did it. */
export function stateText({
  state,
  act,
  object,
}: Pick<InvestigationItem, 'state' | 'act' | 'object'>): string {
  if (state !== 'undone') return state.replaceAll('_', ' ');
  if (act !== 'made') return 'restored';
  return object.kind === 'user' ? 'deactivated' : 'switched off';
}

/** Who did it, by name; empty where no one is recorded. */
export function whoText({ by }: Pick<InvestigationItem, 'by'>): string {
  return by.map(({ username }) => username).join(', ');
}

const USER_FLAGS: Readonly<Record<string, string>> = {
  is_superuser: 'superuser',
  is_system_auditor: 'auditor',
};

/**
 * The summary of an item; of a token that was made with its description and scope, which tell it from others; of a user that was made
 * with the rights that it was made with. Data of users.
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
 * Whether an item is the making of the token that was stolen, by the subject of the investigation: the theft began with it, and it is no
 * act of the intruder.
 */
export function isStolenToken(
  { id, act }: Pick<InvestigationItem, 'id' | 'act'>,
  { subject }: Pick<Investigation, 'subject'>,
): boolean {
  return subject.kind === 'token' && act === 'made' && id === `o_auth2_access_token:${subject.id}`;
}

/** Whether an item is there still that gives access, or runs code. */
export function remains({ state, group }: Pick<InvestigationItem, 'state' | 'group'>): boolean {
  return group !== 'other' && isStillThere({ state });
}

/** Whether an item is a change that gives no access and runs no code by any rule, such as a new description, and is still there. */
export function isOtherChangeLeft({ state, group }: Pick<InvestigationItem, 'state' | 'group'>): boolean {
  return group === 'other' && isStillThere({ state });
}
