import { randomBytes } from 'node:crypto';
import { TokenctlError } from '../../domain/errors.ts';
import {
  describeScope,
  type Incident,
  isSame,
  type Lock,
  type LockdownScope,
  type Measures,
} from '../../domain/incident/incident.ts';
import type { IncidentHistory } from '../../domain/incident/incident-history.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { PlanBuilder } from '../../domain/plan-builder.ts';
import { selectionOf } from '../../domain/remedies.ts';
import type { Selector } from '../../domain/selector.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { RightsPurpose, Target, TargetDescription } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import { refuseLockout } from '../settings/settings.ts';
import { requireFullView, requireMayChange, requireRights } from '../visibility.ts';
import { type LocalAccessPlan, planLocalAccess } from './end-local-access.ts';
import { lifetimeLocks, switchLocks } from './lock-settings.ts';
import { type ManualStep, manualSteps } from './manual-steps.ts';
import { readIncidentHistories } from './recorded-incidents.ts';
import { type KnownUser, selectorOf, usersOf } from './scope-selection.ts';

/** What a lockdown is planned from. */
export interface PlanLockdownOptions {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries'>;
  readonly clock: Clock;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** For how long, in milliseconds; null for until it is lifted. */
  readonly lasts: number | null;
  /**
   * Whether to count what would be revoked (the default). Always counted if the same lockdown is in place already. Over
   * REST this takes a request for every two hundred tokens, during which the ways in stay open.
   */
  readonly count?: boolean;
  /**
   * For one of several targets that are locked down together: the id of a new incident, the same at all of them, unless
   * the same is open at others already. Not given for an incident of its own.
   */
  readonly sharedId?: string;
  /** Plans it also if it would end the caller's own way in: for a dry run, and for a caller that gets a token first. */
  readonly mayLockOut?: boolean;
}

/** What a lockdown would do, as of now. Tokens are read again after the ways in are closed. */
export interface LockdownPlan {
  /** The incident's id, as `incident lift` takes it. */
  readonly incident: string;
  /** Whether it is open already, so that this goes on with it. */
  readonly continues: boolean;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** The scope in words. */
  readonly selection: string;
  /** When it is to be lifted; null for not by itself. */
  readonly until: Date | null;
  /** What is set first, those included that are so already. */
  readonly switches: readonly Lock[];
  /** The users to deactivate. */
  readonly users: readonly Lock[];
  /** Names of users that are meant and stay active. */
  readonly usersKept: readonly string[];
  /** Passwords, roles and applications that end with it. */
  readonly local: LocalAccessPlan;
  /** Names of users of an open incident that do not exist any more. */
  readonly usersGone: readonly string[];
  /** What is set last. */
  readonly lifetimes: readonly Lock[];
  /** Whether `revocation` has what would be revoked; otherwise only what is kept, and what stays alive. */
  readonly counted: boolean;
  /** What is revoked and ended; null if the scope matches no user. */
  readonly revocation: RevocationPlan | null;
  readonly manualSteps: readonly ManualStep[];
}

/**
 * Computes what a lockdown would do. Reads only. An open incident of the same scope and measures is gone on
 * with.
 *
 * @throws TokenctlError `permission_refused` for an account that sees only part, `lockout_refused` where it would end
 * the caller's own way in, `unsupported` for what
 * the target cannot do, `not_found` for a user or application that does not exist, and whatever the target and
 * the log throw.
 */
export async function planLockdown(options: PlanLockdownOptions): Promise<LockdownPlan> {
  const { target, description, scope, measures, lasts, clock } = options;
  requireFullView(description, 'A lockdown');
  requireRights(description, { what: 'A lockdown', purposes: purposesOf(options) });
  if (measures.basicAuthentication) {
    // A system auditor may change nothing in the first place.
    if (description.credential === 'password') requireMayChange(description);
    if (options.mayLockOut !== true) refuseLockout({ AUTH_BASIC_ENABLED: false }, description);
  }
  const histories = await readIncidentHistories(options.log);
  const history = histories.at(description);
  const same = history.open.find((incident) => isSame(incident, { scope, measures }));
  // The names of an open incident were resolved when it began: a user that was deleted since must not keep it unfinished.
  const usersGone = same === undefined ? [] : await missingUsers(options);
  if (same === undefined) await resolveScope(options);
  const { switches, lifetimes } = await settingLocks(target, measures);
  const { locks: users, kept: usersKept } = await userLocks({
    target,
    description,
    scope,
    measures,
    history,
  });
  const local = await planLocalAccess({ target, description, scope, measures, history });
  const selector = await selectorOf(scope, target);
  const counted = options.count !== false || same?.state === 'locked';
  const revocation = selector === null ? null : await (counted ? counting : notCounting)(options, selector);
  return {
    incident: same?.id ?? freeId(history, sharedIdOf(options, [...histories.all.values()])),
    continues: same !== undefined,
    scope,
    measures,
    selection: describeScope(scope),
    until: lasts === null ? untilOf(same) : new Date(clock.now().getTime() + lasts),
    switches,
    users,
    usersKept,
    local,
    usersGone,
    lifetimes,
    counted,
    revocation,
    manualSteps: manualSteps({
      ...{ scope, measures, description, lifetimes, revocation, usersGone, usersKept, local },
    }),
  };
}

