import { limitText } from '../../domain/claims.ts';
import { orphanUse } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type Incident, type LockValue, lockKey } from '../../domain/incident/incident.ts';
import type { Hold, IncidentHistory } from '../../domain/incident/incident-history.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { AuthenticationSettings, Target, TargetDescription } from '../ports/target.ts';
import { settingNamed } from './lock-settings.ts';
import { readIncidentHistories } from './recorded-incidents.ts';
import { readUsers, selectorOf } from './scope-selection.ts';
import {
  type AccessPath,
  appliedAt,
  checkOtherCredentials,
  codesUntilExpired,
  setSwitches,
  switchUntilApplied,
} from './verify-access-paths.ts';

/** Something that an incident set, and what it is now. */
export interface HeldValue {
  readonly what: Hold['lock']['what'];
  readonly name: string;
  readonly userId?: number;
  /** What it was before the first incident. */
  readonly before: LockValue;
  readonly locked: LockValue;
  /** What it is; null where it cannot be read, or is gone. */
  readonly found: LockValue | null;
  readonly holds: boolean;
  /** Ids of all incidents that hold it, with ` at ` and the address for those of another address of the controller. */
  readonly incidents: readonly string[];
}

/** A token that the incident's scope names and that should not be there. */
interface AliveToken {
  readonly id: number;
  readonly user: string | null;
  readonly created: Date;
  /** Whether it was made after the lockdown went through. */
  readonly isNew: boolean;
}

/** An incident, and whether it still holds. */
export interface IncidentStatus extends Incident {
  /** Where it was locked down: at the target, or at another address of its controller. */
  readonly address: string;
  /** Its time is over, and it is not lifted. */
  readonly isOverdue: boolean;
  readonly values: readonly HeldValue[];
  /** How many tokens of its scope are live, excluding the caller's own. */
  readonly aliveCount: number;
  /** Some of them, the newest. */
  readonly alive: readonly AliveToken[];
  /** What newly issued access tokens got, where the lockdown shortened lifetimes; null otherwise. */
  readonly lifetimes: IssuedLifetimes | null;
  /** The other ways in of its scope that are open: authorization codes, refresh tokens and sessions that exist. */
  readonly openPaths: readonly AccessPath[];
  /** The ways in that this target does not list, or that a running server may not have closed yet. */
  readonly notChecked: readonly AccessPath['path'][];
  /** The same, each with the reason. */
  readonly uncheckedPaths: readonly AccessPath[];
  /** Whether all it set is as it set it, and no way in of its scope is open; null if that was not checked. */
  readonly holds: boolean | null;
  /** Why it was not checked, as a sentence without a full stop; null if it was. The values are then not read. */
  readonly notSeen: string | null;
}

/** The lifetimes of the access tokens of an incident's scope that were issued after its lockdown. */
interface IssuedLifetimes {
  /** What was set, in seconds. */
  readonly set: number;
  /** How many were issued and are listed. */
  readonly issued: number;
  /** How many of them live longer than was set. */
  readonly longer: number;
}

/** An incident at another address, as recorded in the log; it was not verified. */
export interface ElsewhereIncident extends Incident {
  /** As of the description of the target where it was locked down. */
  readonly address: string;
  /** Its time is over, and it is not lifted. */
  readonly isOverdue: boolean;
}

/** What the log has of incidents. */
export interface Incidents {
  /** At the target, and after them those at other addresses of its controller. */
  readonly incidents: readonly IncidentStatus[];
  /** At all other addresses; a controller whose entries have no INSTALL_UUID may be one of these. */
  readonly elsewhere: readonly ElsewhereIncident[];
}

/** How far creation and expiry of a token may be apart by chance, in seconds. */
const TOLERANCE_S = 60;

/** So many tokens are shown. */
const SHOWN = 20;

/**
 * What is locked down at a target, as the audit log says, and whether it still holds, as the target says; and what
 * the log has of other addresses, so that nothing is forgotten. Reads only.
 *
 * @param options `all` has those that are lifted as well.
 * @throws TokenctlError whatever the target and the log throw.
 */
