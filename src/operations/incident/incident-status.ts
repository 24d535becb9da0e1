import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type AccessPath, closedPath, openPath, untilText } from '../../domain/access.ts';
import { limitText } from '../../domain/claims.ts';
import { type Incident, isHeld, type Lock, type LockValue, lockKey } from '../../domain/incident/incident.ts';
import type { Hold, IncidentHistory } from '../../domain/incident/incident-history.ts';
import { formatAlternatives } from '../../domain/selector.ts';
import {
  appliedAt,
  checkOtherCredentials,
  missingUsersPath,
  setTimes,
  switchPath,
  switchUntilApplied,
} from '../access/check-paths.ts';
import { requestsSince, type Wait } from '../access/requests-under-way.ts';
import { readStream } from '../investigation/stream-hole.ts';
import { readIncidentHistories } from '../journal/recorded-incidents.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import { endOfNow } from '../ports/clock.ts';
import type { OpenEvidence } from '../ports/evidence.ts';
import type { ReadTarget, Target } from '../ports/target.ts';
import type { AuthenticationSettings } from '../ports/target-parts.ts';
import { namesSince } from '../scope/bound-names.ts';
import { knownSettings } from '../scope/known-settings.ts';
import { readUsers, selectorOf, usersOf } from '../scope/scope-selection.ts';
import { partOf } from '../scope/target-parts.ts';
import { settingNamed } from './lock-settings.ts';

/** A value that an incident set, and its current value. */
export interface HeldValue extends Omit<Lock, 'role'> {
  /** The current value; null if it cannot be read or no longer exists. */
  readonly found: LockValue | null;
  readonly holds: boolean;
  /** Ids of all incidents that hold it; with ` at ` and the address for another address of the controller. */
  readonly incidents: readonly string[];
}

/** A live token in the scope of the incident. */
interface AliveToken {
  readonly id: number;
  readonly user: string | null;
  readonly created: Date;
  /** Whether it was created after the lockdown was complete. */
  readonly isNew: boolean;
}

/** An incident, and whether it is still in effect. */
export interface IncidentStatus extends Incident {
  /** Where it was locked down: the target, or another address of its controller. */
  readonly address: string;
  /** Due to be lifted, but not lifted yet. */
  readonly isOverdue: boolean;
  readonly values: readonly HeldValue[];
  /** Number of live tokens in its scope, excluding the caller's own. */
  readonly aliveCount: number;
  /** The newest of these tokens. */
  readonly alive: readonly AliveToken[];
  /** The lifetimes of newly issued access tokens, if the lockdown shortened them; null otherwise. */
  readonly lifetimes: IssuedLifetimes | null;
  /** The current access paths of its scope; empty if it is lifted or the account does not see everything. */
  readonly accessPaths: readonly AccessPath[];
  /** Whether all its values are unchanged, and no access path of its scope is open; null if not checked. */
  readonly holds: boolean | null;
  /** Why it was not checked (no values are then read), as a sentence without a full stop; null if it was. */
  readonly notSeen: string | null;
  /** What happened to the names it was created for, as sentences; empty if unchanged. */
  readonly names: readonly string[];
}

/** Lifetimes of access tokens in the incident's scope that were issued after its lockdown. */
interface IssuedLifetimes {
  /** The configured lifetime, in seconds. */
  readonly set: number;
  /** Number of tokens issued and listed. */
  readonly issued: number;
  /** Number of tokens with a longer lifetime. */
  readonly longer: number;
}

/** An incident at another address, as recorded in the log; not verified. */
export interface ElsewhereIncident extends Incident {
  /** From the description of the target where it was locked down. */
  readonly address: string;
  /** Due to be lifted, but not lifted yet. */
  readonly isOverdue: boolean;
}

export interface Incidents {
  /** At the target, followed by those at other addresses of its controller. */
  readonly incidents: readonly IncidentStatus[];
  /** Incidents whose lift left users deactivated or roles removed. With `all`, they are among `incidents`. */
  readonly left: readonly IncidentStatus[];
  /** At all other addresses. A controller whose entries have no INSTALL_UUID may be one of them. */
  readonly elsewhere: readonly ElsewhereIncident[];
  /** Entries missing from the activity stream since before the open incidents, or why unknown; else null. */
  readonly stream: string | null;
}

/** How long before an incident its theft may have begun, in ms: an investigation's default period. */
const BEFORE_INCIDENT_MS = 30 * 86_400_000;

/** The tolerated deviation of a token's lifetime, in seconds. */
const TOLERANCE_S = 60;

/** The number of tokens shown. */
const SHOWN = 20;

