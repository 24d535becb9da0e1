import { orphanUse } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { LocalMeasures } from '../../domain/incident/incident.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { Secret } from '../../domain/secret.ts';
import { formatAlternatives } from '../../domain/selector.ts';
import { Journal } from '../journal/journal.ts';
import { type Change, OperationRun, type Stopped } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import { datedFrom, type RevocationListeners } from '../revocation/revocation-report.ts';
import { requireFullView, requireRights } from '../visibility.ts';
import {
  endApplications,
  knownOfPasswords,
  type LocalAccessPlan,
  localPaths,
  localPlanned,
  planLocalAccess,
  resetPasswords,
  stillOpen,
  stripRoles,
} from './end-local-access.ts';
import { revokeAllAccess } from './revoke-all-access.ts';
import { readUsers } from './scope-selection.ts';
import { setUsers, type UsersStep } from './set-users.ts';
import { type StepReport, stage } from './step.ts';
import { type AccessPath, checkAccessPaths } from './verify-access-paths.ts';

/** What users would lose. */
export interface UserOffboardingPlan {
  readonly users: readonly string[];
  /** Those of them that are active and would be deactivated. */
  readonly deactivate: UsersStep['users'];
  /** Whether active users stay active because the target cannot deactivate users. */
  readonly staysActive: boolean;
  /** Passwords, roles and applications that end with it. */
  readonly local: LocalAccessPlan;
  readonly revocation: RevocationPlan;
}

/** What became of the access of users. */
export interface UserOffboardingReport {
  readonly users: readonly string[];
  /** `done` where every access path was checked and is closed. */
  readonly result: 'done' | 'partly';
  readonly steps: readonly StepReport[];
  readonly accessPaths: readonly AccessPath[];
  readonly staysActive: boolean;
  readonly staysAlive: RevocationPlan['staysAlive'];
  readonly interrupted: boolean;
  readonly stopped: Stopped | null;
  /** The run's UUID in the audit log. */
  readonly run: string;
}

/**
 * Plans the end of all tokens of users, with refresh tokens and sessions where the target can. Reads only.
 *
 * @throws TokenctlError as `planRevocation`.
 */
export function planAccess(options: {
  readonly target: Target;
  readonly clock: Clock;
  readonly users: readonly string[];
  readonly description: TargetDescription;
}): Promise<RevocationPlan> {
  const { users, target, clock, description } = options;
  const withSessions = description.capabilities.sessions;
  return planRevocation({ target, clock, description, selector: { users }, withSessions });
}

/**
 * Plans the end of the access of users who leave. Reads only.
 *
 * @throws TokenctlError `lockout_refused` where the caller is one of them, `not_found` for a user that does not
 * exist, and whatever the target throws.
 */
export async function planUserOffboarding(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly clock: Clock;
  readonly users: readonly string[];
  readonly measures?: LocalMeasures;
}): Promise<UserOffboardingPlan> {
  const { target, description, users, measures = {} } = options;
  const { capabilities, identity } = description;
  requireFullView(description, 'An offboarding');
  requireRights(description, {
    what: 'An offboarding',
    purposes: [
      'revoke',
      ...(capabilities.sessions ? (['sessions'] as const) : []),
      ...(measures.endApplications ? (['applications'] as const) : []),
    ],
  });
  if (identity.id !== null && users.includes(identity.username)) {
    throw new TokenctlError('lockout_refused', `tokenctl signs in as ${identity.username}`, {
      hint: 'Use another account.',
    });
  }
  const revocation = await planAccess(options);
  const active = (await readUsers(target, { names: users }))
    .filter(({ isActive }) => isActive)
    .map(({ id, username }) => ({ name: username, userId: id, before: true, locked: false }));
  const local = await planLocalAccess({
    target,
    description,
    scope: { kind: 'users', names: users },
    measures,
  });
  const may = capabilities.deactivateUsers;
  const staysActive = !may && active.length > 0;
  // The password of a user who is deactivated is refused.
  const staysAlive = revocation.staysAlive.filter(
    ({ what }) =>
      what !== 'basic_authentication' ||
      (staysActive && (local.passwords.length === 0 || local.external.length > 0)),
  );
  return {
    users,
    deactivate: may ? active : [],
    staysActive,
    local,
    revocation: { ...revocation, staysAlive },
  };
}

/**
 * Records an offboarding that finds nothing to do. A user who is deactivated by a lockdown stays deactivated when that is
 * lifted because of this record.
 *
 * @throws TokenctlError `audit_unavailable`
 */
