import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import { formatAlternatives } from '../../domain/selector.ts';
import { Journal } from '../journal/journal.ts';
import { type Change, OperationRun, type Stopped } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import { datedFrom, type RevocationListeners } from '../revocation/revocation-report.ts';
import { requireFullView, requireRights } from '../visibility.ts';
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
function planAccess(options: {
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
}): Promise<UserOffboardingPlan> {
  const { target, description, users } = options;
  const { capabilities, identity } = description;
  requireFullView(description, 'An offboarding');
  requireRights(description, {
    what: 'An offboarding',
    purposes: ['revoke', ...(capabilities.sessions ? (['sessions'] as const) : [])],
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
  const may = capabilities.deactivateUsers;
  const staysActive = !may && active.length > 0;
  // The password of a user who is deactivated is refused.
  const staysAlive = revocation.staysAlive.filter(
    ({ what }) => staysActive || what !== 'basic_authentication',
  );
  return { users, deactivate: may ? active : [], staysActive, revocation: { ...revocation, staysAlive } };
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
  const planned = { deactivate: plan.deactivate.length, tokens: plan.revocation.tokenIds.length };
  const opening = await journal.opening({ step: 'operation', ...common, planned });
  const steps: StepReport[] = [];
  const take = async (name: string, title: string, act: () => Promise<readonly StepReport[]>) =>
    steps.push(...(await stage(work, { name, title }, act)));

  await take('users', `Deactivating ${formatAlternatives(users)}`, async () => {
    const step = await setUsers(work, { users: plan.deactivate, active: false, common: {}, key: 'users' });
    return step === null ? [] : [step];
  });
  await take('tokens', 'Revoking tokens', async () => {
    const { sessions } = description.capabilities;
    const selector = () => Promise.resolve({ users });
    return (await revokeAllAccess(work, { ...options, change: options, selector, sessions, common })).steps;
  });
  let accessPaths: readonly AccessPath[] = [];
  await take('verify', 'Verifying that no access is left', async () => {
    accessPaths = await accessPathsOf(users, options);
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
    staysAlive: datedFrom(plan.revocation.staysAlive, options.clock.now()),
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
    { target, capabilities, ownTokens: [], now: clock.now() },
    { scope: { kind: 'users', names: users }, switches: [], users: users.map((name) => ({ name })) },
  );
}

/** Who is to lose access, and what keeps it from going wrong. */
export interface PlanOffboardingOptions {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly clock: Clock;
  /** Deactivated users are. */
  readonly inactive: boolean;
  /** Users are that are not among these names; null where that does not matter. */
  readonly present: readonly string[] | null;
  /** Users that never are, each a name or a pattern: service accounts, break-glass accounts. */
  readonly except: readonly string[];
  /** Refuses to begin where more than this share of all tokens would go. */
  readonly stopAbovePercent: number;
}

/** Who would lose access, and what. */
export interface OffboardingPlan {
  /** Null if there is nothing to revoke. */
  readonly plan: RevocationPlan | null;
  /** The names of the users that are gone or deactivated, whether they have anything left or not. */
  readonly users: readonly string[];
  /** How many tokens there are. */
  readonly tokens: number;
}

/**
 * Plans the end of all access tokens, refresh tokens and sessions of users that are deactivated, or gone
 * from a list. The caller is never included. Reads only.
 *
 * @throws TokenctlError `usage` for an empty list, which would mean everybody; `plan_too_large` above the
 * allowed share; and whatever the target throws.
 */
export async function planOffboarding(options: PlanOffboardingOptions): Promise<OffboardingPlan> {
  const { target, description, clock, stopAbovePercent } = options;
  requireFullView(description, 'An offboarding');
  const users = await whoIsGone(options);
  if (users.length === 0) return { plan: null, users, tokens: 0 };
  const plan = await planAccess({ target, clock, users, description });
  let tokens = 0;
  for await (const _token of target.tokens({ all: true })) tokens += 1;
  refuseTooMany(plan.tokenIds.length, { tokens, stopAbovePercent, users });
  const sessions = plan.sessions?.count ?? 0;
  const { tokenIds, refreshTokenIds, authorizationCodeIds } = plan;
  const anything = tokenIds.length + refreshTokenIds.length + authorizationCodeIds.length + sessions > 0;
  return { plan: anything ? plan : null, users, tokens };
}

async function whoIsGone(options: PlanOffboardingOptions): Promise<string[]> {
  const { target, description, inactive, present, except } = options;
  if (present?.length === 0) {
    throw new TokenctlError('usage', 'The list of users is empty: every user would be offboarded', {
      hint: 'Check the file or program that provides the list.',
    });
  }
  const own = description.identity.username;
  const kept = (name: string) => name === own || matchesAny(name, except);
  const gone = new Set<string>();
  if (inactive) {
    for await (const { username } of target.users({ inactive: true }))
      if (!kept(username)) gone.add(username);
  }
  if (present !== null) {
    const there = new Set(present);
    for await (const { username } of target.users()) {
      if (!there.has(username) && !kept(username)) gone.add(username);
    }
  }
  return [...gone].sort();
}

function refuseTooMany(
  planned: number,
  { tokens, stopAbovePercent, users }: { tokens: number; stopAbovePercent: number; users: readonly string[] },
): void {
  if (planned * 100 <= tokens * stopAbovePercent) return;
  const percent = Math.round((planned / tokens) * 1000) / 10;
  throw new TokenctlError(
    'plan_too_large',
    `${users.length} users would lose ${planned} of ${tokens} tokens (${percent} %), more than the limit of ${stopAbovePercent} %. Nothing was revoked`,
    {
      hint: 'Check that the list is complete. If it is, raise `stopAbovePercent` for one run.',
      details: { tokens, planned, percent, stopAbovePercent, users: users.length },
    },
  );
}
