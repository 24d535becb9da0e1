import type { Claim } from '../../domain/claims.ts';
import type { OrphanUse } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Lock, LockdownScope } from '../../domain/incident/incident.ts';
import type { IncidentHistory } from '../../domain/incident/incident-history.ts';
import type { Secret } from '../../domain/secret.ts';
import { refreshTokenExpiry, refreshTokenState } from '../../domain/token.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { AuthenticationSettings, Capabilities, Target } from '../ports/target.ts';
import { readRefreshLifetime } from '../revocation/plan-revocation.ts';
import { type UnseenSessions, unseenSessions } from '../sessions/sessions.ts';
import { settingNamed } from './lock-settings.ts';
import { readUsers, selectorOf, usersOf } from './scope-selection.ts';
import { takeStep } from './step.ts';

/** A way to get access. */
type PathName =
  | 'access_tokens'
  | 'revoked_token'
  | 'authorization_codes'
  | 'refresh_tokens'
  | 'sessions'
  | 'basic_authentication'
  | 'external_tokens'
  | 'users'
  | 'passwords'
  | 'roles'
  | 'applications';

/** Whether one way in is closed, and what that rests on. */
export type AccessPath = Claim<'closed' | 'open'> & {
  readonly path: PathName;
  /**
   * When (RFC 3339) it is closed by itself; only of what is not checked: codes and sessions from before have expired, a
   * setting is applied.
   */
  readonly until?: string;
};

/** What was closed. */
interface ClosedPaths {
  readonly scope: LockdownScope;
  readonly switches: readonly Lock[];
  /** The users that are to be deactivated. */
  readonly users: readonly { readonly name: string }[];
}

/** What the checks need to know. */
interface Checks {
  readonly target: Target;
  readonly capabilities: Capabilities;
  /** What an orphaned refresh token can do on this version. */
  readonly orphans: OrphanUse;
  /** Ids of the caller's own tokens, which live on. */
  readonly ownTokens: readonly number[];
  readonly now: Date;
  /** The present, where `now` is the time of an earlier lockdown. */
  readonly present?: Date;
  /** The lifetime of authorization codes before it was shortened, in seconds. */
  readonly codeLifetime?: number | undefined;
  /** When an incident set these switches, by name; those that no incident changed are left out. */
  readonly switchesSet?: ReadonlyMap<string, Date>;
}

/**
 * Reads again which ways in are closed, and says of those that this target does not list that they were not checked.
 * Changes nothing.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function checkAccessPaths(checks: Checks, closed: ClosedPaths): Promise<readonly AccessPath[]> {
  const { target, ownTokens } = checks;
  const { scope } = closed;
  return [
    await accessTokens(target, scope, ownTokens),
    ...(await checkOtherCredentials(checks, scope)),
    ...(await switches(checks, closed)),
    ...(closed.users.length > 0 ? [await users(target, closed)] : []),
  ];
}

/**
 * Reads which authorization codes, refresh tokens and sessions of a scope are left. Changes nothing.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function checkOtherCredentials(
  checks: Omit<Checks, 'ownTokens'>,
  scope: LockdownScope,
): Promise<readonly AccessPath[]> {
  const { target, capabilities } = checks;
  return [
    capabilities.authorizationCodes ? await authorizationCodes(target, scope) : await uncheckedCodes(checks),
    capabilities.refreshTokens
      ? await refreshTokens(checks, scope)
      : notListed('refresh_tokens', capabilities),
    ...(scope.kind === 'applications'
      ? []
      : [capabilities.sessions ? await sessions(checks, scope) : notListed('sessions', capabilities)]),
  ];
}

/** Users of a lockdown that do not exist any more; empty without any. */
export function missingUsersPath(names: readonly string[]): readonly AccessPath[] {
  if (names.length === 0) return [];
  const how = `${names.join(', ')} no longer ${names.length === 1 ? 'exists' : 'exist'}: deleted, which also deletes the tokens, or renamed.`;
  return [notChecked('users', how)];
}

