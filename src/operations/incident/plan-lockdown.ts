import { randomBytes } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AccessPath } from '../../domain/access.ts';
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
import type { Token } from '../../domain/token.ts';
import { pathsNotCovered } from '../access/not-covered.ts';
import { readIncidentHistories } from '../journal/recorded-incidents.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { ReadTarget, RightsPurpose, Target } from '../ports/target.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import { bindOrder, type Renamed, requireMeant } from '../scope/bound-names.ts';
import { knownSettings } from '../scope/known-settings.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { selectorOf } from '../scope/scope-selection.ts';
import { requireFullView, requireMayChange, requireRights } from '../scope/visibility.ts';
import { refuseLockout } from '../settings/settings.ts';
import { planLocalAccess } from './end-local-access.ts';
import { lifetimeLocks, switchLocks } from './lock-settings.ts';
import { type LockedAccess, lockdownPaths } from './lockdown-paths.ts';
import { type NameHistory, nameHistory } from './name-history.ts';
import { userLocks } from './set-users.ts';

export interface PlanLockdownOptions extends ReadTarget {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** The duration in milliseconds; null for until lifted. */
  readonly lasts: number | null;
  /**
   * Whether to count what would be revoked (the default). Always counted if the same lockdown is already in
   * place. Over REST, counting takes one request per 200 tokens, during which the access paths stay open.
   */
  readonly count?: boolean;
  /**
   * For several targets that are locked down together: the new incident's id, the same at all of them, unless
   * the same incident is already open at others. Not given for a single incident.
   */
  readonly sharedId?: string;
  /** The id that an earlier plan proposed for a new incident. If it is in use, a new one is created. */
  readonly proposedId?: string | undefined;
  /** Remarks about the names that are already known, as sentences. */
  readonly remarks?: readonly string[];
  /** Allows a plan that locks the caller out: for a dry run, and for a caller that gets a token first. */
  readonly mayLockOut?: boolean;
}

export interface NamedToken extends Pick<Token, 'id' | 'description' | 'scope'> {
  /** The owner; null if the owner's row is missing. */
  readonly user: string | null;
  /** Null for a personal access token. */
  readonly application: string | null;
}

/** The maximum number of access tokens that a plan names. */
const MOST_NAMED = 10;

/** What a lockdown would do, as of now. Tokens are re-read after the access paths are closed. */
export interface LockdownPlan extends LockedAccess {
  /** The incident's id, for `incident lift`. */
  readonly incident: string;
  /** Whether it is already open, so that this run continues it. */
  readonly continues: boolean;
  /** The scope in words. */
  readonly selection: string;
  /** When it is to be lifted; null for no automatic lift. */
  readonly until: Date | null;
  /** The switches set first, including those already set. */
  readonly switches: readonly Lock[];
  readonly users: readonly Lock[];
  /** Users and applications renamed since an open incident began. */
  readonly renamed: readonly Renamed[];
  /** The history of the names: another user may have had one. */
  readonly names: NameHistory;
  /** Whether `revocation` has what would be revoked. Otherwise it has only what is kept and left open. */
  readonly counted: boolean;
  /** The first access tokens to be revoked, by id; null if not counted, or if they could not be read. */
  readonly tokens: readonly NamedToken[] | null;
  /** The access paths that stay open, or that this target cannot check. */
  readonly accessPaths: readonly AccessPath[];
}

/**
 * Computes what a lockdown would do. Reads only. An open incident of the same scope and measures is
 * continued.
 * @throws TokenctlError `permission_refused` for an account that does not see everything, `lockout_refused`
 * if it would lock the caller out, `unsupported` for what the target cannot do, `not_found` for a user or
 * application that does not exist.
 */
