import {
  type AccessPath,
  closedPath,
  knownClosedPath,
  openPath,
  uncheckedPath,
} from '../../domain/access.ts';
import { knownEffect } from '../../domain/tried-versions.ts';
import { leftOf } from '../applications/change-application.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { partOf } from '../scope/target-parts.ts';
import type { LocalAccessPlan, SetPasswords } from './end-local-access.ts';

interface LocalAct {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly plan: LocalAccessPlan;
  readonly set: SetPasswords;
}

/**
 * Adds the access paths that {@link planLocalAccess} named, after re-reading and testing them: whether the
 * new passwords are still accepted, no role is held, and no application remains.
 * @throws TokenctlError whatever the target throws.
 */
export async function withLocalPaths(
  found: readonly AccessPath[],
  act: LocalAct,
): Promise<readonly AccessPath[]> {
  const { target, plan, set } = act;
  return [
    ...knownOfPasswords(found, act),
    ...(plan.passwords.length + plan.external.length === 0 ? [] : [await passwordsPath(target, plan, set)]),
    ...(plan.roles.length === 0 ? [] : [await rolesPath(target, plan)]),
    ...(plan.applications.length === 0 ? [] : [await applicationsPath(target, plan)]),
  ];
}

/** A user has one password: if the new one is accepted, the old one is not. */
async function passwordsPath(target: Target, { passwords, external }: LocalAccessPlan, set: SetPasswords) {
  const changed: string[] = [];
  for (const user of passwords) {
    const password = set.get(user.id);
    if (password !== undefined && !(await partOf(target, 'passwords').accepts(user, password)))
      changed.push(user.username);
  }
  if (changed.length > 0) {
    const how = `The new password of ${changed.join(', ')} is no longer accepted: it was changed again.`;
    return openPath('passwords', how);
  }
  const untried = passwords.filter(({ id }) => !set.has(id)).map(({ username }) => username);
  const reasons = [
    ...(untried.length === 0
      ? []
      : [
          `The new password of ${untried.join(', ')} was not accepted when tested, as is the case without basic authentication.`,
        ]),
    ...(external.length === 0
      ? []
      : [
          `Not changed, because the account comes from an identity provider: ${external.map(({ username }) => username).join(', ')}.`,
        ]),
  ];
  if (reasons.length > 0) return uncheckedPath('passwords', reasons.join(' '));
  const how = `Verified: the random passwords of ${passwords.length} of ${passwords.length} are accepted, so the previous ones are not.`;
  return closedPath('passwords', how);
}

async function rolesPath(target: Target, { roles }: LocalAccessPlan): Promise<AccessPath> {
  const held: string[] = [];
  for (const userId of new Set(roles.map((lock) => lock.userId ?? 0))) {
    const user = roles.find((lock) => lock.userId === userId)?.name.split(': ', 1)[0] ?? '';
    for (const { name } of await partOf(target, 'roles').list(userId)) held.push(`${user}: ${name}`);
  }
  return held.length === 0
    ? closedPath('roles', 'Verified: no roles are held.')
    : openPath('roles', `Still held: ${held.join(', ')}.`, { count: held.length });
}

async function applicationsPath(target: Target, { applications }: LocalAccessPlan): Promise<AccessPath> {
  const left: string[] = [];
  for (const application of applications) {
    const found = await leftOf(target, application);
    if (found.application || found.accessTokens > 0) left.push(application.name);
  }
  return left.length === 0
    ? closedPath('applications', 'Verified: none is left.')
    : openPath('applications', `Still there: ${left.join(', ')}.`, { count: left.length });
}

/**
 * What else a new password ends, and what ending all access tokens does: known for tested controllers and the
 * versions between them. Users whose password was not tested are excluded.
 */
function knownOfPasswords(paths: readonly AccessPath[], { description, plan, set }: LocalAct) {
  const { passwords, external } = plan;
  const isWhole = passwords.length > 0 && external.length === 0 && passwords.every(({ id }) => set.has(id));
  const hasNoTokens = paths.some(({ path, state }) => path === 'access_tokens' && state === 'closed');
  if (!isWhole || description.dialect !== 'controller') return paths;
  const ended = knownEffect('password_sessions', description);
  const refused = knownEffect('orphaned_refresh', description);
  return paths.map((each) => {
    if (each.state !== 'not_checked') return each;
    if (each.path === 'sessions' && ended.outcome === 'ended') {
      const of = ended.seenOn.join(' and ');
      const how = `Known from ${of}: when a password is changed, the user's sessions are ended.`;
      return knownClosedPath('sessions', of, how);
    }
    if (each.path === 'refresh_tokens' && hasNoTokens && refused.outcome === 'refused') {
      const of = refused.seenOn.join(' and ');
      const how = `Known from ${of}: a refresh token is rejected after its access token is revoked.`;
      return knownClosedPath('refresh_tokens', of, how);
    }
    return each;
  });
}
