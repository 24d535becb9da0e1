import { randomBytes } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { numberText } from '@tokenctl/common/text.ts';
import {
  type LocalMeasures,
  type Lock,
  type LockdownScope,
  lockKey,
} from '../../domain/incident/incident.ts';
import type { IncidentHistory } from '../../domain/incident/incident-history.ts';
import type { UserReference } from '../../domain/token.ts';
import { endApplication } from '../applications/change-application.ts';
import { tokensOf } from '../applications/show-application.ts';
import {
  endsRun,
  isRefusal,
  type OperationRun,
  type Reading,
  type Step,
  type StepReport,
  type StepResult,
} from '../journal/operation-run.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { type KnownUser, usersOf } from '../scope/scope-selection.ts';
import { notPossible, partOf } from '../scope/target-parts.ts';

export interface PlannedApplication {
  readonly id: number;
  readonly name: string;
  readonly accessTokens: number;
}

/** How to end the access of users who cannot be deactivated. */
export interface LocalAccessPlan {
  /** The users who get a random password. */
  readonly passwords: readonly UserReference[];
  /** Users of an identity provider, whose passwords the target cannot change. */
  readonly external: readonly UserReference[];
  /** The roles and flags to remove. */
  readonly roles: readonly Lock[];
  readonly applications: readonly PlannedApplication[];
  /** Applications that these users created but that have tokens of other users: they stay. */
  readonly applicationsKept: readonly (PlannedApplication & { readonly othersTokens: number })[];
}

export const NO_LOCAL_ACCESS: LocalAccessPlan = {
  passwords: [],
  external: [],
  roles: [],
  applications: [],
  applicationsKept: [],
};

/** The planned changes to local access; empty if not requested. */
export function localPlanned({ passwords, roles, applications }: LocalAccessPlan) {
  return {
    ...(passwords.length > 0 && { passwords: passwords.length }),
    ...(roles.length > 0 && { roles: roles.length }),
    ...(applications.length > 0 && { applications: applications.map(({ id, name }) => ({ id, name })) }),
  };
}

interface Planning {
  readonly scope: LockdownScope;
  readonly measures: LocalMeasures;
  /** What open incidents hold: a role that another incident removed is included. */
  readonly history?: IncidentHistory | undefined;
}

/**
 * Plans the end of local access: passwords, roles and applications. The caller is never included. Reads only.
 * @throws TokenctlError `unsupported` for what the target cannot do.
 */
export async function planLocalAccess(
  { target, description }: Pick<Reading, 'target' | 'description'>,
  { scope, measures, history }: Planning,
): Promise<LocalAccessPlan> {
  const { resetPasswords, stripRoles, endApplications } = measures;
  if (!resetPasswords && !stripRoles && !endApplications) return NO_LOCAL_ACCESS;
  const { capabilities, identity } = description;
  const maySet = target.passwords !== undefined && capabilities.changes && identity.isSuperuser;
  if (resetPasswords && !maySet) throw cannot('reset passwords', description);
  if (stripRoles && (target.roles === undefined || !capabilities.roles))
    throw cannot('take the roles of users', description);
  const users = (await usersOf(scope, target)).filter(({ id }) => id !== identity.id);
  const [local, external] = [
    users.filter(({ externalAccount }) => externalAccount === null),
    users.filter(({ externalAccount }) => externalAccount !== null),
  ];
  return {
    passwords: resetPasswords ? local.map(referenceOf) : [],
    external: resetPasswords ? external.map(referenceOf) : [],
    roles: stripRoles ? await roleLocks(target, users, history) : [],
    ...(endApplications
      ? await applicationsOf(target, scope, users)
      : { applications: [], applicationsKept: [] }),
  };
}

function referenceOf({ id, username }: KnownUser): UserReference {
  return { id, username };
}

function cannot(what: string, { credential }: TargetDescription): TokenctlError {
  return notPossible(
    `This context cannot ${what}`,
    credential === 'database_role'
      ? 'Use --deactivate (`users offboard` does this automatically), which ends both.'
      : "Use a superuser's account and a token with scope write, or a database context.",
  );
}