/** What the role of a database must be allowed to do; that it may deactivate users is checked with them. */
function purposesOf({ description, scope, measures }: PlanLockdownOptions): readonly RightsPurpose[] {
  const sessions = description.capabilities.sessions && scope.kind !== 'applications';
  const settings = measures.basicAuthentication || measures.externalTokens || measures.lifetimes;
  return [
    'revoke',
    ...(sessions ? (['sessions'] as const) : []),
    ...(settings ? (['settings'] as const) : []),
    ...(measures.endApplications ? (['applications'] as const) : []),
  ];
}

/** Makes sure that every name exists, those of users to keep active included, whether or not tokens are counted. */
async function resolveScope({ target, scope, measures }: PlanLockdownOptions): Promise<void> {
  const users = [...(scope.kind === 'users' ? scope.names : []), ...measures.keepActive];
  await resolveNames(target, {
    ...(users.length > 0 && { users }),
    ...(scope.kind === 'applications' && { applications: scope.names }),
  });
}

async function missingUsers({ target, scope }: PlanLockdownOptions): Promise<readonly string[]> {
  if (scope.kind !== 'users') return [];
  const there = new Set((await usersOf(scope, target)).map(({ username }) => username));
  return scope.names.filter((name) => !there.has(name));
}

function counting(options: PlanLockdownOptions, selector: Selector): Promise<RevocationPlan> {
  const { target, clock, scope, description } = options;
  const withSessions = description.capabilities.sessions && scope.kind !== 'applications';
  return planRevocation({ target, selector, clock, description, withSessions });
}

/** A plan of nothing: the caller's own tokens, which are kept, and what stays alive. */
async function notCounting(
  { target, description, scope }: PlanLockdownOptions,
  selector: Selector,
): Promise<RevocationPlan> {
  const { refreshTokens, authorizationCodes, sessions } = description.capabilities;
  const reach = {
    refreshTokens,
    authorizationCodes,
    sessions: sessions && scope.kind !== 'applications',
  };
  const ownTokenIds = await target.ownTokenIds();
  const builder = new PlanBuilder({
    selection: describeScope(scope),
    context: description.context,
    ownTokenIds,
    includeOwn: false,
    reach,
  });
  const { all: _, ...criteria } = selector;
  if (ownTokenIds.length > 0) {
    for await (const token of target.tokens({ ...criteria, ids: ownTokenIds })) builder.add(token);
  }
  return builder.build({
    staysAlive: await target.staysAlive({
      tokensWithRefreshToken: 0,
      reach,
      selection: selectionOf(selector, []),
    }),
    absentIds: [],
  });
}

async function settingLocks(
  target: Target,
  measures: Measures,
): Promise<Pick<LockdownPlan, 'switches' | 'lifetimes'>> {
  if (!measures.basicAuthentication && !measures.externalTokens && !measures.lifetimes) {
    return { switches: [], lifetimes: [] };
  }
  const settings = await target.settings.read();
  return { switches: switchLocks(settings, measures), lifetimes: lifetimeLocks(settings, measures) };
}

function untilOf(incident: Incident | undefined): Date | null {
  return incident?.until == null ? null : new Date(incident.until);
}

/** An id for an incident: short enough to be read out on the telephone. */
export function newIncidentId(): string {
  return `inc-${randomBytes(4).toString('hex')}`;
}

/** The id that an incident has at other targets, where this is one of them. */
function sharedIdOf(
  { sharedId, scope, measures }: PlanLockdownOptions,
  histories: readonly IncidentHistory[],
): string | undefined {
  if (sharedId === undefined) return undefined;
  const open = histories.flatMap((history) =>
    history.open.filter((incident) => isSame(incident, { scope, measures })),
  );
  return open.at(-1)?.id ?? sharedId;
}

function freeId(history: IncidentHistory, proposed = newIncidentId()): string {
  const taken = history.incidents.some(({ id }) => id === proposed);
  return taken ? freeId(history) : proposed;
}

/** Users to deactivate, and those that are meant and kept. */
interface UserLocks {
  readonly locks: readonly Lock[];
  readonly kept: readonly string[];
}

/**
 * The locks on users that a scope means now: on those that are active, and on those that another incident has
 * deactivated. The caller and the users in `keepActive` are kept.
 *
 * @throws TokenctlError `unsupported` if the target cannot deactivate users, and whatever the target throws.
 */
export async function userLocks(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  readonly history: IncidentHistory;
}): Promise<UserLocks> {
  const { target, description, scope, measures, history } = options;
  if (!measures.deactivate) return { locks: [], kept: [] };
  if (!description.capabilities.deactivateUsers) throw cannotDeactivate();
  const users = await usersOf(scope, target);
  const keeps = ({ id, username }: KnownUser) =>
    id === description.identity.id || measures.keepActive.includes(username);
  return {
    locks: users
      .filter((user) => !keeps(user))
      .map(lockOf)
      .filter((lock) => lock.before === true || history.holdOn(lock) !== null),
    kept: users.filter(keeps).map(({ username }) => username),
  };
}

function lockOf({ id, username, isActive }: KnownUser): Lock {
  return { what: 'user', name: username, userId: id, before: isActive, locked: false };
}

/** Users were to be deactivated at a target that cannot. */
function cannotDeactivate(): TokenctlError {
  return new TokenctlError('unsupported', 'This target cannot deactivate users', {
    hint: 'Use a database context, or omit --deactivate. `tokenctl context check` lists missing database rights.',
  });
}
