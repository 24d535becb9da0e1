import type { Secret } from '@tokenctl/common/secret.ts';
import { type AccessPath, afterAct, recordOf } from '../../domain/access.ts';
import type { Lock } from '../../domain/incident/incident.ts';
import type { IncidentHistory } from '../../domain/incident/incident-history.ts';
import { amountsOf, isNothing } from '../../domain/plan.ts';
import { missingUsersPath, setTimes, verifyAccessPaths } from '../access/check-paths.ts';
import { requestsPath } from '../access/requests-under-way.ts';
import {
  type Change,
  OperationRun,
  type Reading,
  type RunEnd,
  type StepReport,
} from '../journal/operation-run.ts';
import { readIncidentHistory } from '../journal/recorded-incidents.ts';
import type { RevocationListeners } from '../revocation/revocation-report.ts';
import { revokeAllAccess } from '../revocation/revoke-all-access.ts';
import { type Renamed, requireMeant } from '../scope/bound-names.ts';
import { knownSettings } from '../scope/known-settings.ts';
import { selectorOf } from '../scope/scope-selection.ts';
import {
  endApplications,
  type LocalAccessPlan,
  localPlanned,
  NO_LOCAL_ACCESS,
  planLocalAccess,
  resetPasswords,
  stripRoles,
} from './end-local-access.ts';
import { incidentStatus } from './incident-status.ts';
import { withLocalPaths } from './local-paths.ts';
import { lifetimeLocks, lockSettings, switchLocks } from './lock-settings.ts';
import type { LockdownPlan } from './plan-lockdown.ts';
import { setUsers, userLocks } from './set-users.ts';
import { type SnapshotFiles, takeSnapshot } from './snapshot.ts';

export interface LockDownOptions extends Change, RevocationListeners {
  readonly plan: LockdownPlan;
  readonly files: SnapshotFiles;
}

export interface LockdownReport extends Omit<RunEnd, 'run'> {
  readonly incident: string;
  /** `locked`: every step is done and no path it closes was found open. `accessPaths` has unchecked ones. */
  readonly result: 'locked' | 'partly';
  readonly until: Date | null;
  readonly steps: readonly StepReport[];
  readonly accessPaths: readonly AccessPath[];
  /** Ids of the caller's own tokens, which stay valid. */
  readonly kept: readonly number[];
  /** Users and applications renamed since their names were resolved. They were locked down by id. */
  readonly renamed: readonly Renamed[];
  /** The run's UUID in the audit log; null if it was already in effect. */
  readonly run: string | null;
  readonly seconds: number;
}

/**
 * The report of a lockdown that is complete and still in effect; null if work remains. Reads only.
 * @throws TokenctlError as {@link incidentStatus}.
 */
export async function heldLockdown(reading: Reading, plan: LockdownPlan): Promise<LockdownReport | null> {
  const { incident, until, renamed, revocation } = plan;
  const isDone = revocation === null || isNothing(amountsOf(revocation));
  if (!plan.continues || !plan.counted || !isDone) return null;
  const { incidents } = await incidentStatus({ ...reading, all: false });
  const held = incidents.find(
    ({ id, address, state, holds }) =>
      id === incident && address === reading.description.address && state === 'locked' && holds === true,
  );
  if (held === undefined) return null;
  return {
    incident,
    result: 'locked',
    until,
    steps: [],
    accessPaths: afterAct(plan.accessPaths, held.accessPaths, new Date(held.since)),
    kept: keptOf(plan),
    renamed,
    interrupted: false,
    stopped: null,
    run: null,
    seconds: 0,
  };
}

/** Ids of the caller's own tokens. */
function keptOf({ revocation }: LockdownPlan): readonly number[] {
  return revocation?.kept.map(({ tokenId }) => tokenId) ?? [];
}

/**
 * Carries out a lockdown: closes what killed runs left open, records the intent, closes the access paths
 * (settings and users), writes a snapshot, revokes all access, shortens lifetimes, and verifies that the
 * access paths are closed. The snapshot is complete although it is written after the settings change: the log
 * and the snapshot hold the original values, and closing an access path changes no token. A failed step does
 * not stop the next one. Running it again finishes the work.
 * @throws TokenctlError as any {@link OperationRun}.
 */