/**
 * Reads from the audit log what is locked down at a target, and from the target whether it is still in
 * effect. Includes what the log has of other addresses, so that nothing is forgotten. Reads only.
 * @param options With `all`, lifted incidents are included. With `wait`, requests from before the lockdowns
 * are waited for. With `evidence`, the activity stream is read if an incident is open.
 * @throws TokenctlError whatever the target and the log throw.
 */
export async function incidentStatus(
  options: ReadTarget & {
    readonly log: Pick<AuditLog, 'entries'>;
    readonly all: boolean;
    readonly wait?: Wait | undefined;
    readonly evidence?: (() => Promise<OpenEvidence>) | undefined;
  },
): Promise<Incidents> {
  const { target, description, log, clock, all } = options;
  const histories = await readIncidentHistories(log);
  const limit = limitText(description);
  const found: IncidentStatus[] = [];
  const left: IncidentStatus[] = [];
  const here = histories.ofController(description);
  for (const history of here) {
    const values = limit === null ? await heldValues(target, history) : [];
    const read = (incident: Incident) => statusOf(incident, { ...options, history, values, limit });
    for (const incident of meant(history, all)) found.push(await read(incident));
    for (const incident of all ? [] : leftBy(history)) left.push(await read(incident));
  }
  const elsewhere = [...histories.all]
    .filter(([, history]) => !here.includes(history))
    .flatMap(([address, other]) =>
      [...meant(other, all), ...(all ? [] : leftBy(other))].map((incident) => ({
        ...incident,
        address,
        isOverdue: isOverdue(incident, clock.now()),
      })),
    );
  return { incidents: found, left, elsewhere, stream: await streamText(found, options) };
}

/** Entries missing from the stream during the open incidents. An unreadable stream is not a failure. */
async function streamText(
  incidents: readonly Incident[],
  { description, clock, evidence: open }: Parameters<typeof incidentStatus>[0],
): Promise<string | null> {
  const began = incidents.flatMap(({ state, since }) => (state === 'lifted' ? [] : [Date.parse(since)]));
  if (open === undefined || began.length === 0) return null;
  const since = new Date(Math.min(...began) - BEFORE_INCIDENT_MS);
  try {
    const evidence = await open();
    try {
      const window = { since, until: endOfNow(clock, description) };
      const missing = evidence.missingEntries(since);
      const { hole } = await readStream(evidence, { missing, window, description });
      return hole === null ? null : `Not everything can be investigated, and more may remain. ${hole.text}`;
    } finally {
      await evidence.close();
    }
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    return `Not checked: whether entries of the activity stream are missing. ${error.message}.`;
  }
}

async function statusOf(
  incident: Incident,
  options: Parameters<typeof incidentStatus>[0] & {
    readonly history: IncidentHistory;
    readonly values: readonly HeldValue[];
    readonly limit: string | null;
  },
): Promise<IncidentStatus> {
  const { target, clock, history, values, limit, description } = options;
  const isElsewhere = history.address !== description.address;
  const isOpen = incident.state !== 'lifted';
  const mine = values.filter(({ incidents }) => incidents.includes(incident.id));
  const set = mine.find(({ name }) => name === 'OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS')?.locked;
  // Runs before the tokens are read: a transaction's rows are listed once it has ended.
  const requests =
    isOpen && limit === null && incident.locked !== null
      ? await requestsSince(
          { ended: new Date(incident.locked), recorded: incident.ends['requests'] },
          options,
        )
      : [];
  const tokens = isOpen
    ? await aliveTokens(target, incident, typeof set === 'number' ? set : null)
    : { aliveCount: 0, alive: [], lifetimes: null };
  const missing = isOpen && limit === null ? await missingUsers(incident, target) : [];
  const accessPaths =
    isOpen && limit === null
      ? [
          tokensPath(tokens),
          ...(await otherPaths(incident, options)),
          ...requests,
          ...missingUsersPath(missing),
          ...valuePaths(mine, setTimes(history.heldBy(incident.id)), { description, clock, isElsewhere }),
        ]
      : [];
  const isSeen = limit === null && missing.length === 0;
  // What a standby shows may already be closed at the primary.
  const isOpenAgain =
    description.standby === undefined &&
    (tokens.aliveCount > 0 || accessPaths.some(({ state }) => state === 'open'));
  return {
    ...incident,
    address: history.address,
    isOverdue: isOverdue(incident, clock.now()),
    values: mine,
    ...tokens,
    accessPaths,
    holds: holdsOf({ isOpen, isOpenAgain, values: mine, isSeen }),
    notSeen: isOpen && !isSeen ? (limit ?? `${formatAlternatives(missing)} cannot be found`) : null,
    names: isOpen && limit === null ? await namesSince(target, incident.scope) : [],
  };
}

