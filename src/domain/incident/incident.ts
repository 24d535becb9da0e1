import { isDeepStrictEqual } from 'node:util';
import { controllerTime } from '../clock-difference.ts';
import { formatAlternatives } from '../selector.ts';

/** An entry of the audit log, as far as it says what was done. Plain JSON; no secrets. */
export interface IncidentEntry {
  /** `intent` before an act, `outcome` after it, `note` for what changes nothing by itself. */
  readonly kind: 'intent' | 'outcome' | 'note';
  /** The operation in dotted form, as its command: `tokens.revoke`, `settings.basic-auth`. */
  readonly operation: string;
  /** Ties the entries of one run of an operation together: a UUID. */
  readonly run: string;
  /** Its number: 1 for the first, without gaps. */
  readonly seq: number;
  /** When it was appended: RFC 3339, UTC, milliseconds. */
  readonly at: string;
  /** Who asked: the user of the operating system and the host, and the user at the target. */
  readonly actor: Readonly<Record<string, string>>;
  /** The target as `TargetDescription` names it: context and address. */
  readonly target: Readonly<Record<string, string>>;
  /** What is to be done or was done. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Of an outcome: the number of the intent whose outcome this is. */
  readonly closes?: number;
}

/** An incident: a lockdown, recorded so that it can be lifted. Instants are RFC 3339. */
export interface Incident {
  readonly id: string;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** The scope in words. */
  readonly selection: string;
  /** When it began, by the clock of the controller. */
  readonly since: string;
  /** The same by the clock of the machine that wrote the audit log, as the times of its entries. */
  readonly loggedAt: string;
  /** Who began it. */
  readonly by: Readonly<Record<string, string>>;
  readonly context: string;
  readonly reason: string | null;
  readonly ticket: string | null;
  /** When it is to be lifted; null for not by itself. */
  readonly until: string | null;
  /**
   * `unfinished` was killed half-way, or is under way; `locked` went through, `partly` left something; a
   * `lifting` one was begun to be lifted; `lifted` is over.
   */
  readonly state: 'unfinished' | 'locked' | 'partly' | 'lifting' | 'lifted';
  /** When its lockdown last went through, by the clock of the controller; null where it never did. */
  readonly locked: string | null;
  readonly lifted: { readonly at: string; readonly by: Readonly<Record<string, string>> } | null;
  /** When a lift of it last ended: after `lifted` where access was restored later. Null before the first. */
  readonly released: string | null;
  /** Whether its last lift was begun to leave the users deactivated; what finishes that lift goes by it. */
  readonly keepsDeactivated: boolean;
  /** What its lift left as the lockdown set it: users that stay deactivated, roles that stay taken. */
  readonly stays: readonly Kept[];
  /** What was there before, and the SHA-256 (hex) of that file. */
  readonly snapshot: { readonly file: string; readonly sha256: string } | null;
  /**
   * Until when (RFC 3339) what was issued before it may be accepted, or its settings not be applied, by the
   * name of the way in: as the lockdown said when it ended, and never earlier, whatever settings say since.
   */
  readonly ends: Readonly<Record<string, string>>;
  /** Ids of the caller's own tokens, which it left alive. */
  readonly kept: readonly number[];
}

/** The operations whose entries record incidents. */
export const incidentOperations: readonly string[] = [
  'incident.lockdown',
  'incident.extend',
  'incident.lift',
];

/** Whether an entry belongs to an incident. */
export function isIncidentEntry({ operation, data }: IncidentEntry): boolean {
  return incidentOperations.includes(operation) && typeof data['incident'] === 'string';
}

/** Whether an open incident is what a lockdown of this scope and these measures would go on with. */
export function isSame(
  incident: Incident,
  other: { readonly scope: LockdownScope; readonly measures: Measures },
): boolean {
  return (
    isSameScope(incident.scope, other.scope) &&
    isDeepStrictEqual(unbound(incident.measures), unbound(other.measures))
  );
}

function unbound({ keepActiveBound: _, ...measures }: Measures): Measures {
  return measures;
}

