import { numberText } from '@tokenctl/common/text.ts';
import {
  type AccessPath,
  closedPath,
  lastsUntil,
  openPath,
  type PathName,
  uncheckedPath,
  untilText,
} from '../../domain/access.ts';
import { basicAuthCaution, orphanUse } from '../../domain/dialect.ts';
import type { Lock, LockdownScope } from '../../domain/incident/incident.ts';
import type { Hold } from '../../domain/incident/incident-history.ts';
import { shellWord } from '../../domain/remedies.ts';
import { whoseOf } from '../../domain/selector.ts';
import { refreshTokenExpiry, refreshTokenState } from '../../domain/token.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Capabilities, Target, TargetDescription } from '../ports/target.ts';
import type { AuthenticationSettings } from '../ports/target-parts.ts';
import { knownSettings, readRefreshLifetime } from '../scope/known-settings.ts';
import { readUsers, selectorOf, usersOf } from '../scope/scope-selection.ts';
import { partOf } from '../scope/target-parts.ts';
import { countSessions } from '../scope/user-sessions.ts';
import { cachedSessions, cookieExpiry } from './cached-sessions.ts';
import { codeLifetime, missingSessionRights } from './not-covered.ts';
import { probeToken } from './probe-token.ts';

interface ClosedPaths {
  readonly scope: LockdownScope;
  readonly switches: readonly Lock[];
  readonly users: readonly { readonly name: string; readonly userId?: number }[];
  /** Names of users in scope who stay active. */
  readonly usersKept?: readonly string[];
}

interface Checks {
  readonly target: Target;
  readonly description: TargetDescription;
  /** Ids of the caller's own tokens, which stay valid. */
  readonly ownTokens: readonly number[];
  readonly now: Date;
  /** The current time, if `now` is the time of an earlier lockdown. */
  readonly present?: Date;
  /** The lifetime of authorization codes before it was shortened, in seconds. */
  readonly codeLifetime?: number | undefined;
  /** When an incident set these switches, by name. Switches that no incident changed are omitted. */
  readonly switchesSet?: ReadonlyMap<string, Date>;
  /** The latest expiry among the sessions that were ended; null if none was ended. */
  readonly latestSession?: Date | null;
  /** The end time (RFC 3339) that an earlier run of the same incident recorded for sessions. */
  readonly sessionsUntil?: string | undefined;
}

/**
 * Re-reads which access paths are closed. Paths that this target does not list are reported as not checked.
 * Changes nothing.
 * @throws TokenctlError whatever the target throws.
 */
export async function checkAccessPaths(checks: Checks, closed: ClosedPaths): Promise<readonly AccessPath[]> {
  const { target, ownTokens } = checks;
  const { scope } = closed;
  const tokens = await accessTokens(target, scope, ownTokens);
  const others = await checkOtherCredentials(checks, scope);
  const settings = await switches(checks, closed);
  const deactivated = closed.users.length > 0 ? [await users(target, closed)] : [];
  const areRefused = closed.usersKept?.length === 0 && deactivated.some(({ state }) => state === 'closed');
  return [
    tokens,
    ...(areRefused ? await Promise.all(others.map((each) => withEnd(each, checks))) : others),
    ...settings,
    ...deactivated,
  ];
}

/** Unlisted sessions of users who are all deactivated: a refused session is not extended, so it expires. */
async function withEnd(each: AccessPath, { target, now }: Pick<Checks, 'target' | 'now'>) {
  if (each.path !== 'sessions' || target.sessions !== undefined) return each;
  const until = await cookieExpiry(target, now);
  return until === null ? each : { ...each, until };
}

/** Reads which authorization codes, refresh tokens and sessions of a scope remain. Changes nothing. */
export async function checkOtherCredentials(
  checks: Omit<Checks, 'ownTokens'>,
  scope: LockdownScope,
): Promise<readonly AccessPath[]> {
  const { target } = checks;
  return [
    target.authorizationCodes ? await authorizationCodes(target, scope) : await uncheckedCodes(checks),
    target.refreshTokens ? await refreshTokens(checks, scope) : notListed('refresh_tokens', checks),
    ...(scope.kind === 'applications'
      ? []
      : [target.sessions ? await sessions(checks, scope) : notListed('sessions', checks)]),
  ];
}

/** Users of a lockdown that no longer exist; empty if there are none. */
export function missingUsersPath(names: readonly string[]): readonly AccessPath[] {
  if (names.length === 0) return [];
  const how = `${names.join(', ')} no longer ${names.length === 1 ? 'exists' : 'exist'}: deleted (along with its tokens) or renamed.`;
  return [uncheckedPath('users', how, { remedy: 'If it was renamed, lock down the new name.' })];
}

/**
 * Checks the access paths as {@link checkAccessPaths} does. If the target identifies tokens by presenting
 * them, it also creates a token, revokes it for the incident and presents it.
 * @throws TokenctlError whatever the target and the log throw.
 */