export async function planLockdown(asked: PlanLockdownOptions): Promise<LockdownPlan> {
  const { target, description, lasts, clock } = asked;
  requireFullView(description, 'A lockdown');
  requireRights(description, { what: 'A lockdown', purposes: purposesOf(asked) });
  if (asked.measures.basicAuthentication) {
    // A system auditor may not change anything.
    if (description.credential === 'password') requireMayChange(description);
    if (asked.mayLockOut !== true) refuseLockout({ AUTH_BASIC_ENABLED: false }, description);
  }
  const histories = await readIncidentHistories(asked.log);
  const history = histories.at(description);
  const { options, same, usersGone, renamed } = await resolveOrder(asked, history);
  const { scope, measures } = options;
  const names = lookAtNames(options, history);
  // Awaited later: until then, its failure must not be an unhandled rejection.
  names.catch(() => undefined);
  const { switches, lifetimes, settingsLeft } = await settingLocks(target, measures);
  const order = { scope, measures, history };
  const { locks: users, kept: usersKept } = await userLocks(asked, order);
  const local = await planLocalAccess(asked, order);
  const selector = await selectorOf(scope, target);
  const counted = options.count !== false || same?.state === 'locked';
  const revocation = selector === null ? null : await (counted ? counting : notCounting)(options, selector);
  const access = { scope, measures, lifetimes, settingsLeft, revocation, usersGone, usersKept, local };
  return {
    ...access,
    incident: same?.id ?? freeId(history, newIdOf(options, [...histories.all.values()])),
    continues: same !== undefined,
    selection: describeScope(scope),
    until: lasts === null ? untilOf(same) : new Date(clock.now().getTime() + lasts),
    switches,
    users,
    renamed,
    names: await names,
    counted,
    tokens: counted ? await namedTokens(target, revocation) : null,
    accessPaths: lockdownPaths({ ...access, description }),
  };
}

/** The rights that a database role needs. The right to deactivate users is checked with the users. */
function purposesOf({ target, scope, measures }: PlanLockdownOptions): readonly RightsPurpose[] {
  const sessions = target.sessions !== undefined && scope.kind !== 'applications';
  const settings = measures.basicAuthentication || measures.externalTokens || measures.lifetimes;
  return [
    'revoke',
    ...(sessions ? (['sessions'] as const) : []),
    ...(settings ? (['settings'] as const) : []),
    ...(measures.endApplications ? (['applications'] as const) : []),
  ];
}

/** The history of the names. Users locked down by an open incident do not count as keeping access. */
async function lookAtNames(options: PlanLockdownOptions, history: IncidentHistory): Promise<NameHistory> {
  const { scope, measures } = options;
  const ofUsers = scope.kind === 'users' ? scope : null;
  const bound = [...(ofUsers?.bound ?? []), ...(measures.keepActiveBound ?? [])];
  const found = await nameHistory(options, bound, [...(ofUsers?.names ?? []), ...measures.keepActive]);
  const locked = new Set(
    history.open
      .flatMap((each) => ('names' in each.scope ? (each.scope.bound ?? []) : []))
      .map(({ id }) => id),
  );
  return {
    ...found,
    remarks: [...(options.remarks ?? []), ...found.remarks],
    earlier: ofUsers === null ? [] : found.earlier.filter(({ id }) => !locked.has(id)),
  };
}

/** Checks that every name exists, including users to keep active, whether or not tokens are counted. */
async function resolveScope({ target, scope, measures }: PlanLockdownOptions): Promise<void> {
  const users = [...(scope.kind === 'users' ? scope.names : []), ...measures.keepActive];
  await resolveNames(target, {
    ...(users.length > 0 && { users }),
    ...(scope.kind === 'applications' && { applications: scope.names }),
  });
}

/** A lockdown whose names have ids, and the open incident that it continues. */
interface ResolvedOrder {
  readonly options: PlanLockdownOptions;
  readonly same: Incident | undefined;
  readonly usersGone: readonly string[];
  readonly renamed: readonly Renamed[];
}

/**
 * Resolves names to ids once. Names of an open incident were resolved when it began: a name deleted or
 * renamed since must not leave it unfinished.
 * @throws TokenctlError `plan_outdated` as {@link requireMeant}, `not_found`
 */
