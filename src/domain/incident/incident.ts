import { isDeepStrictEqual } from 'node:util';
import { controllerTime } from '../clock-difference.ts';
import { formatAlternatives } from '../selector.ts';

/** An entry of the audit log, without what chains it. Plain JSON; no secrets. */
export interface IncidentEntry {
  /** `intent` before an act, `outcome` after it, `note` for an event that changes nothing by itself. */
  readonly kind: 'intent' | 'outcome' | 'note';
  /** The operation in dotted form, named after its command: `tokens.revoke`, `settings.basic-auth`. */
  readonly operation: string;
  /** The UUID shared by the entries of one run of an operation. */
  readonly run: string;
  /** Its number, starting at 1, without gaps. */
  readonly seq: number;
  /** When it was appended: RFC 3339, UTC, milliseconds. */
  readonly at: string;
  /** The requester: the operating system user and host, and the user at the target. */
  readonly actor: Readonly<Record<string, string>>;
  /** Context and address, as in `TargetDescription`. */
  readonly target: Readonly<Record<string, string>>;
  /** What is intended or was done. */
  readonly data: Readonly<Record<string, unknown>>;
  /** For an outcome: the number of its intent. */
  readonly closes?: number;
}

/** An incident: a lockdown, recorded so that it can be lifted. Instants are RFC 3339. */
export interface Incident {
  readonly id: string;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  readonly selection: string;
  /** When it began, by the controller's clock. */
  readonly since: string;
  /** The same by the clock of the machine that wrote the audit log, like its entries. */
  readonly loggedAt: string;
  readonly by: Readonly<Record<string, string>>;
  readonly context: string;
  readonly reason: string | null;
  readonly ticket: string | null;
  /** When it is to be lifted; null for no automatic lift. */
  readonly until: string | null;
  /**
   * `unfinished`: killed part-way, or in progress. `locked`: complete. `partly`: something was left.
   * `lifting`: a lift has begun. `lifted`: ended.
   */
  readonly state: 'unfinished' | 'locked' | 'partly' | 'lifting' | 'lifted';
  /** When its lockdown was last complete, by the controller's clock; null if it never was. */
  readonly locked: string | null;
  readonly lifted: { readonly at: string; readonly by: Readonly<Record<string, string>> } | null;
  /** When its last lift ended: later than `lifted` if access was restored later. Null before the first. */
  readonly released: string | null;
  /** Whether its last lift was started to keep users deactivated; the run that finishes it does the same. */
  readonly keepsDeactivated: boolean;
  /** What its lift left locked: users that stay deactivated, roles that stay removed. */
  readonly stays: readonly Kept[];
  /** The snapshot's file, and its SHA-256 (hex). */
  readonly snapshot: { readonly file: string; readonly sha256: string } | null;
  /**
   * Until when (RFC 3339) earlier credentials may be accepted, or its settings not be applied, by access
   * path: as the lockdown recorded when it ended, and never earlier, even if settings changed since.
   */
  readonly ends: Readonly<Record<string, string>>;
  /** Ids of the caller's own tokens, which it kept. */
  readonly kept: readonly number[];
}

export const incidentOperations: readonly string[] = [
  'incident.lockdown',
  'incident.extend',
  'incident.lift',
];

export function isIncidentEntry({ operation, data }: IncidentEntry): boolean {
  return incidentOperations.includes(operation) && typeof data['incident'] === 'string';
}

/** Whether a lockdown with this scope and these measures would continue an open incident. */
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

/** By id if both have ids, otherwise by name. */
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

/** The incident that the first intent of a lockdown begins or continues. */
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

/** One value that a lockdown sets, with the value before. */
export interface Lock {
  readonly what: 'setting' | 'user' | 'role';
  /**
   * The setting, in the controller's name (with `OAUTH2_PROVIDER.` for those within it); the user's name; or
   * the user's name and the role (`alice: Admin of organization Eng`).
   */
  readonly name: string;
  /** For a user, or for a role that a user holds. */
  readonly userId?: number;
  /** For a role: its id, the user's flag, or its key in the newer role tables. */
  readonly role?: number | 'superuser' | 'system_auditor' | `definition:${string}`;
  /** The value before the first incident that holds it: whether a user is active, or a role is held. */
  readonly before: LockValue;
  readonly locked: LockValue;
}

/** A user that a lift left deactivated, or a role that it did not restore. */
export type Kept = Omit<Lock, 'before' | 'locked'>;

/** What a lift kept, from its outcome; invalid items are omitted. */
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

/** The key of what a lock sets, the same for every incident that sets it. */
export function lockKey({ what, name, userId, role }: Omit<Lock, 'before' | 'locked'>): string {
  if (what === 'role') return `role:${userId}:${role}`;
  return what === 'user' ? `user:${userId}` : `setting:${name}`;
}

/** The locks in an audit log entry; invalid ones are omitted. */
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

/** The kinds of identity provider of an account, in the controller's terms; `any` means all. */
export const providers = ['ldap', 'social', 'enterprise', 'any'] as const;

type Provider = (typeof providers)[number];

/** The user or application that a name was resolved to: the id counts, even after a rename. */
export interface Bound {
  readonly id: number;
  /** The name at that time. */
  readonly name: string;
  /** When it was created (RFC 3339); absent if the target does not show it. */
  readonly created?: string;
}

/** Names, and what they were resolved to. */
interface Named {
  readonly names: readonly string[];
  /** Absent before the names are resolved, and in older incidents. */
  readonly bound?: readonly Bound[];
}

export type LockdownScope =
  | ({ readonly kind: 'users' } & Named)
  | ({ readonly kind: 'applications' } & Named)
  | { readonly kind: 'identity_provider'; readonly provider: Provider }
  | { readonly kind: 'all' };

/** Ends the access of users who cannot be deactivated. Absent if not requested, as in old entries. */
export interface LocalMeasures {
  /** Gives local users a random password, which is not kept. */
  readonly resetPasswords?: true;
  /** Removes the roles and flags of users. */
  readonly stripRoles?: true;
  /** Deletes the applications in the scope, or those that its users created. */
  readonly endApplications?: true;
}

/** What a lockdown changes in addition to revoking tokens and ending sessions. */
export interface Measures extends LocalMeasures {
  /** Turns Basic authentication off. */
  readonly basicAuthentication: boolean;
  /** Stops external users from creating tokens. */
  readonly externalTokens: boolean;
  /** Deactivates the users in scope, except the caller and `keepActive`. */
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

/** What of an incident decides how much of the log must be kept. */
type Needed = Pick<Incident, 'state' | 'stays' | 'loggedAt' | 'released'>;

/** Whether something is left to lift: it is open, or its lift left users deactivated or roles removed. */
export function isHeld({ state, stays }: Pick<Incident, 'state' | 'stays'>): boolean {
  return state !== 'lifted' || stays.length > 0;
}

/**
 * The oldest instant (RFC 3339) since which the log is needed to lift every open incident, and to restore
 * what lifts left; null if there are none. Other incidents are needed as well if one of these began before
 * their last lift: the first one recorded the original value.
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

/** Held incidents end last. */
function endOf(incident: Needed): number {
  return isHeld(incident) || incident.released === null
    ? Number.MAX_SAFE_INTEGER
    : Date.parse(incident.released);
}
