import { type AccessPath, afterAct, recordOf } from '../../domain/access.ts';
import type { Secret } from '../../domain/secret.ts';
import { missingUsersPath, setSwitches, verifyAccessPaths } from '../access/check-paths.ts';
import { knownOfPasswords, localPaths } from '../access/local-paths.ts';
import { requestsPath, type SettledRequests } from '../access/requests-under-way.ts';
import { type Renamed, requireMeant } from '../bound-names.ts';
import { Journal } from '../journal/journal.ts';
import { type Change, OperationRun, type Stopped } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import type { RevocationListeners } from '../revocation/revocation-report.ts';
import { knownSettings } from '../settings/known-settings.ts';
import {
  endApplications,
  type LocalAccessPlan,
  localPlanned,
  NO_LOCAL_ACCESS,
  planLocalAccess,
  resetPasswords,
  stripRoles,
} from './end-local-access.ts';
import { lifetimeLocks, lockSettings, switchLocks } from './lock-settings.ts';
import { type LockdownPlan, userLocks } from './plan-lockdown.ts';
import { readIncidentHistory } from './recorded-incidents.ts';
import { revokeAllAccess } from './revoke-all-access.ts';
import { selectorOf } from './scope-selection.ts';
import { setUsers } from './set-users.ts';
import { type SnapshotFiles, takeSnapshot } from './snapshot.ts';
import { type StepReport, stage } from './step.ts';

/** What to lock down, and who says so. */
export interface LockDownOptions extends Change, RevocationListeners {
  readonly plan: LockdownPlan;
  readonly files: SnapshotFiles;
  /** Called after each step. */
  readonly onStep?: (step: StepReport) => void;
}

/** What a lockdown did, and what it left. */
export interface LockdownReport {
  readonly incident: string;
  /** `locked` if every step is done and no way in that it closes was found open; `accessPaths` says which were not checked. */
  readonly result: 'locked' | 'partly';
  readonly until: Date | null;
  readonly steps: readonly StepReport[];
  readonly accessPaths: readonly AccessPath[];
  /** Ids of the caller's own tokens, which live on. */
  readonly kept: readonly number[];
  /** What is called otherwise than when its name was resolved. It was locked down by its id. */
  readonly renamed: readonly Renamed[];
  readonly interrupted: boolean;
  readonly stopped: Stopped | null;
  /** The run's UUID in the audit log. */
  readonly run: string;
  readonly seconds: number;
}

/**
 * Carries out a lockdown: closes what killed runs left open, records the intent, closes the ways in (settings and
 * users), writes a snapshot, revokes all access, shortens lifetimes, and verifies that the ways in are closed. The
 * snapshot is complete although it is written after the settings change: the log and the snapshot hold the original
 * values, and closing a way in changes no token. A failed step does not stop the next one. Running it again finishes
 * the work.
 *
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` after something
 * was; what the target throws where nothing could be tried.
 */