/** Users of an incident without ids whose names no longer exist: deleted or renamed. */
async function missingUsers({ scope }: Incident, target: Target): Promise<readonly string[]> {
  if (scope.kind !== 'users' || scope.bound !== undefined) return [];
  const there = new Set((await usersOf(scope, target)).map(({ username }) => username));
  return scope.names.filter((name) => !there.has(name));
}

/** The number of remaining tokens to name. */
const NAMED = 5;

function tokensPath({ aliveCount, alive }: Pick<IncidentStatus, 'aliveCount' | 'alive'>): AccessPath {
  if (aliveCount === 0) return closedPath('access_tokens', 'The selected tokens were listed: none.');
  const some = alive.slice(-NAMED).map(({ id, user }) => `token ${id} of ${user ?? 'a deleted user'}`);
  const how = `${aliveCount} ${aliveCount === 1 ? 'is' : 'are'} listed, the newest: ${some.join(', ')}.`;
  return openPath('access_tokens', how, { count: aliveCount });
}

/** A visible open access path shows that an incident is not in effect, whatever the account cannot see. */
function holdsOf(found: {
  readonly isOpen: boolean;
  readonly isOpenAgain: boolean;
  readonly values: readonly HeldValue[];
  readonly isSeen: boolean;
}): boolean | null {
  if (!found.isOpen || found.isOpenAgain) return false;
  return found.isSeen ? found.values.every(({ holds }) => holds) : null;
}

function meant(history: IncidentHistory, all: boolean): readonly Incident[] {
  return all ? history.incidents : history.open;
}

/** Lifted incidents whose lift left something. */
function leftBy({ incidents }: IncidentHistory): readonly Incident[] {
  return incidents.filter((incident) => incident.state === 'lifted' && isHeld(incident));
}

function isOverdue(incident: Incident, now: Date): boolean {
  return incident.state !== 'lifted' && isDue(incident, now);
}

export function isDue({ until }: Pick<Incident, 'until'>, now: Date): boolean {
  return until !== null && Date.parse(until) <= now.getTime();
}

/** All values that incidents hold, with their current values. */
async function heldValues(target: Target, history: IncidentHistory): Promise<readonly HeldValue[]> {
  const found = history.incidents.filter(isHeld).flatMap(({ id }) => history.heldBy(id));
  const holds = [...new Map(found.map((hold) => [lockKey(hold.lock), hold])).values()];
  const settings = holds.some(({ lock }) => lock.what === 'setting')
    ? (await knownSettings(target)).values
    : null;
  const now = { settings, ...(await usersNow(target, holds)) };
  return holds.map(({ lock, before, locked, holders }) => {
    const found = foundOf(lock, now);
    return { ...lock, before, locked, found, holds: found === locked, incidents: holders };
  });
}

/** The current value of a held value; null if it no longer exists. */
export function foundOf(
  lock: Hold['lock'],
  now: UsersNow & { readonly settings: AuthenticationSettings | null },
): LockValue | null {
  if (lock.what === 'user') return now.active.get(lock.userId ?? 0) ?? null;
  if (lock.what === 'role') return now.roles.get(lock.userId ?? 0)?.has(lockKey(lock)) ?? null;
  return now.settings === null ? null : (settingNamed(now.settings, lock.name) ?? null);
}

/** The current state of the users that incidents hold. */
interface UsersNow {
  /** Whether each user is active, by id. Deleted users are omitted. */
  readonly active: ReadonlyMap<number, boolean>;
  /** The keys of each user's roles, by user id. Deleted users are omitted. */
  readonly roles: ReadonlyMap<number, ReadonlySet<string>>;
}

/** Reads the users whose state or roles incidents hold. */
export async function usersNow(target: Target, holds: readonly Hold[]): Promise<UsersNow> {
  const ids = holds.flatMap(({ lock }) => (lock.what === 'user' ? [lock.userId ?? 0] : []));
  const users = ids.length === 0 ? [] : await readUsers(target, { ids });
  const withRoles = holds.flatMap(({ lock }) => (lock.what === 'role' ? [lock.userId ?? 0] : []));
  const roles = new Map<number, ReadonlySet<string>>();
  for (const userId of new Set(withRoles)) {
    const held = await rolesIfThere(target, userId);
    if (held !== null)
      roles.set(userId, new Set(held.map(({ role }) => lockKey({ what: 'role', name: '', userId, role }))));
  }
  return { active: new Map(users.map(({ id, isActive }) => [id, isActive])), roles };
}