export async function lockDown(options: LockDownOptions): Promise<LockdownReport> {
  const { plan, files } = options;
  const { incident, scope, measures } = plan;
  const common = { incident };
  using work = new OperationRun(options, 'incident.lockdown');
  const { target, description, clock } = work.change;
  const { renamed } = await requireMeant(target, plan);
  const kept = keptOf(plan);
  await work.open(openingOf(plan, kept));
  const history = await readIncidentHistory(work.change);
  // Only for the snapshot, which can do without them.
  const settings = await knownSettings(target);
  const locked: Lock[] = [];

  await work.take(SWITCHES, async () => {
    if (plan.settingsLeft !== null) return [settingsLeft(plan.settingsLeft)];
    if (plan.switches.length === 0) return [];
    return [
      await lockSettings(work, { ...SWITCHES, incident, locked, locks: (now) => switchLocks(now, measures) }),
    ];
  });
  await work.take({ name: 'users', title: 'Deactivating users' }, async () => {
    if (!measures.deactivate) return [];
    const { locks: users } = await userLocks(work.change, { scope, measures, history });
    return [await setUsers(work, { users, active: false, common, key: 'locks' })];
  });
  const set = new Map<number, Secret>();
  let local: LocalAccessPlan = NO_LOCAL_ACCESS;
  const isLocal = measures.resetPasswords || measures.stripRoles || measures.endApplications;
  if (isLocal) {
    await work.take({ name: 'local', title: 'Ending local access' }, async () => {
      local = await planLocalAccess(work.change, { scope, measures, history });
      return [
        await resetPasswords(work, local.passwords, { common, set }),
        await stripRoles(work, local.roles, { common, key: 'locks' }),
      ];
    });
  }
  await work.take({ name: 'snapshot', title: 'The snapshot' }, async () => {
    const selector = await selectorOf(scope, target);
    return [await takeSnapshot(work, { incident, selector, settings, files })];
  });
  const { latestSession, settled } = await revokeAllAccess(work, {
    selector: () => selectorOf(scope, target),
    common,
    listeners: options,
  });
  if (isLocal) await endApplications(work, local.applications, common);
  await work.take(LIFETIMES, async () => {
    if (plan.lifetimes.length === 0) return [];
    return [
      await lockSettings(work, {
        ...LIFETIMES,
        incident,
        locked,
        locks: (now) => lifetimeLocks(now, measures),
      }),
    ];
  });
  let accessPaths: readonly AccessPath[] = [];
  await work.take({ name: 'verify', title: 'Verifying that every access path is closed' }, async () => {
    const found = await verifyAccessPaths(work, plan, {
      description,
      ownTokens: await target.ownTokenIds(),
      now: clock.now(),
      latestSession,
      ...lockedBefore(history, { plan, locked, now: clock.now() }),
    });
    accessPaths = [
      ...(await withLocalPaths(found, { target, description, plan: local, set })),
      ...requestsPath(settled, { target, description, acted: clock.now() }),
      ...missingUsersPath(plan.usersGone),
    ];
    return [];
  });

  const isOpen = accessPaths.some(({ state }) => state === 'open');
  const report: LockdownReport = {
    incident,
    result: work.isWhole && !isOpen && !work.shouldStop ? 'locked' : 'partly',
    until: plan.until,
    steps: work.steps,
    accessPaths: afterAct(plan.accessPaths, accessPaths, clock.now()),
    kept,
    renamed,
    ...work.ending(),
    seconds: work.seconds,
  };
  await work.close(closingOf(report, work));
  return report;
}

const SWITCHES = { name: 'settings', title: 'Stopping token creation' } as const;
const LIFETIMES = { name: 'lifetimes', title: 'Shortening lifetimes' } as const;

function settingsLeft(why: string): StepReport {
  return { step: SWITCHES.name, result: 'failed', message: `${SWITCHES.title}: not done; ${why}.` };
}

const CODE_LIFETIME = { what: 'setting', name: 'OAUTH2_PROVIDER.AUTHORIZATION_CODE_EXPIRE_SECONDS' } as const;

/**
 * When the switches of the plan were set, in this run or by an open incident; the lifetime of authorization
 * codes before it was shortened, in seconds; and the end that an earlier run of the incident recorded for
 * sessions.
 * @param history As of the start of the run.
 */
function lockedBefore(
  history: IncidentHistory,
  { plan, locked, now }: { plan: LockdownPlan; locked: readonly Lock[]; now: Date },
) {
  const held = plan.switches.flatMap((lock) => history.holdOn(lock) ?? []);
  const here = [...plan.switches, ...locked].filter((lock) => lock.before !== lock.locked);
  const lifetimes = [
    history.holdOn(CODE_LIFETIME)?.before,
    locked.find(({ name }) => name === CODE_LIFETIME.name)?.before,
  ].filter((before) => typeof before === 'number');
  return {
    switchesSet: new Map([...setTimes(held), ...here.map(({ name }) => [name, now] as const)]),
    codeLifetime: Math.max(0, ...lifetimes),
    sessionsUntil: history.incidents.find(({ id }) => id === plan.incident)?.ends['sessions'],
  };
}

function openingOf(plan: LockdownPlan, kept: readonly number[]) {
  const { incident, scope, measures, selection, until, switches, users, lifetimes, revocation } = plan;
  const { continues, counted } = plan;
  return {
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

function closingOf(report: LockdownReport, { stepsRecorded }: OperationRun) {
  const { incident, result, accessPaths, interrupted, stopped, seconds, renamed } = report;
  return {
    incident,
    result,
    steps: stepsRecorded,
    accessPaths: recordOf(accessPaths),
    ...(renamed.length > 0 && { renamed }),
    interrupted,
    stopped,
    seconds,
  };
}
