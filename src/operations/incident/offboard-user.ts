import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { type AccessPath, afterAct, covering, recordedPaths, recordOf } from '../../domain/access.ts';
import { controllerTime } from '../../domain/clock-difference.ts';
import type { Bound, LocalMeasures } from '../../domain/incident/incident.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { formatAlternatives } from '../../domain/selector.ts';
import { checkAccessPaths } from '../access/check-paths.ts';
import { requestsEnd, requestsPath, requestsSince, settleRequests } from '../access/requests-under-way.ts';
import { isSameController, Journal, numbersIn } from '../journal/journal.ts';
import { type Change, OperationRun, type RunEnd, type StepReport } from '../journal/operation-run.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { ReadTarget, TargetDescription } from '../ports/target.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import type { RevocationListeners } from '../revocation/revocation-report.ts';
import { revokeAllAccess } from '../revocation/revoke-all-access.ts';
import { bindUsers, type Renamed, readSince } from '../scope/bound-names.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { readUsers, selectorOfUsers } from '../scope/scope-selection.ts';
import { requireFullView, requireRights } from '../scope/visibility.ts';
import {
  endApplications,
  type LocalAccessPlan,
  localPlanned,
  planLocalAccess,
  resetPasswords,
  stripRoles,
} from './end-local-access.ts';
import { withLocalPaths } from './local-paths.ts';
import { coveredPaths, gatewayCredentials, localPathsLeft, otherComponents } from './lockdown-paths.ts';
import { type NameHistory, nameHistory } from './name-history.ts';
import { setUsers, type UsersStep } from './set-users.ts';

export interface UserOffboardingPlan {
  readonly users: readonly string[];
  /** The users of these names when it was planned: their ids are offboarded. */
  readonly bound: readonly Bound[];
  /** The active users among them, who would be deactivated. */
  readonly deactivate: UsersStep['users'];
  /** Whether active users stay active because the target cannot deactivate users. */
  readonly staysActive: boolean;
  /** Passwords, roles and applications that are ended too. */
  readonly local: LocalAccessPlan;
  readonly revocation: RevocationPlan;
  /** The history of the names: another user may have had one. */
  readonly names: NameHistory;
}

export interface UserOffboardingReport extends RunEnd {
  readonly users: readonly string[];
  /** Users renamed since. They were offboarded by id. */
  readonly renamed: readonly Renamed[];
  /** `done` if every access path was checked and is closed. */
  readonly result: 'done' | 'partly';
  readonly steps: readonly StepReport[];
  readonly accessPaths: readonly AccessPath[];
  readonly staysActive: boolean;
}

/** Plans the end of all tokens of users, with refresh tokens and sessions where possible. Reads only. */
export function planAccess(
  options: ReadTarget & { readonly users: readonly string[]; readonly userIds?: readonly number[] },
): Promise<RevocationPlan> {
  const { users, userIds, target, clock, description } = options;
  const withSessions = target.sessions !== undefined;
  const selector = { users, ...(userIds && { userIds }) };
  return planRevocation({ target, clock, description, selector, withSessions });
}

/**
 * Plans the offboarding of users. Reads only.
 * @throws TokenctlError `lockout_refused` if the caller is one of them, `not_found` for a user that does not
 * exist.
 */
export async function planUserOffboarding(
  options: ReadTarget & { readonly users: readonly string[]; readonly measures?: LocalMeasures },
): Promise<UserOffboardingPlan> {
  const { target, description, measures = {} } = options;
  const { capabilities, identity } = description;
  requireFullView(description, 'An offboarding');
  requireRights(description, {
    what: 'An offboarding',
    purposes: [
      'revoke',
      ...(target.sessions ? (['sessions'] as const) : []),
      ...(measures.endApplications ? (['applications'] as const) : []),
    ],
  });
  await resolveNames(target, { users: options.users });
  const found = await bindUsers(target, options.users);
  const bound = options.users.flatMap((name) => found.find((each) => each.name === name) ?? []);
  const [users, userIds] = [bound.map(({ name }) => name), bound.map(({ id }) => id)];
  if (bound.some(({ id }) => id === identity.id)) {
    throw new TokenctlError('lockout_refused', `tokenctl is logged in as ${identity.username}`, {
      hint: 'Use another account.',
    });
  }
  const names = await nameHistory(options, bound);
  const revocation = await planAccess({ ...options, users, userIds });
  const active = (await readUsers(target, { ids: userIds }))
    .filter(({ isActive }) => isActive)
    .map(({ id, username }) => ({ name: username, userId: id, before: true, locked: false }));
  const scope = { kind: 'users' as const, names: users, bound };
  const local = await planLocalAccess(options, { scope, measures });
  const may = capabilities.deactivateUsers;
  const staysActive = !may && active.length > 0;
  // The password of a deactivated user is refused.
  const noPasswords = !staysActive || (local.passwords.length > 0 && local.external.length === 0);
  const left = revocation.accessPaths.filter(({ path }) => !(path === 'basic_authentication' && noPasswords));
  const accessPaths = [
    ...covering(left, coveredPaths('users')),
    ...otherComponents(description),
    ...gatewayCredentials(description),
    ...localPathsLeft(local, description),
  ];
  return {
    users,
    bound,
    deactivate: may ? active : [],
    staysActive,
    local,
    revocation: { ...revocation, accessPaths },
    names,
  };
}

/**
 * Records an offboarding that finds nothing to do. Because of this record, a user deactivated by a lockdown
 * stays deactivated when that is lifted. Throws `audit_unavailable`.
 */