/** The roles that users hold now, and those that an open incident removed. */
async function roleLocks(target: Target, users: readonly KnownUser[], history: IncidentHistory | undefined) {
  const locks: Lock[] = [];
  for (const { id, username } of users) {
    for (const { role, name } of await partOf(target, 'roles').list(id)) {
      const held = { role, before: true, locked: false };
      locks.push({ what: 'role', name: `${username}: ${name}`, userId: id, ...held });
    }
  }
  const ids = new Set(users.map(({ id }) => id));
  const found = new Set(locks.map(lockKey));
  const taken = (history?.open ?? [])
    .flatMap((incident) => history?.heldBy(incident.id) ?? [])
    .filter(({ lock }) => lock.what === 'role' && ids.has(lock.userId ?? 0) && !found.has(lockKey(lock)))
    .map(({ lock }) => ({ ...lock, before: false, locked: false }));
  return [...locks, ...new Map(taken.map((lock) => [lockKey(lock), lock])).values()];
}

/** The applications that a scope names, or that its users created, unless other users have their tokens. */
async function applicationsOf(target: Target, scope: LockdownScope, users: readonly KnownUser[]) {
  const mine = new Set(users.map(({ id }) => id));
  const meant =
    scope.kind === 'applications' ? await applicationsIn(scope, target) : await madeBy(target, [...mine]);
  const counted = await Promise.all(
    meant.map(async ({ id, name }) => {
      let [accessTokens, othersTokens] = [0, 0];
      for await (const { user } of tokensOf(target, { id, name })) {
        accessTokens += 1;
        if (scope.kind !== 'applications' && !mine.has(user?.id ?? 0)) othersTokens += 1;
      }
      return { id, name, accessTokens, othersTokens };
    }),
  );
  return {
    applications: counted
      .filter(({ othersTokens }) => othersTokens === 0)
      .map(({ id, name, accessTokens }) => ({ id, name, accessTokens })),
    applicationsKept: counted.filter(({ othersTokens }) => othersTokens > 0),
  };
}

async function applicationsIn({ names, bound }: LockdownScope & { kind: 'applications' }, target: Target) {
  if (bound === undefined) return await target.applications.list(names);
  const ids = new Set(bound.map(({ id }) => id));
  return (await target.applications.list()).filter(({ id }) => ids.has(id));
}

async function madeBy(target: Target, userIds: readonly number[]) {
  if (userIds.length === 0) return [];
  const made = new Set<unknown>();
  for await (const { operation, object, changes } of target.activity.list({ actorIds: userIds })) {
    const isApplication = object === 'o_auth2_application' || object === 'oauth2application';
    if (operation === 'create' && isApplication) made.add(Number(changes['id']));
  }
  return (await target.applications.list()).filter(({ id }) => made.has(id));
}

/** New passwords by user id: kept only in memory, until they are tested again. */
export type SetPasswords = ReadonlyMap<number, Secret>;

/**
 * Gives each user a random password and tests it immediately; null without users. The log contains only the
 * users. `set` receives the passwords that were accepted when tested, for {@link withLocalPaths}. Throws as
 * {@link OperationRun.step}.
 */
export async function resetPasswords(
  work: OperationRun,
  users: readonly UserReference[],
  { common, set }: { common: Readonly<Record<string, unknown>>; set: Map<number, Secret> },
): Promise<StepReport | null> {
  if (users.length === 0) return null;
  const passwords = partOf(work.target, 'passwords');
  return work.step({
    name: 'passwords',
    title: 'Resetting passwords',
    common,
    intent: { users },
    act: async () => {
      const untried: number[] = [];
      const changed = await each(users, async (user) => {
        // Letters of both cases, digits and symbols: a controller may require some of each.
        const password = new Secret(`${randomBytes(36).toString('base64url')}aA1!aA1!`);
        await passwords.set(user.id, password);
        if (await passwords.accepts(user, password)) set.set(user.id, password);
        else untried.push(user.id);
      });
      const tried = changed.done.length - untried.length;
      return stepResult(changed, {
        did: 'Reset the password of',
        of: users.length,
        what: `users; ${numberText(tried)} accepted when tested`,
        data: { reset: changed.done.map(({ id }) => id), untried },
      });
    },
  });
}