export async function incidentStatus(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries'>;
  readonly clock: Clock;
  readonly all: boolean;
}): Promise<Incidents> {
  const { target, description, log, clock, all } = options;
  const histories = await readIncidentHistories(log);
  const limit = limitText(description);
  const found: IncidentStatus[] = [];
  const here = histories.ofController(description);
  for (const history of here) {
    const values = limit === null ? await heldValues(target, history) : [];
    for (const incident of meant(history, all))
      found.push(await statusOf(incident, { ...options, history, values, limit }));
  }
  const elsewhere = [...histories.all]
    .filter(([, history]) => !here.includes(history))
    .flatMap(([address, other]) =>
      meant(other, all).map((incident) => ({
        ...incident,
        address,
        isOverdue: isOverdue(incident, clock.now()),
      })),
    );
  return { incidents: found, elsewhere };
}

/** What is found of one incident. */
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
  const tokens = isOpen
    ? await aliveTokens(target, incident, typeof set === 'number' ? set : null)
    : { aliveCount: 0, alive: [], lifetimes: null };
  const paths = isOpen && limit === null ? await otherPaths(incident, options) : [];
  const openPaths = paths.filter(({ state }) => state === 'open');
  const uncheckedPaths = isOpen
    ? [
        ...uncheckedOf(paths, incident, clock.now()),
        ...unsettled(mine, setSwitches(history, incident.id), { description, clock, isElsewhere }),
      ]
    : [];
  return {
    ...incident,
    address: history.address,
    isOverdue: isOverdue(incident, clock.now()),
    values: mine,
    ...tokens,
    openPaths,
    notChecked: uncheckedPaths.map(({ path }) => path),
    uncheckedPaths,
    holds: holdsOf({ isOpen, open: tokens.aliveCount + openPaths.length, values: mine, limit }),
    notSeen: isOpen ? limit : null,
  };
}

/** A way in that is seen shows that an incident does not hold, whatever else the account does not see. */
function holdsOf(found: {
  readonly isOpen: boolean;
  /** How many tokens and other ways in are open. */
  readonly open: number;
  readonly values: readonly HeldValue[];
  readonly limit: string | null;
}): boolean | null {
  if (!found.isOpen || found.open > 0) return false;
  return found.limit === null ? found.values.every(({ holds }) => holds) : null;
}

function meant(history: IncidentHistory, all: boolean): readonly Incident[] {
  return all ? history.incidents : history.open;
}

function isOverdue(incident: Incident, now: Date): boolean {
  return incident.state !== 'lifted' && isDue(incident, now);
}

/** Whether an incident is due to be lifted. */
export function isDue({ until }: Pick<Incident, 'until'>, now: Date): boolean {
  return until !== null && Date.parse(until) <= now.getTime();
}

/** Everything that incidents hold, with what it is now. */
async function heldValues(target: Target, history: IncidentHistory): Promise<readonly HeldValue[]> {
  const found = history.open.flatMap(({ id }) => history.heldBy(id));
  const holds = [...new Map(found.map((hold) => [lockKey(hold.lock), hold])).values()];
  const settings = holds.some(({ lock }) => lock.what === 'setting') ? await target.settings.read() : null;
  const now = { settings, ...(await usersNow(target, holds)) };
  return holds.map(({ lock, before, locked, holders }) => {
    const found = foundOf(lock, now);
    return { ...lock, before, locked, found, holds: found === locked, incidents: holders };
  });
}

/** What a held value is now; null where it is gone. */
export function foundOf(
  lock: Hold['lock'],
  now: UsersNow & { readonly settings: AuthenticationSettings | null },
): LockValue | null {
  if (lock.what === 'user') return now.active.get(lock.userId ?? 0) ?? null;
  if (lock.what === 'role') return now.roles.get(lock.userId ?? 0)?.has(lockKey(lock)) ?? null;
  return now.settings === null ? null : (settingNamed(now.settings, lock.name) ?? null);
}