export async function noteOffboarding(
  options: Change & { readonly users: readonly string[] },
): Promise<void> {
  const journal = new Journal({ ...options, operation: 'users.offboard' });
  await journal.note({ step: 'operation', users: options.users, planned: { deactivate: 0, tokens: 0 } });
}

/**
 * Ends the access of users: closes what killed runs left open, records the intent, deactivates them, revokes
 * refresh tokens and access tokens, ends sessions, and reads again. Running it again finishes the work.
 *
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` after something
 * was; what the target throws where nothing could be tried.
 */
export async function offboardUsers(
  options: Change & RevocationListeners & { readonly plan: UserOffboardingPlan },
): Promise<UserOffboardingReport> {
  const { target, plan, signal, description } = options;
  const { users } = plan;
  const journal = new Journal({ ...options, operation: 'users.offboard' });
  await reconcile(options);
  using _lock = await journal.lock();
  const work = new OperationRun({ target, journal, signal });
  const common = { users };
  const planned = {
    deactivate: plan.deactivate.length,
    tokens: plan.revocation.tokenIds.length,
    ...localPlanned(plan.local),
  };
  const opening = await journal.opening({ step: 'operation', ...common, planned });
  const steps: StepReport[] = [];
  const take = async (name: string, title: string, act: () => Promise<readonly StepReport[]>) =>
    steps.push(...(await stage(work, { name, title }, act)));

  await take('users', `Deactivating ${formatAlternatives(users)}`, async () => {
    const step = await setUsers(work, { users: plan.deactivate, active: false, common: {}, key: 'users' });
    return step === null ? [] : [step];
  });
  const { local } = plan;
  const set = new Map<number, Secret>();
  if (local.passwords.length > 0) {
    await take('passwords', 'Resetting passwords', async () => [
      await resetPasswords(work, local.passwords, { common, set }),
    ]);
  }
  if (local.roles.length > 0) {
    await take('roles', 'Taking roles', async () => [
      await stripRoles(work, local.roles, { common, key: 'roles' }),
    ]);
  }
  await take('tokens', 'Revoking tokens', async () => {
    const { sessions } = description.capabilities;
    const selector = () => Promise.resolve({ users });
    return (await revokeAllAccess(work, { ...options, change: options, selector, sessions, common })).steps;
  });
  if (local.applications.length > 0) {
    await take('applications', 'Deleting applications', () =>
      endApplications(work, local.applications, common),
    );
  }
  let accessPaths: readonly AccessPath[] = [];
  await take('verify', 'Verifying that no access is left', async () => {
    const found = await accessPathsOf(users, options);
    const others = await localPaths(target, local, set);
    // The new password of a user who stays active is what the path of the users rests on.
    const isShut =
      plan.staysActive && others.some(({ path, state }) => path === 'passwords' && state === 'closed');
    accessPaths = [
      ...knownOfPasswords(
        found.filter(({ path }) => path !== 'users' || !isShut),
        { description, plan: local, set },
      ),
      ...others,
    ];
    return [];
  });

  const whole = steps.every(({ result }) => result === 'done' || result === 'unchanged');
  const closed = accessPaths.length > 0 && accessPaths.every(({ state }) => state === 'closed');
  const report: UserOffboardingReport = {
    users,
    result: whole && closed && work.stopped === null ? 'done' : 'partly',
    steps,
    accessPaths,
    staysActive: plan.staysActive,
    staysAlive: datedFrom(stillOpen(plan.revocation.staysAlive, accessPaths), options.clock.now()),
    interrupted: work.interrupted && !whole,
    stopped: work.stopReason,
    run: journal.run,
  };
  const { staysAlive, run: _run, ...stated } = report;
  await journal.outcome(opening, {
    step: 'operation',
    ...stated,
    steps: steps.map(({ step, result }) => ({ step, result })),
    accessPaths: accessPaths.map(({ path, state }) => ({ path, state })),
    staysAlive: staysAlive.map(({ what }) => what),
  });
  if (work.stopped !== null && !work.acted) throw work.stopped;
  return report;
}

/**
 * Reads which ways in users have, all of them checked as if they had been closed. Changes nothing.
 *
 * @throws TokenctlError whatever the target throws.
 */
export function accessPathsOf(
  users: readonly string[],
  { target, description, clock }: Pick<Change, 'target' | 'description' | 'clock'>,
): Promise<readonly AccessPath[]> {
  const { capabilities } = description;
  return checkAccessPaths(
    { target, capabilities, orphans: orphanUse(description), ownTokens: [], now: clock.now() },
    { scope: { kind: 'users', names: users }, switches: [], users: users.map((name) => ({ name })) },
  );
}