export async function verifyAccessPaths(
  work: OperationRun,
  closed: ClosedPaths & { readonly incident: string },
  checks: Omit<Checks, 'target'>,
): Promise<readonly AccessPath[]> {
  const paths = await checkAccessPaths({ ...checks, target: work.target }, closed);
  if (work.target.identifies !== 'by_trying' || !checks.description.capabilities.changes) return paths;
  const [tokens, ...others] = paths;
  return [...(tokens === undefined ? [] : [tokens]), await probeToken(work, closed.incident), ...others];
}

async function accessTokens(target: Target, scope: LockdownScope, ownTokens: readonly number[]) {
  const selector = await selectorOf(scope, target);
  const own = new Set(ownTokens);
  let [left, kept] = [0, 0];
  if (selector !== null) {
    for await (const { id } of target.tokens(selector)) {
      if (own.has(id)) kept += 1;
      else left += 1;
    }
  }
  const but = kept === 0 ? '' : ' except your own';
  return left === 0
    ? closedPath('access_tokens', `Verified: none is left${but}.`)
    : openPath('access_tokens', `${left} ${left === 1 ? 'is' : 'are'} left.`, { count: left });
}

async function authorizationCodes(target: Target, scope: LockdownScope): Promise<AccessPath> {
  const selector = await selectorOf(scope, target);
  let left = 0;
  if (selector !== null) {
    const codes = partOf(target, 'authorizationCodes').list({ ...whoseOf(selector), state: 'live' });
    for await (const _code of codes) left += 1;
  }
  return left === 0
    ? closedPath('authorization_codes', 'Verified: none is left.')
    : openPath('authorization_codes', `${left} can be exchanged for tokens.`, { count: left });
}

/** A code issued before the lockdown yields tokens until it expires, even for a deactivated user. */
async function uncheckedCodes({ target, now, codeLifetime: before = 0 }: Omit<Checks, 'ownTokens'>) {
  const seconds = Math.max(codeLifetime(await knownSettings(target)), before);
  const how = 'They cannot be listed with this context. An older code can be exchanged for tokens.';
  return uncheckedPath('authorization_codes', how, { until: lastsUntil(now, seconds) });
}

async function refreshTokens(
  { target, description, now, present = now }: Omit<Checks, 'ownTokens'>,
  scope: LockdownScope,
): Promise<AccessPath> {
  const selector = await selectorOf(scope, target);
  const lifetime = await readRefreshLifetime(target);
  let [live, orphaned, expired] = [0, 0, 0];
  if (selector !== null) {
    const states = ['live', 'orphaned'] as const;
    for await (const token of partOf(target, 'refreshTokens').list({ ...whoseOf(selector), states })) {
      if (refreshTokenState(token) === 'orphaned') orphaned += 1;
      else if (lifetime !== null && refreshTokenExpiry(token, lifetime) < present) expired += 1;
      else live += 1;
    }
  }
  const assumed = orphanUse(description) === 'refused' ? 0 : orphaned;
  const found = live + assumed;
  const but = assumed === 0 ? '' : ` (${assumed} orphaned, assumed to be usable)`;
  const more = notUsableText({ orphaned: orphaned - assumed, expired });
  return found === 0
    ? closedPath('refresh_tokens', `Verified: none is live.${more}`)
    : openPath('refresh_tokens', `${found} ${found === 1 ? 'is' : 'are'} live${but}.${more}`, {
        count: found,
      });
}

/** Refresh tokens that are not revoked and are refused: lifting a lockdown may raise the lifetime. */
function notUsableText({ orphaned, expired }: { orphaned: number; expired: number }) {
  const are = (count: number) => `${count} ${count === 1 ? 'is' : 'are'}`;
  return [
    ...(orphaned === 0 ? [] : [` ${are(orphaned)} orphaned: this version rejects such tokens.`]),
    ...(expired === 0
      ? []
      : [` ${are(expired)} expired, and usable again if REFRESH_TOKEN_EXPIRE_SECONDS is raised.`]),
  ].join('');
}

async function sessions(
  { target, description, now, latestSession = null, sessionsUntil }: Omit<Checks, 'ownTokens'>,
  scope: LockdownScope,
): Promise<AccessPath> {
  const userIds = scope.kind === 'all' ? 'all' : (await usersOf(scope, target)).map(({ id }) => id);
  const left = await countSessions(target, userIds);
  if (left === 0) {
    const users = await usersOf(scope, target);
    const cached = await cachedSessions(target, {
      description,
      now,
      latestExpiry: latestSession,
      userIds: users.some(({ isActive }) => isActive) ? userIds : users.map(({ id }) => id),
      recorded: sessionsUntil,
    });
    if (cached !== null) return cached;
  }
  return left === 0
    ? closedPath('sessions', 'Verified: none is left.')
    : openPath('sessions', `${left} ${left === 1 ? 'exists' : 'exist'}: a user has logged in.`, {
        count: left,
      });
}