/** What is read of the users that incidents hold. */
interface UsersNow {
  /** Whether each user is active, by id; those that are gone are left out. */
  readonly active: ReadonlyMap<number, boolean>;
  /** The keys of the roles that each user holds, by id; users that are gone are left out. */
  readonly roles: ReadonlyMap<number, ReadonlySet<string>>;
}

/**
 * Reads the users whose state or roles incidents hold.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function usersNow(target: Target, holds: readonly Hold[]): Promise<UsersNow> {
  const names = holds.flatMap(({ lock }) => (lock.what === 'user' ? [lock.name] : []));
  const users = names.length === 0 ? [] : await readUsers(target, { names });
  const withRoles = holds.flatMap(({ lock }) => (lock.what === 'role' ? [lock.userId ?? 0] : []));
  const roles = new Map<number, ReadonlySet<string>>();
  for (const userId of new Set(withRoles)) {
    const held = await rolesIfThere(target, userId);
    if (held !== null)
      roles.set(userId, new Set(held.map(({ role }) => lockKey({ what: 'role', name: '', userId, role }))));
  }
  return { active: new Map(users.map(({ id, isActive }) => [id, isActive])), roles };
}

/** Null for a user that was deleted, and where the target does not list roles. */
async function rolesIfThere(target: Target, userId: number) {
  try {
    return await target.access.roles(userId);
  } catch (error) {
    const isMissing =
      error instanceof TokenctlError && (error.code === 'not_found' || error.code === 'unsupported');
    if (!isMissing) throw error;
    return null;
  }
}

async function aliveTokens(
  target: Target,
  incident: Incident,
  set: number | null,
): Promise<Pick<IncidentStatus, 'aliveCount' | 'alive' | 'lifetimes'>> {
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

/** The ways in of an incident's scope other than access tokens, as they are now. */
function otherPaths(
  { scope, locked }: Incident,
  { target, description, clock }: Parameters<typeof incidentStatus>[0],
): Promise<readonly AccessPath[]> {
  const { capabilities } = description;
  // What the lockdown ended may be in use for a time that began with it.
  const now = locked === null ? clock.now() : new Date(locked);
  const orphans = orphanUse(description);
  return checkOtherCredentials({ target, capabilities, orphans, now, present: clock.now() }, scope);
}

/** The ways in that were not checked and may still be open; codes until the last one from before has expired. */
function uncheckedOf(
  paths: readonly AccessPath[],
  { codesUntil }: Incident,
  now: Date,
): readonly AccessPath[] {
  const isLater = (until: string) => Date.parse(until) > now.getTime();
  return paths
    .filter(({ state }) => state === 'not_checked')
    .flatMap((each) => {
      if (each.path !== 'authorization_codes') return each;
      return codesUntil === null ? [] : codesUntilExpired(codesUntil);
    })
    .filter(({ until }) => until === undefined || isLater(until));
}

/** The switches that a running server may not have applied yet. */
function unsettled(
  values: readonly HeldValue[],
  set: ReadonlyMap<string, Date>,
  {
    description,
    clock,
    isElsewhere,
  }: Pick<Parameters<typeof incidentStatus>[0], 'description' | 'clock'> & { readonly isElsewhere: boolean },
): readonly AccessPath[] {
  // Another address may be the database, whose changes take longest to be applied.
  const settingsHold = isElsewhere ? 'within_a_minute' : description.capabilities.settingsHold;
  const capabilities = { ...description.capabilities, settingsHold } as const;
  return ['AUTH_BASIC_ENABLED', 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS'].flatMap((name) => {
    if (!values.some((value) => value.name === name && value.holds)) return [];
    const until = appliedAt(set.get(name) ?? null, { capabilities, now: clock.now() });
    return until === null ? [] : switchUntilApplied(name, until.toISOString());
  });
}