/**
 * Checks the ways in as {@link checkAccessPaths} does. Where tokens are identified by trying, it also has a token made,
 * revokes it for the incident and presents it.
 *
 * @throws TokenctlError whatever the target and the log throw.
 */
export async function verifyAccessPaths(
  work: OperationRun,
  closed: ClosedPaths & { readonly incident: string },
  checks: Omit<Checks, 'target'>,
): Promise<readonly AccessPath[]> {
  const { identifies, createTokens } = checks.capabilities;
  const paths = await checkAccessPaths({ ...checks, target: work.target }, closed);
  if (identifies !== 'by_trying' || !createTokens) return paths;
  const [tokens, ...others] = paths;
  return [...(tokens === undefined ? [] : [tokens]), await probeToken(work, closed.incident), ...others];
}

function checked(
  name: AccessPath['path'],
  open: number,
  texts: { readonly closed: string; readonly open: string },
): AccessPath {
  const isClosed = open === 0;
  return {
    path: name,
    state: isClosed ? 'closed' : 'open',
    basis: 'checked',
    how: isClosed ? texts.closed : texts.open,
  };
}

async function accessTokens(
  target: Target,
  scope: LockdownScope,
  ownTokens: readonly number[],
): Promise<AccessPath> {
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
  return checked('access_tokens', left, {
    closed: `Verified: none is left${but}.`,
    open: `${left} ${left === 1 ? 'is' : 'are'} left.`,
  });
}

async function authorizationCodes(target: Target, scope: LockdownScope): Promise<AccessPath> {
  const selector = await selectorOf(scope, target);
  let left = 0;
  if (selector !== null) {
    const { users, applications } = selector;
    const of = { ...(users && { users }), ...(applications && { applications }) };
    for await (const _code of target.authorizationCodes({ ...of, state: 'live' })) left += 1;
  }
  return checked('authorization_codes', left, {
    closed: 'Verified: none is left.',
    open: `${left} can be exchanged for tokens.`,
  });
}

/** How long a code from before is assumed to be valid at least, whatever the setting says now: it may have been lowered since. */
const DEFAULT_CODE_LIFETIME_S = 600;

/** A code from before the lockdown yields tokens until it expires, for a deactivated user too. */
async function uncheckedCodes({
  target,
  now,
  codeLifetime = 0,
}: Omit<Checks, 'ownTokens'>): Promise<AccessPath> {
  const settings = await settingsIfAllowed(target);
  const lifetime = settings?.OAUTH2_PROVIDER?.AUTHORIZATION_CODE_EXPIRE_SECONDS ?? DEFAULT_CODE_LIFETIME_S;
  const seconds = Math.max(lifetime, codeLifetime, DEFAULT_CODE_LIFETIME_S);
  return codesUntilExpired(new Date(now.getTime() + seconds * 1000).toISOString());
}

/** Authorization codes that are not listed: those from before a lockdown can be used until that time (RFC 3339). */
export function codesUntilExpired(until: string): AccessPath {
  return {
    path: 'authorization_codes',
    state: 'not_checked',
    basis: 'not_checked',
    how: `They cannot be listed with this context. One from before can be exchanged for tokens until ${until.slice(0, 16)}Z.`,
    until,
  };
}

async function settingsIfAllowed(target: Target): Promise<AuthenticationSettings | null> {
  try {
    return await target.settings.read();
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'permission_refused') return null;
    throw error;
  }
}

async function refreshTokens(
  { target, orphans, now, present = now }: Omit<Checks, 'ownTokens'>,
  scope: LockdownScope,
): Promise<AccessPath> {
  const selector = await selectorOf(scope, target);
  const lifetime = await readRefreshLifetime(target);
  let [live, orphaned, expired] = [0, 0, 0];
  if (selector !== null) {
    const { users, applications } = selector;
    const of = { ...(users && { users }), ...(applications && { applications }) };
    for await (const token of target.refreshTokens({ ...of, states: ['live', 'orphaned'] })) {
      if (refreshTokenState(token) === 'orphaned') orphaned += 1;
      else if (lifetime !== null && refreshTokenExpiry(token, lifetime) < present) expired += 1;
      else live += 1;
    }
  }
  const assumed = orphans === 'refused' ? 0 : orphaned;
  const found = live + assumed;
  const but = assumed === 0 ? '' : ` (${assumed} orphaned, assumed to be usable)`;
  const more = notUsableText({ orphaned: orphaned - assumed, expired });
  return checked('refresh_tokens', found, {
    closed: `Verified: none is live.${more}`,
    open: `${found} ${found === 1 ? 'is' : 'are'} live${but}.${more}`,
  });
}

