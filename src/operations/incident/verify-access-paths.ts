import type { Lock, LockdownScope } from '../../domain/incident/incident.ts';
import type { Secret } from '../../domain/secret.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Capabilities, Target } from '../ports/target.ts';
import { settingNamed } from './lock-settings.ts';
import { readUsers, selectorOf, usersOf } from './scope-selection.ts';
import { takeStep } from './step.ts';

/** Whether one way in is closed, and how that was found out. */
export interface AccessPath {
  readonly path:
    | 'access_tokens'
    | 'revoked_token'
    | 'refresh_tokens'
    | 'sessions'
    | 'basic_authentication'
    | 'external_tokens'
    | 'users';
  readonly state: 'closed' | 'open' | 'not_tried';
  /** As a sentence. */
  readonly how: string;
}

/** What was closed. */
interface ClosedPaths {
  readonly scope: LockdownScope;
  readonly switches: readonly Lock[];
  readonly users: readonly Pick<Lock, 'name'>[];
  /** The incident that a token is made and revoked for; null to try none. */
  readonly probe: string | null;
}

/**
 * Finds out whether what a lockdown shut is closed: reads again what can be read, has a token made and revoked and
 * presents it, and says of the rest that it could not be tried.
 *
 * @throws TokenctlError whatever the target and the log throw.
 */
export async function verifyAccessPaths(
  work: OperationRun,
  closed: ClosedPaths,
  { capabilities, ownTokens }: { readonly capabilities: Capabilities; readonly ownTokens: readonly number[] },
): Promise<readonly AccessPath[]> {
  const { target } = work;
  const { scope, probe } = closed;
  return [
    await accessTokens(target, scope, ownTokens),
    ...(probe !== null && capabilities.identifies === 'by_trying' && capabilities.createTokens
      ? [await probeToken(work, probe)]
      : []),
    capabilities.refreshTokens
      ? await refreshTokens(target, scope)
      : notTried('refresh_tokens', capabilities),
    ...(scope.kind === 'applications'
      ? []
      : [capabilities.sessions ? await sessions(target, scope) : notTried('sessions', capabilities)]),
    ...(await switches(target, closed)),
    ...(closed.users.length > 0 ? [await users(target, closed)] : []),
  ];
}

function checked(
  name: AccessPath['path'],
  open: number,
  texts: { readonly closed: string; readonly open: string },
): AccessPath {
  return { path: name, state: open === 0 ? 'closed' : 'open', how: open === 0 ? texts.closed : texts.open };
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
    open: `${left} are left.`,
  });
}

async function refreshTokens(target: Target, scope: LockdownScope): Promise<AccessPath> {
  const selector = await selectorOf(scope, target);
  let left = 0;
  if (selector !== null) {
    const { users, applications } = selector;
    const of = { ...(users && { users }), ...(applications && { applications }) };
    for await (const _token of target.refreshTokens({ ...of, states: ['live', 'orphaned'] })) left += 1;
  }
  return checked('refresh_tokens', left, {
    closed: 'Verified: none is live.',
    open: `${left} are live.`,
  });
}

async function sessions(target: Target, scope: LockdownScope): Promise<AccessPath> {
  const userIds = scope.kind === 'all' ? null : (await usersOf(scope, target)).map(({ id }) => id);
  let left = 0;
  if (userIds === null) for await (const _session of target.sessions({ all: true })) left += 1;
  else if (userIds.length > 0) for await (const _session of target.sessions({ userIds })) left += 1;
  return checked('sessions', left, {
    closed: 'Verified: none is left.',
    open: `${left} exist: a user has logged in.`,
  });
}

async function switches(target: Target, { switches: locks }: ClosedPaths): Promise<readonly AccessPath[]> {
  if (locks.length === 0) return [];
  const settings = await target.settings.read();
  return locks.map(({ name }) => {
    const isBasic = name === 'AUTH_BASIC_ENABLED';
    const untried = isBasic ? ' A login was not tried: no password is available.' : '';
    return checked(
      isBasic ? 'basic_authentication' : 'external_tokens',
      settingNamed(settings, name) === false ? 0 : 1,
      {
        closed: `Verified: ${name} is off.${untried}`,
        open: `${name} is on.`,
      },
    );
  });
}

async function users(target: Target, closed: ClosedPaths): Promise<AccessPath> {
  const names = closed.users.map(({ name }) => name);
  const active = (await readUsers(target, { names })).filter(({ isActive }) => isActive).length;
  return checked('users', active, {
    closed: `Verified: all ${names.length} are deactivated.`,
    open: `${active} of ${names.length} are active.`,
  });
}

function notTried(name: 'refresh_tokens' | 'sessions', { identifies }: Capabilities): AccessPath {
  const what = name === 'sessions' ? 'sessions' : 'refresh tokens';
  const where = identifies === 'by_trying' ? 'over the REST API' : 'with the rights of this role';
  return { path: name, state: 'not_tried', how: `Not tried: ${what} cannot be listed ${where}.` };
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
  let path = revokedTokenPath('not_tried', 'Not tried: no test token could be created.');
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
      else path = revokedTokenPath('not_tried', `Not tried: the test token was not revoked: ${problem}.`);
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
  for await (const { live } of target.identify([value])) {
    if (live) return revokedTokenPath('open', 'A test token was accepted after it was revoked.');
  }
  return revokedTokenPath('closed', 'A test token was refused after it was revoked.');
}

function revokedTokenPath(state: AccessPath['state'], how: string): AccessPath {
  return { path: 'revoked_token', state, how };
}