async function resolveOrder(asked: PlanLockdownOptions, history: IncidentHistory): Promise<ResolvedOrder> {
  const { target } = asked;
  const bound = await bindOrder(target, asked);
  const isWhole = missingNames(bound.scope).length === 0;
  const sameAs = (order: PlanLockdownOptions) => history.open.find((incident) => isSame(incident, order));
  const same = sameAs(bound) ?? (isWhole ? undefined : sameAs(asked));
  if (same === undefined) await resolveScope(asked);
  const hasIds = same !== undefined && 'names' in same.scope && same.scope.bound !== undefined;
  const options = hasIds ? { ...bound, scope: same.scope } : bound;
  const { renamed, gone } = await requireMeant(target, options);
  const usersGone = gone.map(({ name }) => name);
  return {
    options,
    same,
    renamed,
    usersGone: options.scope.kind !== 'users' ? [] : hasIds ? usersGone : missingNames(options.scope),
  };
}

/** The names of a scope that did not exist when they were resolved. */
function missingNames(scope: LockdownScope): readonly string[] {
  if (!('names' in scope)) return [];
  const found = new Set(scope.bound?.map(({ name }) => name));
  return scope.names.filter((name) => !found.has(name));
}

function counting(options: PlanLockdownOptions, selector: Selector): Promise<RevocationPlan> {
  const { target, clock, scope, description } = options;
  const withSessions = target.sessions !== undefined && scope.kind !== 'applications';
  return planRevocation({ target, selector, clock, description, withSessions });
}

/** A failure to read them does not stop a lockdown. */
async function namedTokens(target: Target, revocation: RevocationPlan | null) {
  const ids = revocation?.tokenIds.slice(0, MOST_NAMED) ?? [];
  const named: NamedToken[] = [];
  try {
    if (ids.length > 0)
      for await (const { id, user, application, description, scope } of target.tokens({ ids }))
        named.push({
          ...{ id, description, scope },
          ...{ user: user?.username ?? null, application: application?.name ?? null },
        });
  } catch (error) {
    if (error instanceof TokenctlError) return null;
    throw error;
  }
  return named.sort((one, other) => one.id - other.id);
}

/** A plan without a count: the caller's own tokens, which are kept, and what is left open. */
async function notCounting({ target, description, scope }: PlanLockdownOptions, selector: Selector) {
  const { refreshTokens, authorizationCodes, sessions } = target;
  const reach = {
    refreshTokens: refreshTokens !== undefined,
    authorizationCodes: authorizationCodes !== undefined,
    sessions: sessions !== undefined && scope.kind !== 'applications',
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
    accessPaths: await pathsNotCovered({
      target,
      description,
      tokensWithRefreshToken: 0,
      reach,
      selection: selectionOf(selector, []),
    }),
    absentIds: [],
  });
}

async function settingLocks(target: Target, measures: Measures) {
  if (!measures.basicAuthentication && !measures.externalTokens && !measures.lifetimes) {
    return { switches: [], lifetimes: [], settingsLeft: null };
  }
  const { values, why } = await knownSettings(target);
  // The previous values could not be restored.
  if (values === null) return { switches: [], lifetimes: [], settingsLeft: why };
  return {
    switches: switchLocks(values, measures),
    lifetimes: lifetimeLocks(values, measures),
    settingsLeft: null,
  };
}

function untilOf(incident: Incident | undefined): Date | null {
  return incident?.until == null ? null : new Date(incident.until);
}

/** A new incident id, short enough to be read out over the phone. */
export function newIncidentId(): string {
  return `inc-${randomBytes(4).toString('hex')}`;
}

/** The id that the incident has at other targets; else the one that an earlier plan proposed, if unused. */
function newIdOf(
  { sharedId, proposedId, scope, measures }: PlanLockdownOptions,
  histories: readonly IncidentHistory[],
): string | undefined {
  if (sharedId === undefined) {
    const isTaken = histories.some(({ incidents }) => incidents.some(({ id }) => id === proposedId));
    return isTaken ? undefined : proposedId;
  }
  const open = histories.flatMap((history) =>
    history.open.filter((incident) => isSame(incident, { scope, measures })),
  );
  return open.at(-1)?.id ?? sharedId;
}

function freeId(history: IncidentHistory, proposed = newIncidentId()): string {
  const taken = history.incidents.some(({ id }) => id === proposed);
  return taken ? freeId(history) : proposed;
}
