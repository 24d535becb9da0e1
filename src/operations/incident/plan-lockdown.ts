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
  /** The id that a plan of before said for a new incident; another one is made where it was given since. */
  readonly proposedId?: string | undefined;
  /** What is known of the names already, as sentences. */
  readonly remarks?: readonly string[];
  /** Plans it also if it would end the caller's own way in: for a dry run, and for a caller that gets a token first. */
  readonly mayLockOut?: boolean;
}

/** An access token as people know it. */
export interface NamedToken extends Pick<Token, 'id' | 'description' | 'scope'> {
  /** The owner; null where the owner's row is gone. */
  readonly user: string | null;
  /** Null for a personal access token. */
  readonly application: string | null;
}

/** The access tokens that a plan names. */
const MOST_NAMED = 10;

/** What a lockdown would do, as of now. Tokens are read again after the ways in are closed. */
export interface LockdownPlan extends LockedAccess {
  /** The incident's id, as `incident lift` takes it. */
  readonly incident: string;
  /** Whether it is open already, so that this goes on with it. */
  readonly continues: boolean;
  /** The scope in words. */
  readonly selection: string;
  /** When it is to be lifted; null for not by itself. */
  readonly until: Date | null;
  /** What is set first, those included that are so already. */
  readonly switches: readonly Lock[];
  /** The users to deactivate. */
  readonly users: readonly Lock[];
  /** What is called otherwise than when an open incident began. */
  readonly renamed: readonly Renamed[];
  /** What is known of the names: another user may have had one. */
  readonly names: NameHistory;
  /** Whether `revocation` has what would be revoked; otherwise only what is kept, and what is left open. */
  readonly counted: boolean;
  /** The first of the access tokens that would be revoked, by id; null where they are not counted, or could not be read by their ids. */
  readonly tokens: readonly NamedToken[] | null;
  /** The ways in that stay open, or that this target cannot check. */
  readonly accessPaths: readonly AccessPath[];
}

/**
 * Computes what a lockdown would do. Reads only. An open incident of the same scope and measures is gone on
 * with.
 * @throws TokenctlError `permission_refused` for an account that sees only part, `lockout_refused` where it
 * would end the caller's own way in, `unsupported` for what the target cannot do, `not_found` for a user or
 * application that does not exist.
 */
export async function planLockdown(asked: PlanLockdownOptions): Promise<LockdownPlan> {
  const { target, description, lasts, clock } = asked;
  requireFullView(description, 'A lockdown');
  requireRights(description, { what: 'A lockdown', purposes: purposesOf(asked) });
  if (asked.measures.basicAuthentication) {
    // A system auditor may change nothing in the first place.
    if (description.credential === 'password') requireMayChange(description);
    if (asked.mayLockOut !== true) refuseLockout({ AUTH_BASIC_ENABLED: false }, description);
  }
  const histories = await readIncidentHistories(asked.log);
  const history = histories.at(description);
  const { options, same, usersGone, renamed } = await resolveOrder(asked, history);
  const { scope, measures } = options;
  const names = lookAtNames(options, history);
  // Awaited later: its failure is no unhandled rejection until then.
  names.catch(() => undefined);
  const { switches, lifetimes, settingsLeft } = await settingLocks(target, measures);
  const order = { scope, measures, history };
  const { locks: users, kept: usersKept } = await userLocks(asked, order);
  const local = await planLocalAccess(asked, order);
  const selector = await selectorOf(scope, target);
  const counted = options.count !== false || same?.state === 'locked';
  const revocation = selector === null ? null : await (counted ? counting : notCounting)(options, selector);
  return {
    incident: same?.id ?? freeId(history, newIdOf(options, [...histories.all.values()])),
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
    renamed,
    names: await names,
    lifetimes,
    settingsLeft,
    counted,
    tokens: counted ? await namedTokens(target, revocation) : null,
    revocation,
    accessPaths: lockdownPaths({
      scope,
      measures,
      description,
      lifetimes,
      settingsLeft,
      revocation,
      usersGone,
      usersKept,
      local,
    }),
  };
}

/** What the role of a database must be allowed to do; that it may deactivate users is checked with them. */
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

/** What is known of the names; who is locked down by an open incident is no longer one who goes on. */
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

/** Makes sure that every name exists, those of users to keep active included, whether or not tokens are counted. */
async function resolveScope({ target, scope, measures }: PlanLockdownOptions): Promise<void> {
  const users = [...(scope.kind === 'users' ? scope.names : []), ...measures.keepActive];
  await resolveNames(target, {
    ...(users.length > 0 && { users }),
    ...(scope.kind === 'applications' && { applications: scope.names }),
  });
}

/** A lockdown whose names have ids, and the open incident that it goes on with. */
interface ResolvedOrder {
  readonly options: PlanLockdownOptions;
  readonly same: Incident | undefined;
  readonly usersGone: readonly string[];
  readonly renamed: readonly Renamed[];
}

/**
 * Finds out once who is meant. The names of an open incident were resolved when it began: one that was
 * deleted or renamed since must not keep it unfinished.
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

/** The names of a scope that no one had when they were resolved. */
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

/** What is not known of them keeps no lockdown from its work. */
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

/** A plan of nothing: the caller's own tokens, which are kept, and what is left open. */
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
  // What was there before could not be restored.
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

/** An id for an incident: short enough to be read out on the telephone. */
export function newIncidentId(): string {
  return `inc-${randomBytes(4).toString('hex')}`;
}

/** The id that an incident has at other targets, where this is one of them; else the one that a plan of before said, if no other has it. */
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