/** Null for a deleted user, or if the target does not list roles. */
async function rolesIfThere(target: Target, userId: number) {
  try {
    return await partOf(target, 'roles').list(userId);
  } catch (error) {
    const isMissing =
      error instanceof TokenctlError && (error.code === 'not_found' || error.code === 'unsupported');
    if (!isMissing) throw error;
    return null;
  }
}

async function aliveTokens(target: Target, incident: Incident, set: number | null) {
  const selector = await selectorOf(incident.scope, target);
  const own = new Set([...incident.kept, ...(await target.ownTokenIds())]);
  const alive: AliveToken[] = [];
  let [aliveCount, issued, longer] = [0, 0, 0];
  const lifetimes = () => (set === null ? null : { set, issued, longer });
  if (selector === null) return { aliveCount, alive, lifetimes: lifetimes() };
  for await (const { id, user, created, expires } of target.tokens(selector)) {
    if (own.has(id)) continue;
    aliveCount += 1;
    const isNew = incident.locked !== null && created.getTime() > Date.parse(incident.locked);
    if (isNew) issued += 1;
    if (isNew && set !== null && expires.getTime() - created.getTime() > (set + TOLERANCE_S) * 1000)
      longer += 1;
    alive.push({ id, user: user?.username ?? null, created, isNew });
    if (alive.length > SHOWN) alive.shift();
  }
  return { aliveCount, alive, lifetimes: lifetimes() };
}

/**
 * The current access paths of an incident's scope other than access tokens. Credentials issued before the
 * lockdown are accepted until the time that the lockdown recorded: settings may have changed since.
 */
async function otherPaths(
  { scope, locked, ends }: Incident,
  { target, description, clock }: Parameters<typeof incidentStatus>[0],
): Promise<readonly AccessPath[]> {
  const present = clock.now();
  const now = locked === null ? present : new Date(locked);
  const paths = await checkOtherCredentials({ target, description, now, present }, scope);
  return paths.flatMap((each) => {
    // A lockdown that recorded no end deleted the codes, or never ended.
    const isCodes = each.path === 'authorization_codes';
    if (isCodes && each.state === 'not_checked' && ends[each.path] === undefined) return [];
    return asRecorded(each, ends[each.path] ?? each.until, present);
  });
}

/** An access path with the end that the lockdown recorded for it: closed after that time. */
function asRecorded(each: AccessPath, until: string | undefined, now: Date): AccessPath {
  if (until === undefined || (each.state !== 'not_checked' && each.until === undefined)) return each;
  if (Date.parse(until) > now.getTime()) return { ...each, until };
  if (each.state === 'not_checked') {
    // Only the time shows that these credentials expired.
    const how = `Access that could not be listed has expired: it could be used until ${untilText(until)} at most.`;
    return closedPath(each.path, how);
  }
  const { until: _, ...rest } = each;
  return rest;
}

/** The users, roles and switches that an incident holds. A running server may not have applied a switch. */
function valuePaths(
  values: readonly HeldValue[],
  set: ReadonlyMap<string, Date>,
  {
    description,
    clock,
    isElsewhere,
  }: Pick<Parameters<typeof incidentStatus>[0], 'description' | 'clock'> & { isElsewhere: boolean },
): readonly AccessPath[] {
  // Another address may be the database, whose changes take longest to be applied.
  const settingsHold = isElsewhere ? 'within_a_minute' : description.capabilities.settingsHold;
  return values.map((value) => {
    const { name, holds } = value;
    const path = pathOf(value);
    const how = heldText(value);
    if (!holds) return openPath(path, how);
    const isSwitch = path === 'basic_authentication' || path === 'external_tokens';
    const until = isSwitch ? appliedAt(set.get(name) ?? null, { settingsHold, now: clock.now() }) : null;
    return until === null ? closedPath(path, how) : switchUntilApplied(name, until.toISOString());
  });
}

function heldText({ what, name, found, locked }: HeldValue): string {
  const word = (value: LockValue) => {
    if (typeof value !== 'boolean') return String(value);
    if (what === 'user') return value ? 'active' : 'deactivated';
    if (what === 'role') return value ? 'held' : 'taken';
    return value ? 'on' : 'off';
  };
  if (found === locked) return `${name} is ${word(found)}, as the lockdown set it.`;
  if (found === null)
    return `${name} cannot be read, or no longer exists. The lockdown set it to ${word(locked)}.`;
  return `${name} is ${word(found)}. The lockdown set it to ${word(locked)}.`;
}

function pathOf({ what, name }: HeldValue): AccessPath['path'] {
  if (what === 'user') return 'users';
  if (what === 'role') return 'roles';
  return name.startsWith('OAUTH2_PROVIDER.') ? 'token_lifetimes' : switchPath(name);
}