export async function lockDown(options: LockDownOptions): Promise<LockdownReport> {
  const { target, plan, clock, signal } = options;
  const { incident, scope, measures } = plan;
  const started = clock.now();
  const { renamed } = await requireMeant(target, plan);
  const journal = new Journal({ ...options, operation: 'incident.lockdown' });
  await reconcile(options);
  using _lock = await journal.lock();
  const work = new OperationRun({ target, journal, signal });
  const kept = plan.revocation?.kept.map(({ tokenId }) => tokenId) ?? [];
  const opening = await journal.opening(openingOf(plan, kept));
  // They are for the snapshot, which does without.
  const settings = await knownSettings(target);
  const steps: StepReport[] = [];
  const take = async (name: string, title: string, act: () => Promise<readonly (StepReport | null)[]>) => {
    const taken = await stage(work, { name, title }, async () =>
      (await act()).filter((step) => step !== null),
    );
    for (const step of taken) options.onStep?.(step);
    steps.push(...taken);
  };

  await take('settings', 'Stopping token creation', async () => {
    if (plan.settingsLeft !== null) return [settingsLeft(plan.settingsLeft)];
    if (plan.switches.length === 0) return [];
    const title = 'Stopping token creation';
    return [
      await lockSettings(work, {
        name: 'settings',
        title,
        incident,
        locks: (now) => switchLocks(now, measures),
      }),
    ];
  });
  await take('users', 'Deactivating users', async () => {
    if (!measures.deactivate) return [];
    const history = await readIncidentHistory(options);
    const { locks: users } = await userLocks({ ...options, scope, measures, history });
    return [await setUsers(work, { users, active: false, common: { incident }, key: 'locks' })];
  });
  const set = new Map<number, Secret>();
  let local: LocalAccessPlan = NO_LOCAL_ACCESS;
  const isLocal = measures.resetPasswords || measures.stripRoles || measures.endApplications;
  const takeLocal = isLocal ? take : async () => undefined;
  await takeLocal('local', 'Ending local access', async () => {
    local = await planLocalAccess({
      ...options,
      scope,
      measures,
      history: await readIncidentHistory(options),
    });
    return [
      local.passwords.length === 0
        ? null
        : await resetPasswords(work, local.passwords, { common: { incident }, set }),
      local.roles.length === 0
        ? null
        : await stripRoles(work, local.roles, { common: { incident }, key: 'locks' }),
    ];
  });
  await take('snapshot', 'The snapshot', async () => {
    const selector = await selectorOf(scope, target);
    return [await takeSnapshot(work, { ...options, incident, selector, settings })];
  });
  let latestSession: Date | null = null;
  let settled: SettledRequests | null = null;
  await take('tokens', 'Revoking tokens', async () => {
    const sessions = target.sessions !== undefined && scope.kind !== 'applications';
    const selector = () => selectorOf(scope, target);
    const clearing = { ...options, change: options, selector, sessions, common: { incident } };
    const cleared = await revokeAllAccess(work, clearing);
    ({ latestSession, settled } = cleared);
    return cleared.steps;
  });
  await takeLocal('applications', 'Deleting applications', () =>
    endApplications(work, local.applications, { incident }),
  );
  await take('lifetimes', 'Shortening lifetimes', async () => {
    if (plan.lifetimes.length === 0) return [];
    const title = 'Shortening lifetimes';
    return [
      await lockSettings(work, {
        name: 'lifetimes',
        title,
        incident,
        locks: (now) => lifetimeLocks(now, measures),
      }),
    ];
  });
  let accessPaths: readonly AccessPath[] = [];
  await take('verify', 'Verifying that every way in is closed', async () => {
    const found = await verifyAccessPaths(work, plan, {
      description: options.description,
      ownTokens: await target.ownTokenIds(),
      now: clock.now(),
      latestSession,
      ...(await lockedBefore(options)),
    });
    accessPaths = [
      ...knownOfPasswords(found, { description: options.description, plan: local, set }),
      ...(await localPaths(target, local, set)),
      ...requestsPath(settled, { target, acted: clock.now() }),
      ...missingUsersPath(plan.usersGone),
    ];
    return [];
  });

  const whole = steps.every(({ result }) => result === 'done' || result === 'unchanged');
  const isOpen = accessPaths.some(({ state }) => state === 'open');
  const report: LockdownReport = {
    incident,
    result: whole && !isOpen && !work.shouldStop ? 'locked' : 'partly',
    until: plan.until,
    steps,
    accessPaths: afterAct(plan.accessPaths, accessPaths, clock.now()),
    kept,
    renamed,
    interrupted: work.interrupted && !whole,
    stopped: work.stopReason,
    run: journal.run,
    seconds: (clock.now().getTime() - started.getTime()) / 1000,
  };
  await journal.outcome(opening, closingOf(report));
  if (work.stopped !== null && !work.acted) throw work.stopped;
  return report;
}

function settingsLeft(why: string): StepReport {
  return { step: 'settings', result: 'failed', message: `Stopping token creation: not done; ${why}.` };
}

const CODE_LIFETIME = { what: 'setting', name: 'OAUTH2_PROVIDER.AUTHORIZATION_CODE_EXPIRE_SECONDS' } as const;

/**
 * When the switches of the plan were set, in this run or by an open incident; the lifetime of authorization codes before the first
 * lockdown that shortened it, in seconds; and the end that an earlier run of the incident recorded for sessions.
 */
async function lockedBefore({ plan, log, description, clock }: LockDownOptions) {
  const history = await readIncidentHistory({ log, description });
  const switchesSet = setSwitches(history, plan.incident);
  for (const { name, before, locked } of plan.switches)
    if (before !== locked) switchesSet.set(name, clock.now());
  const before = history.holdOn(CODE_LIFETIME)?.before;
  const sessionsUntil = history.incidents.find(({ id }) => id === plan.incident)?.ends['sessions'];
  return { switchesSet, sessionsUntil, ...(typeof before === 'number' && { codeLifetime: before }) };
}

function openingOf(plan: LockdownPlan, kept: readonly number[]) {
  const { incident, scope, measures, selection, until, switches, users, lifetimes, revocation } = plan;
  const { continues, counted } = plan;
  return {
    step: 'operation',
    incident,
    continues,
    scope,
    measures,
    selection,
    ...(until !== null && { until: until.toISOString() }),
    kept,
    planned: {
      settings: [...switches, ...lifetimes].map(({ name, before, locked }) => ({ name, before, locked })),
      users: users.length,
      ...localPlanned(plan.local),
      ...(counted && {
        tokens: revocation?.tokenIds.length ?? 0,
        refreshTokens: (revocation?.refreshTokensBeside ?? 0) + (revocation?.refreshTokenIds.length ?? 0),
        authorizationCodes: revocation?.authorizationCodeIds.length ?? 0,
        sessions: revocation?.sessions?.count ?? 0,
      }),
    },
  };
}

function closingOf(report: LockdownReport) {
  const { incident, result, steps, accessPaths, interrupted, stopped, seconds, renamed } = report;
  return {
    step: 'operation',
    incident,
    result,
    steps: steps.map(({ step, result: each }) => ({ step, result: each })),
    accessPaths: recordOf(accessPaths),
    ...(renamed.length > 0 && { renamed }),
    interrupted,
    stopped,
    seconds,
  };
}