/** Refresh tokens that are not revoked and refused: lifting a lockdown may raise the lifetime. */
function notUsableText({
  orphaned,
  expired,
}: {
  readonly orphaned: number;
  readonly expired: number;
}): string {
  const are = (count: number) => `${count} ${count === 1 ? 'is' : 'are'}`;
  return [
    ...(orphaned === 0 ? [] : [` ${are(orphaned)} orphaned: this version refuses such tokens.`]),
    ...(expired === 0
      ? []
      : [` ${are(expired)} expired, and live again if REFRESH_TOKEN_EXPIRE_SECONDS is raised.`]),
  ].join('');
}

async function sessions(
  { target, capabilities, now }: Omit<Checks, 'ownTokens'>,
  scope: LockdownScope,
): Promise<AccessPath> {
  const userIds = scope.kind === 'all' ? null : (await usersOf(scope, target)).map(({ id }) => id);
  let left = 0;
  if (userIds === null) for await (const _session of target.sessions({ all: true })) left += 1;
  else if (userIds.length > 0) for await (const _session of target.sessions({ userIds })) left += 1;
  if (left === 0) {
    const users = scope.kind === 'all' ? await readUsers(target, {}) : await usersOf(scope, target);
    const unseen = users.some(({ isActive }) => isActive)
      ? await unseenSessions(target, { capabilities, userIds: userIds ?? 'all', now, latestExpiry: null })
      : null;
    if (unseen !== null) return unseenPath(unseen);
  }
  return checked('sessions', left, {
    closed: 'Verified: none is left.',
    open: `${left} ${left === 1 ? 'exists' : 'exist'}: a user has logged in.`,
  });
}

function unseenPath({ why, until }: UnseenSessions): AccessPath {
  return {
    path: 'sessions',
    state: 'not_checked',
    basis: 'not_checked',
    how: `${why}. To end them at once, deactivate the users, or add \`cache\` to the context.`,
    ...(until !== null && { until: until.toISOString() }),
  };
}

/** How long a running server may go on with the settings as they were before, in milliseconds. */
const SETTINGS_HOLD_MS: Readonly<Record<Capabilities['settingsHold'], number>> = {
  at_once: 0,
  within_seconds: 5000,
  within_a_minute: 60_000,
  within_five_minutes: 300_000,
};

/** When a running server applies settings that were written at this time at the latest; null if it does already. */
export function appliedAt(
  set: Date | null,
  { capabilities, now }: Pick<Checks, 'capabilities' | 'now'>,
): Date | null {
  const hold = SETTINGS_HOLD_MS[capabilities.settingsHold];
  // A switch is set after the run began, so that its time is later than the run's `now`.
  if (set === null || hold === 0) return null;
  const applied = set.getTime() + hold;
  return applied > now.getTime() ? new Date(applied) : null;
}

/** When the switches that an incident holds were set, by name; those that were so before are left out. */
export function setSwitches(history: IncidentHistory, incident: string): Map<string, Date> {
  const changed = history.heldBy(incident).filter(({ before, locked }) => before !== locked);
  return new Map(changed.map(({ lock, since }) => [lock.name, new Date(since)]));
}

