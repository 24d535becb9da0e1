import { TokenctlError } from '@tokenctl/common/errors.ts';
import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import { expiresNever } from '../../domain/policy/lifetime-rules.ts';
import { hasExpired } from '../../domain/policy/rule.ts';
import { type NamePattern, patternOf } from '../../domain/selector.ts';
import type { Application, RefreshTokenState, User } from '../../domain/token.ts';
import { unreadSessions } from '../access/cached-sessions.ts';
import type { Clock } from '../ports/clock.ts';
import type { LinkedDatabase, ReadTarget, Target } from '../ports/target.ts';
import { readRefreshLifetime } from '../scope/known-settings.ts';
import { requireSameUsers, resolveNames, resolveSelection } from '../scope/resolve-names.ts';
import { countSessions } from '../scope/user-sessions.ts';
import { isRefusal } from '../token-audit/audit-facts.ts';
import { listRefreshTokens } from '../tokens/list-refresh-tokens.ts';

export interface ListedUser extends User {
  /** Absent if not counted. */
  readonly accessTokens?: number;
}

/** Selects users. All criteria must match. */
interface ListUsersOptions {
  readonly target: Target;
  readonly users?: readonly NamePattern[] | undefined;
  readonly inactive?: boolean;
  readonly superuser?: boolean;
  readonly external?: boolean;
  /** Counts the access tokens of each user, in one reading of all tokens. */
  readonly countTokens?: boolean;
}

/**
 * Streams users, ascending by id. If the target does not show who is deactivated, it is queried for
 * deactivated users.
 * @throws TokenctlError `not_found` for a name or pattern that no user has.
 */
export async function* listUsers(options: ListUsersOptions): AsyncIterable<ListedUser> {
  const { target, users, inactive, superuser, external } = options;
  const named = users && (await resolveSelection(target, { users })).selector.users;
  const selector = { ...(named && { names: named }), ...(inactive === true && { inactive: true as const }) };
  const counts = options.countTokens === true ? await countTokensBy(target, 'user') : null;
  let deactivated: ReadonlySet<number> | null | undefined;
  for await (const user of target.users.list(selector)) {
    if ((superuser === true && !user.isSuperuser) || (external === true && user.externalAccount === null))
      continue;
    if (user.isActive === null)
      deactivated ??= inactive === true ? null : await deactivatedIds(target, named);
    const isActive = user.isActive ?? (inactive === true ? false : activeBy(deactivated, user.id));
    yield { ...user, isActive, ...(counts && { accessTokens: counts.get(user.id) ?? 0 }) };
  }
}

function activeBy(deactivated: ReadonlySet<number> | null | undefined, id: number): boolean | null {
  return deactivated ? !deactivated.has(id) : null;
}

/** Null if the target refuses the request. */
async function deactivatedIds(target: Target, names: readonly string[] | undefined) {
  try {
    const found = target.users.list({ inactive: true, names });
    return new Set(await Array.fromAsync(found, ({ id }) => id));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return null;
  }
}

/** The number of access tokens by the id of their user or application. */
async function countTokensBy(target: Target, what: 'user' | 'application'): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  await target.tokens({ all: true }).each((page) => {
    for (const { [what]: of } of page) if (of !== null) counts.set(of.id, (counts.get(of.id) ?? 0) + 1);
  });
  return counts;
}

export interface ListedApplication extends Application {
  /** Absent if not counted. */
  readonly accessTokens?: number;
}

/** The applications, by id: all, or those with these names or patterns. Throws `not_found` for others. */
export async function listApplications(options: {
  readonly target: Target;
  readonly applications?: readonly NamePattern[] | undefined;
  readonly countTokens?: boolean;
}): Promise<readonly ListedApplication[]> {
  const { target, applications } = options;
  const names = applications && (await resolveSelection(target, { applications })).selector.applications;
  const found = (await target.applications.list(names)).toSorted((one, other) => one.id - other.id);
  if (options.countTokens !== true) return found;
  const counts = await countTokensBy(target, 'application');
  return found.map((each) => ({ ...each, accessTokens: counts.get(each.id) ?? 0 }));
}