export async function noteOffboarding(
  options: Change & Pick<UserOffboardingPlan, 'users' | 'bound'>,
): Promise<void> {
  const journal = new Journal({ ...options, operation: 'users.offboard' });
  const { users, bound } = options;
  const who = { users, userIds: bound.map(({ id }) => id) };
  await journal.note({ step: 'operation', ...who, planned: { deactivate: 0, tokens: 0 } });
}

/**
 * Ends the access of users: closes what killed runs left open, records the intent, deactivates them, revokes
 * refresh tokens and access tokens, ends sessions, and re-reads them. Running it again finishes the work.
 * @throws TokenctlError as any {@link OperationRun}.
 */
export async function offboardUsers(
  options: Change & RevocationListeners & { readonly plan: UserOffboardingPlan },
): Promise<UserOffboardingReport> {
  const { target, plan, description } = options;
  const { users, bound } = plan;
  const { renamed } = await readSince(target, 'user', bound);
  const userIds = bound.map(({ id }) => id);
  using work = new OperationRun(options, 'users.offboard');
  const common = { users, userIds };
  const planned = {
    deactivate: plan.deactivate.length,
    tokens: plan.revocation.tokenIds.length,
    ...localPlanned(plan.local),
  };
  await work.open({ ...common, planned });

  await work.take({ name: 'users', title: `Deactivating ${formatAlternatives(users)}` }, async () => [
    await setUsers(work, { users: plan.deactivate, active: false, common: {}, key: 'users' }),
  ]);
  const { local } = plan;
  const set = new Map<number, Secret>();
  if (local.passwords.length > 0) {
    await work.take({ name: 'passwords', title: 'Resetting passwords' }, async () => [
      await resetPasswords(work, local.passwords, { common, set }),
    ]);
  }
  if (local.roles.length > 0) {
    await work.take({ name: 'roles', title: 'Taking roles' }, async () => [
      await stripRoles(work, local.roles, { common, key: 'roles' }),
    ]);
  }
  const { latestSession, settled } = await revokeAllAccess(work, {
    selector: async () => selectorOfUsers(await readUsers(target, { ids: userIds })),
    common,
    listeners: options,
  });
  if (local.applications.length > 0) await endApplications(work, local.applications, common);
  let accessPaths: readonly AccessPath[] = [];
  await work.take({ name: 'verify', title: 'Verifying that no access remains' }, async () => {
    const found = await accessPathsOf(plan, { ...options, latestSession });
    const all = await withLocalPaths(found, { target, description, plan: local, set });
    // For a user who stays active, the users path depends on the new password.
    const isShut =
      plan.staysActive && all.some(({ path, state }) => path === 'passwords' && state === 'closed');
    accessPaths = [
      ...all.filter(({ path }) => path !== 'users' || !isShut),
      ...requestsPath(settled, { target, description, acted: options.clock.now() }),
    ];
    return [];
  });

  const closed = accessPaths.length > 0 && accessPaths.every(({ state }) => state === 'closed');
  const left = afterAct(plan.revocation.accessPaths, accessPaths, options.clock.now());
  const report: UserOffboardingReport = {
    users,
    renamed,
    result: work.isWhole && closed && work.stopped === null ? 'done' : 'partly',
    steps: work.steps,
    accessPaths: left,
    staysActive: plan.staysActive,
    ...work.ending(),
  };
  const { run: _run, ...stated } = report;
  await work.close({ ...stated, steps: work.stepsRecorded, accessPaths: recordOf(left) });
  return report;
}

/** Reads the access paths of users, all checked as if they had been closed. Changes nothing. */
export async function accessPathsOf(
  { users, bound }: Pick<UserOffboardingPlan, 'users' | 'bound'>,
  {
    target,
    description,
    clock,
    latestSession = null,
    settledBy,
  }: Pick<Change, 'target' | 'description' | 'clock'> & {
    latestSession?: Date | null;
    /** Shows whether earlier requests have ended: by open transactions, or over REST by this log. */
    settledBy?: Pick<AuditLog, 'entries'> | undefined;
  },
): Promise<readonly AccessPath[]> {
  const settled = settledBy ? await settleRequests({ target, shouldStop: false }) : null;
  const paths = await checkAccessPaths(
    { target, description, ownTokens: [], now: clock.now(), latestSession },
    {
      scope: { kind: 'users', names: users, bound },
      switches: [],
      users: bound.map(({ id, name }) => ({ name, userId: id })),
    },
  );
  if (settledBy === undefined) return paths;
  if (settled !== null)
    return [...paths, ...requestsPath(settled, { target, description, acted: clock.now() })];
  const place = { target, description, clock };
  const act = { ended: clock.now(), recorded: await recordedEnd(settledBy, { description, bound }) };
  return [...paths, ...(await requestsSince(act, place))];
}

/** Until when (RFC 3339) requests from before the users' last offboarding, if any, can create access. */
async function recordedEnd(
  log: Pick<AuditLog, 'entries'>,
  { description, bound }: { description: TargetDescription; bound: readonly Bound[] },
): Promise<string | undefined> {
  let end: string | undefined;
  const ofUsers = new Set<number>();
  for await (const entry of log.entries(1, { operations: ['users.offboard'] })) {
    const { kind, seq, closes = 0, data, target } = entry;
    if (data['step'] !== 'operation' || !isSameController(target, description)) continue;
    const named = new Set(numbersIn(data['userIds']));
    if (bound.every(({ id }) => named.has(id))) {
      ofUsers.add(seq);
      // There was nothing to do then: in-flight requests had started earlier.
      if (kind === 'note') end ??= requestsEnd(controllerTime(entry));
    }
    if (kind !== 'outcome' || !ofUsers.has(closes)) continue;
    end = recordedPaths(data).find(({ path }) => path === 'requests')?.until ?? end;
  }
  return end;
}