/**
 * Removes roles and flags; null if there are none. The intent records them as locks, so that a lift restores
 * them. Throws as {@link OperationRun.step}.
 */
export async function stripRoles(
  work: OperationRun,
  locks: readonly Lock[],
  { common, key }: { common: Readonly<Record<string, unknown>>; key: 'locks' | 'roles' },
): Promise<StepReport | null> {
  if (locks.length === 0) return null;
  const present = locks.filter(({ before }) => before === true);
  return setRoles(work, present, { title: 'Taking roles', common, intent: { [key]: locks }, held: false });
}

/** Restores roles and flags. Throws as {@link OperationRun.step}. */
export function giveRoles(
  work: OperationRun,
  locks: readonly Omit<Lock, 'before' | 'locked'>[],
  common: Readonly<Record<string, unknown>>,
): Promise<StepReport> {
  const intent = { roles: locks.map(({ name, userId, role }) => ({ name, userId, role })) };
  return setRoles(work, locks, { title: 'Giving roles back', common, intent, held: true });
}

function setRoles(
  work: OperationRun,
  locks: readonly Omit<Lock, 'before' | 'locked'>[],
  { held, ...step }: Omit<Step, 'name' | 'act'> & { held: boolean },
): Promise<StepReport> {
  return work.step({
    ...step,
    name: 'roles',
    act: async () => {
      const changed = await each(locks, ({ userId = 0, role = 0 }) =>
        partOf(work.target, 'roles').set(userId, role, held),
      );
      return stepResult(changed, {
        did: held ? 'Restored' : 'Removed',
        of: locks.length,
        what: 'roles',
        data: held ? {} : { refusedKeys: changed.refused.map(lockKey) },
      });
    },
  });
}

/** Handles one item after the other. A failure does not stop the rest unless no further item can be tried. */
async function each<Item extends { readonly name: string } | { readonly username: string }>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<{ readonly done: Item[]; readonly failed: string[]; readonly refused: Item[] }> {
  const [done, refused]: [Item[], Item[]] = [[], []];
  const failed: string[] = [];
  for (const item of items) {
    try {
      await act(item);
      done.push(item);
    } catch (error) {
      if (!(error instanceof TokenctlError) || endsRun(error)) throw error;
      failed.push(`${'name' in item ? item.name : item.username}: ${error.message}`);
      if (isRefusal(error)) refused.push(item);
    }
  }
  return { done, failed, refused };
}

function stepResult(
  { done, failed }: { done: readonly unknown[]; failed: readonly string[] },
  { did, of, what, data }: { did: string; of: number; what: string; data: StepResult['data'] },
): StepResult {
  const left = failed.length === 0 ? '' : ` ${failed.length} failed, first error: ${failed[0]}.`;
  const whole = done.length > 0 || of === 0 ? ('done' as const) : ('unchanged' as const);
  return {
    result: failed.length > 0 ? 'partly' : whole,
    message: `${did} ${numberText(done.length)} of ${numberText(of)} ${what}.${left}`,
    data: { ...data, done: done.length, failed },
  };
}

/** Deletes applications one by one, as a stage of the run. Throws as {@link OperationRun.step}. */
export async function endApplications(
  work: OperationRun,
  applications: readonly PlannedApplication[],
  common: Readonly<Record<string, unknown>>,
): Promise<void> {
  await work.take({ name: 'applications', title: 'Deleting applications' }, async () => {
    const steps: StepReport[] = [];
    for (const { id, name } of applications) steps.push(await endApplication(work, { id, name }, common));
    return steps;
  });
}