/** How long a running server may keep using the old settings, in milliseconds. */
const SETTINGS_HOLD_MS: Readonly<Record<Capabilities['settingsHold'], number>> = {
  at_once: 0,
  within_seconds: 5000,
  within_a_minute: 60_000,
  within_five_minutes: 300_000,
};

/** The latest time at which a running server applies settings written at this time; null if it has passed. */
export function appliedAt(
  set: Date | null,
  { settingsHold, now }: { settingsHold: Capabilities['settingsHold']; now: Date },
): Date | null {
  const hold = SETTINGS_HOLD_MS[settingsHold];
  // A switch is set after the run began, so that its time is later than the run's `now`.
  if (set === null || hold === 0) return null;
  const applied = set.getTime() + hold;
  return applied > now.getTime() ? new Date(applied) : null;
}

/** When the settings that incidents hold were set, by name. Settings that had the value are omitted. */
export function setTimes(holds: readonly Hold[]): ReadonlyMap<string, Date> {
  const changed = holds.filter(({ before, locked }) => before !== locked);
  return new Map(changed.map(({ lock, setAt }) => [lock.name, setAt]));
}

async function switches(checks: Checks, { switches: locks }: ClosedPaths): Promise<readonly AccessPath[]> {
  if (locks.length === 0) return [];
  const { target, description, now } = checks;
  const { values, why } = await knownSettings(target);
  const { settingsHold } = description.capabilities;
  return locks.map(({ name }) => {
    if (values === null) return unreadSwitch(name, why);
    const until = appliedAt(checks.switchesSet?.get(name) ?? null, { settingsHold, now });
    if (values[name as keyof AuthenticationSettings] !== false)
      return openPath(switchPath(name), `${name} is on.`);
    const caution = cautionOf(name, description);
    if (until !== null) {
      const path = switchUntilApplied(name, until.toISOString());
      return { ...path, how: path.how + caution };
    }
    const isBasic = name === 'AUTH_BASIC_ENABLED';
    const untried = isBasic ? ' Logging in was not tested because no password is available.' : '';
    return closedPath(switchPath(name), `Verified: ${name} is off.${untried}${caution}`);
  });
}

/** The side effects of turning a switch off, as sentences; empty if there are none. */
export function cautionOf(
  name: string,
  { dialect, context }: Pick<TargetDescription, 'dialect' | 'context'>,
): string {
  const caution = name === 'AUTH_BASIC_ENABLED' ? basicAuthCaution(dialect) : null;
  if (caution === null) return '';
  return ` ${caution} Log in there with an account from the identity provider. \`tokenctl incident lift --context ${shellWord(context)}\` turns it back on.`;
}

export function switchPath(name: string): PathName {
  return name === 'AUTH_BASIC_ENABLED' ? 'basic_authentication' : 'external_tokens';
}

/** The access path of a switch that cannot be read. */
export function unreadSwitch(name: string, why: string): AccessPath {
  const remedy = 'Run the same command again when the settings can be read, or in a database context.';
  return uncheckedPath(switchPath(name), `${name} was not read: ${why}.`, { remedy });
}

/** The access path of a switch that is off, but may not be applied everywhere until that time (RFC 3339). */
export function switchUntilApplied(name: string, until: string): AccessPath {
  const how = `${name} was off when it was read again. A running server may not have applied it yet.`;
  const remedy = `Run the same command again after ${untilText(until)}.`;
  return uncheckedPath(switchPath(name), how, { until, remedy });
}

async function users(target: Target, closed: ClosedPaths): Promise<AccessPath> {
  const ids = closed.users.map(({ userId = 0 }) => userId);
  const found = await readUsers(target, { ids });
  const active = found.filter(({ isActive }) => isActive).length;
  const gone = ids.length - found.length;
  return active === 0
    ? closedPath(
        'users',
        `Verified: ${numberText(found.length)} of ${numberText(ids.length)} deactivated.`.concat(
          gone === 0 ? '' : ` ${numberText(gone)} deleted since.`,
        ),
      )
    : openPath(
        'users',
        `${numberText(active)} of ${numberText(ids.length)} ${active === 1 ? 'is' : 'are'} active.`,
        { count: active },
      );
}

function notListed(name: 'refresh_tokens' | 'sessions', { target, description }: Omit<Checks, 'ownTokens'>) {
  const isRest = target.identifies === 'by_trying';
  // The first gateways have no table of session owners, so no right helps.
  if (name === 'sessions' && !isRest && missingSessionRights(description.missingRights).length === 0)
    return uncheckedPath(name, "This gateway's tables do not record which users sessions belong to.");
  const where = isRest ? 'over the REST API' : "with this role's permissions";
  return uncheckedPath(name, `They cannot be listed ${where}.`);
}