async function switches(checks: Checks, { switches: locks }: ClosedPaths): Promise<readonly AccessPath[]> {
  if (locks.length === 0) return [];
  const settings = await checks.target.settings.read();
  return locks.map(({ name }) => {
    const until = appliedAt(checks.switchesSet?.get(name) ?? null, checks)?.toISOString();
    const isBasic = name === 'AUTH_BASIC_ENABLED';
    const path = switchPath(name);
    const isOff = settingNamed(settings, name) === false;
    if (isOff && until !== undefined) return switchUntilApplied(name, until);
    const untried = isBasic ? ' A login was not tried: no password is available.' : '';
    return checked(path, isOff ? 0 : 1, {
      closed: `Verified: ${name} is off.${untried}`,
      open: `${name} is on.`,
    });
  });
}

function switchPath(name: string): 'basic_authentication' | 'external_tokens' {
  return name === 'AUTH_BASIC_ENABLED' ? 'basic_authentication' : 'external_tokens';
}

/** The way in of a switch that is off: a running server may not have applied it until that time (RFC 3339). */
export function switchUntilApplied(name: string, until: string): AccessPath {
  const how = `${name} is off when read again. A running server may not have applied it until ${until.slice(0, 19)}Z.`;
  return { path: switchPath(name), state: 'not_checked', basis: 'not_checked', how, until };
}

async function users(target: Target, closed: ClosedPaths): Promise<AccessPath> {
  const names = closed.users.map(({ name }) => name);
  const active = (await readUsers(target, { names })).filter(({ isActive }) => isActive).length;
  return checked('users', active, {
    closed: `Verified: ${names.length} of ${names.length} deactivated.`,
    open: `${active} of ${names.length} ${active === 1 ? 'is' : 'are'} active.`,
  });
}

function notListed(name: 'refresh_tokens' | 'sessions', { identifies }: Capabilities): AccessPath {
  const where = identifies === 'by_trying' ? 'over the REST API' : 'with the rights of this role';
  return notChecked(name, `They cannot be listed ${where}.`);
}

/**
 * Has a token made, revokes it and presents it: a revoked token must be refused by the next request. It is the
 * caller's, with the scope read, and its description names the incident: one that a killed process left behind
 * is revoked here as well.
 *
 * @throws TokenctlError as `takeStep`.
 */
async function probeToken(work: OperationRun, incident: string): Promise<AccessPath> {
  const { target } = work;
  const description = `tokenctl: probe of ${incident}`;
  let path = notChecked('revoked_token', 'No test token could be created.');
  await takeStep(work, {
    name: 'probe',
    title: 'Testing a revoked token',
    common: { incident },
    intent: { description },
    act: async () => {
      const { token, value } = await target.createToken({ scope: 'read', description });
      const left = token.user === null ? [] : await probesOf(target, token.user.username, description);
      const ids = [...new Set([...left, token.id])];
      const problem = await revoked(target, ids);
      if (problem === null) path = await presented(target, value);
      else path = notChecked('revoked_token', `The test token was not revoked: ${problem}.`);
      return {
        result: path.state === 'closed' ? 'done' : 'partly',
        message: path.how,
        data: { tokens: ids, accepted: path.state === 'open' },
      };
    },
  });
  return path;
}

async function probesOf(target: Target, user: string, description: string): Promise<number[]> {
  const ids: number[] = [];
  for await (const token of target.tokens({ users: [user] })) {
    if (token.description === description) ids.push(token.id);
  }
  return ids;
}

/** What kept one from being revoked; null where nothing did. */
async function revoked(target: Target, ids: readonly number[]): Promise<string | null> {
  let problem: string | null = null;
  for await (const { result, reason } of target.revoke(ids)) {
    if (result === 'failed') problem = reason ?? 'no reason given';
  }
  return problem;
}

async function presented(target: Target, value: Secret): Promise<AccessPath> {
  for await (const { live } of target.identify([value], { liveOnly: true })) {
    if (live) return revokedTokenPath('open', 'A test token was accepted after it was revoked.');
  }
  return revokedTokenPath('closed', 'A test token was refused after it was revoked.');
}

function revokedTokenPath(state: 'closed' | 'open', how: string): AccessPath {
  return { path: 'revoked_token', state, basis: 'checked', how };
}

function notChecked(path: PathName, how: string): AccessPath {
  return { path, state: 'not_checked', basis: 'not_checked', how };
}