/** By ids where both have ids, by names otherwise. */
function isSameScope(one: LockdownScope, other: LockdownScope): boolean {
  if (!('names' in one && 'names' in other)) return isDeepStrictEqual(one, other);
  const ids = ({ bound }: typeof one) => bound?.map(({ id }) => id).sort((a, b) => a - b);
  return (
    one.kind === other.kind &&
    (one.bound === undefined || other.bound === undefined
      ? isDeepStrictEqual(one.names, other.names)
      : isDeepStrictEqual(ids(one), ids(other)))
  );
}

/** The incident that the first intent of a lockdown begins, or goes on with. */
export function openingOf(entry: IncidentEntry, before: Incident | null): Incident {
  const { data, at, actor, target } = entry;
  const text = (name: string) => (typeof data[name] === 'string' ? String(data[name]) : null);
  return {
    id: String(data['incident']),
    scope: data['scope'] as LockdownScope,
    measures: data['measures'] as Measures,
    selection: text('selection') ?? '',
    since: before?.since ?? controllerTime(entry).toISOString(),
    loggedAt: before?.loggedAt ?? at,
    by: before?.by ?? actor,
    context: target['context'] ?? '',
    reason: text('reason') ?? before?.reason ?? null,
    ticket: text('ticket') ?? before?.ticket ?? null,
    until: text('until') ?? before?.until ?? null,
    state: 'unfinished',
    locked: before?.locked ?? null,
    lifted: null,
    released: before?.released ?? null,
    keepsDeactivated: before?.keepsDeactivated ?? false,
    stays: before?.stays ?? [],
    snapshot: before?.snapshot ?? null,
    ends: before?.ends ?? {},
    kept: Array.isArray(data['kept']) ? data['kept'].filter((id) => Number.isSafeInteger(id)) : [],
  };
}

/** A value that a lockdown sets: a switch, or a number of seconds. */
export type LockValue = boolean | number;

/** One thing that a lockdown sets, with the value that was there before. */
export interface Lock {
  readonly what: 'setting' | 'user' | 'role';
  /**
   * The setting, in the controller's name (`OAUTH2_PROVIDER.` before those in there); the user's name; or the
   * user's name and the role (`alice: Admin of organization Eng`).
   */
  readonly name: string;
  /** Of a user, or of a role that a user holds. */
  readonly userId?: number;
  /** Of a role: its id, the flag of the user, or what names it in the newer tables of roles. */
  readonly role?: number | 'superuser' | 'system_auditor' | `definition:${string}`;
  /** What it was, where several incidents hold it before the first: of a user whether active, of a role whether held. */
  readonly before: LockValue;
  readonly locked: LockValue;
}

/** A user that a lift left deactivated, or a role that it did not restore. */
export type Kept = Omit<Lock, 'before' | 'locked'>;

/** What the outcome of a lift says that it kept; invalid ones are omitted. */
export function keptIn({ left }: Readonly<Record<string, unknown>>): Kept[] {
  const items: readonly unknown[] = Array.isArray(left) ? left : [];
  return items
    .map((item) => ({ ...Object(item), before: true, locked: false }) as Lock & { readonly action?: unknown })
    .filter((item) => item.action === 'stays' && item.what !== 'setting' && isLock(item))
    .map(({ what, name, userId, role }) => ({
      what,
      name,
      ...(userId !== undefined && { userId }),
      ...(role !== undefined && { role }),
    }));
}

/** Names what a lock sets: the same for every incident that sets it. */
export function lockKey({ what, name, userId, role }: Omit<Lock, 'before' | 'locked'>): string {
  if (what === 'role') return `role:${userId}:${role}`;
  return what === 'user' ? `user:${userId}` : `setting:${name}`;
}

/** The locks in an entry of the audit log; invalid ones are omitted. */
export function locksIn(data: Readonly<Record<string, unknown>>): Lock[] {
  const { locks } = data;
  return Array.isArray(locks) ? locks.filter(isLock) : [];
}

function isLock(value: unknown): value is Lock {
  if (typeof value !== 'object' || value === null) return false;
  const { what, name, userId, role, before, locked } = value as Readonly<Record<string, unknown>>;
  const isRole =
    Number.isSafeInteger(role) ||
    (typeof role === 'string' && /^(superuser|system_auditor|definition:\d+:\d*)$/.test(role));
  return (
    (what === 'setting' ||
      (Number.isSafeInteger(userId) && (what === 'user' || (what === 'role' && isRole)))) &&
    typeof name === 'string' &&
    isLockValue(before) &&
    isLockValue(locked)
  );
}