interface AccessTokenCounts {
  readonly total: number;
  /** Tokens with the scope write, including expired ones. */
  readonly write: number;
  /** Tokens that expire more than a hundred years from now. */
  readonly neverExpire: number;
  readonly expired: number;
  readonly withRefreshToken: number;
  /** In descending order; null stands for personal access tokens. */
  readonly byApplication: readonly { readonly name: string | null; readonly tokens: number }[];
}

/** The details of a user. Null if the target does not list them. */
export interface ShownUser {
  readonly user: User;
  /** The last change in the activity stream: null for none, undefined if the stream is unreadable. */
  readonly lastChange: Date | null | undefined;
  readonly accessTokens: AccessTokenCounts;
  /** Refresh tokens that are not revoked. */
  readonly refreshTokens: Readonly<Record<Exclude<RefreshTokenState, 'revoked'>, number>> | null;
  readonly sessions: number | null;
  /** Over REST, the linked database from which refresh tokens and sessions were read; null without one. */
  readonly database: {
    /** The database context. */
    readonly context: string;
    /** Why they were not read; null if they were. */
    readonly problem: string | null;
  } | null;
}

/**
 * Reads the details of a user. Reads only.
 * @throws TokenctlError `not_found` for an unknown user, `permission_refused` for a user that the account
 * does not see.
 */
export async function showUser(
  options: ReadTarget & {
    readonly name: string;
    /** Over REST: the database for data that the API does not list. */
    readonly linked?: LinkedDatabase | undefined;
  },
): Promise<ShownUser> {
  const { target, name, clock } = options;
  await resolveNames(target, { users: [name] });
  const [user] = await Array.fromAsync(listUsers({ target, users: [{ pattern: patternOf(name) }] }));
  // Deleted in the meantime.
  if (user === undefined) throw new TokenctlError('not_found', `No user named "${name}"`);
  const known = { user, lastChange: await lastChangeOf(target, user.id) };
  const accessTokens = await countAccessTokens(target, name, clock.now());
  const { linked } = options;
  if (linked === undefined)
    return { ...known, accessTokens, ...(await countOthers(options, user)), database: null };
  const { context } = linked;
  const answer = await linked.ask(async (at) => {
    await requireSameUsers(at.target, [name], { [name]: user.id });
    const unread = unreadSessions(at.description);
    const counted = await countOthers(at, user);
    return unread === undefined
      ? { ...counted, problem: null }
      : { ...counted, sessions: null, problem: unread.message };
  });
  const { problem, ...others } =
    'found' in answer ? answer.found : { refreshTokens: null, sessions: null, ...answer };
  return { ...known, accessTokens, ...others, database: { context, problem } };
}

/** Counts what a target lists other than access tokens. */
async function countOthers({ target, clock }: Pick<ReadTarget, 'target' | 'clock'>, { id, username }: User) {
  return {
    refreshTokens: target.refreshTokens ? await countRefreshTokens(target, username, clock) : null,
    sessions: target.sessions ? await countSessions(target, [id]) : null,
  };
}

async function lastChangeOf(target: Target, userId: number): Promise<Date | null | undefined> {
  try {
    return (await target.activity.lastChanges([userId])).get(userId) ?? null;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return undefined;
  }
}

async function countAccessTokens(target: Target, name: string, now: Date): Promise<AccessTokenCounts> {
  const counts = { total: 0, write: 0, neverExpire: 0, expired: 0, withRefreshToken: 0 };
  const byApplication = new Map<string | null, number>();
  for await (const token of target.tokens({ users: [name] })) {
    counts.total += 1;
    counts.write += Number(allowsWriting(token));
    counts.neverExpire += Number(expiresNever(token, now));
    counts.expired += Number(hasExpired(token, now));
    counts.withRefreshToken += Number(token.hasRefreshToken);
    const application = token.application?.name ?? null;
    byApplication.set(application, (byApplication.get(application) ?? 0) + 1);
  }
  const groups = Array.from(byApplication, ([application, tokens]) => ({ name: application, tokens }));
  return { ...counts, byApplication: groups.sort((one, other) => other.tokens - one.tokens) };
}

async function countRefreshTokens(target: Target, name: string, clock: Clock) {
  const counts = { live: 0, expired: 0, orphaned: 0 };
  const lifetime = await readRefreshLifetime(target);
  const selector = { users: [name] };
  for await (const { state } of listRefreshTokens({ target, selector, lifetime, clock })) {
    if (state !== 'revoked') counts[state] += 1;
  }
  return counts;
}