function isLockValue(value: unknown): value is LockValue {
  return typeof value === 'boolean' || typeof value === 'number';
}

/** Which kinds of identity provider an account can come from, in the controller's words; `any` is every one. */
export const providers = ['ldap', 'social', 'enterprise', 'any'] as const;

/** One of {@link providers}. */
type Provider = (typeof providers)[number];

/** A user or application that a name was resolved to: the id counts, whatever it is called since. */
export interface Bound {
  readonly id: number;
  /** As it was called then. */
  readonly name: string;
  /** When it was made (RFC 3339); absent where the target does not tell. */
  readonly created?: string;
}

/** Names, and what they were resolved to. */
interface Named {
  readonly names: readonly string[];
  /** Absent before the names are resolved, and in older incidents. */
  readonly bound?: readonly Bound[];
}

/** The users or applications that a lockdown affects. */
export type LockdownScope =
  | ({ readonly kind: 'users' } & Named)
  | ({ readonly kind: 'applications' } & Named)
  | { readonly kind: 'identity_provider'; readonly provider: Provider }
  | { readonly kind: 'all' };

/** What ends the access of users where they cannot be deactivated. Absent where it was not asked for, as in old entries. */
export interface LocalMeasures {
  /** Gives local users a random password, which is not kept. */
  readonly resetPasswords?: true;
  /** Takes the roles and flags of users. */
  readonly stripRoles?: true;
  /** Deletes the applications that are meant, or that the users made. */
  readonly endApplications?: true;
}

/** What a lockdown changes in addition to revoking tokens and ending sessions. */
export interface Measures extends LocalMeasures {
  /** Turns basic authentication off. */
  readonly basicAuthentication: boolean;
  /** Stops external users from creating tokens. */
  readonly externalTokens: boolean;
  /** Deactivates the users that are meant, but the caller and these. */
  readonly deactivate: boolean;
  readonly keepActive: readonly string[];
  /** The users of `keepActive`; absent as in a scope. */
  readonly keepActiveBound?: readonly Bound[];
  /** Shortens the lifetimes of new tokens. */
  readonly lifetimes: boolean;
}

/** A scope in words, as the end of a sentence. */
export function describeScope(scope: LockdownScope): string {
  switch (scope.kind) {
    case 'users':
      return `the access of ${formatAlternatives(scope.names)}`;
    case 'applications':
      return `the tokens of the application ${formatAlternatives(scope.names)}`;
    case 'identity_provider':
      return scope.provider === 'any'
        ? 'the access of all users from identity providers'
        : `the access of all users from identity providers of kind ${scope.provider}`;
    case 'all':
      return 'the access of all users';
  }
}

/** An incident, as far as it decides what the log must keep. */
type Needed = Pick<Incident, 'state' | 'stays' | 'loggedAt' | 'released'>;

/** Whether a lift of an incident has work left: it is open, or its last lift left users deactivated or roles taken. */
export function isHeld({ state, stays }: Pick<Incident, 'state' | 'stays'>): boolean {
  return state !== 'lifted' || stays.length > 0;
}

/**
 * The oldest instant (RFC 3339) from which the log must be kept so that every open incident can be lifted, and what lifts left can
 * be restored; null without such. Any other incident is still needed if one of these began before its last lift: the original
 * value is recorded with the first.
 */
export function neededSince(incidents: readonly Needed[]): string | null {
  let since: string | null = null;
  for (const incident of incidents.toSorted((a, b) => endOf(b) - endOf(a))) {
    const { released, loggedAt } = incident;
    const isNeeded = isHeld(incident) || (since !== null && released !== null && released >= since);
    if (isNeeded && (since === null || loggedAt < since)) since = loggedAt;
  }
  return since;
}

/** Those that are held end last. */
function endOf(incident: Needed): number {
  return isHeld(incident) || incident.released === null
    ? Number.MAX_SAFE_INTEGER
    : Date.parse(incident.released);
}
