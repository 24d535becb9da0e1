import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import { amountsOf, isNothing, type RevocationPlan } from '../../domain/plan.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { ReadTarget, Target } from '../ports/target.ts';
import { requireFullView } from '../scope/visibility.ts';
import { type NameHistory, nameHistory } from './name-history.ts';
import { planAccess } from './offboard-user.ts';

export interface PlanOffboardingOptions extends ReadTarget {
  /** Whether to offboard deactivated users. */
  readonly inactive: boolean;
  /**
   * The names of current users; null if irrelevant. Users who are not among them are only named: a truncated
   * list lacks active people, and cannot be queried for one.
   */
  readonly present: readonly string[] | null;
  /** Departed users according to a directory, already compared. */
  readonly gone?: readonly { readonly id: number; readonly username: string }[] | undefined;
  /** Users who are never offboarded, as names or patterns: service accounts, break-glass accounts. */
  readonly except: readonly string[];
  /**
   * Refuses to start if a larger share of users with access, tokens, refresh tokens or sessions is affected.
   */
  readonly stopAbovePercent: number;
}

export interface OffboardingPlan {
  /** Null if there is nothing to revoke. */
  readonly plan: RevocationPlan | null;
  /** The names of departed or deactivated users, whether or not they have any access left. */
  readonly users: readonly string[];
  /** Number of access tokens. */
  readonly tokens: number;
  /** The names of users who are not in the list, and keep their access. */
  readonly unlisted: readonly string[];
  /** The history of the names of users that a directory reports as gone: an active user may have had one. */
  readonly names: NameHistory;
}

/**
 * Plans the end of all access tokens, refresh tokens and sessions of users who are deactivated, or departed
 * according to a directory. The caller is never included. Reads only.
 * @throws TokenctlError `usage` for an empty list; `plan_too_large` above the allowed share.
 */
export async function planOffboarding(options: PlanOffboardingOptions): Promise<OffboardingPlan> {
  const { target, description, clock, stopAbovePercent } = options;
  requireFullView(description, 'An offboarding');
  const { gone, byName, unlisted } = await whoIsGone(options);
  const users = [...gone.keys()].sort();
  const bound = users.map((name) => ({ id: gone.get(name) ?? 0, name }));
  const names = await nameHistory(options, bound, byName);
  if (users.length === 0) return { plan: null, users, tokens: 0, unlisted, names };
  const plan = await planAccess({ target, clock, users, description, userIds: bound.map(({ id }) => id) });
  const shares = await readShares(target, { plan, users });
  refuseTooMany(shares, stopAbovePercent);
  return {
    plan: isNothing(amountsOf(plan)) ? null : plan,
    users,
    tokens: shares.tokens.all,
    unlisted,
    names,
  };
}

/** The ids by name, and the names that came from a directory. */
async function whoIsGone(options: PlanOffboardingOptions) {
  const { target, description, inactive, present, except } = options;
  if (present?.length === 0) {
    throw new TokenctlError('usage', 'The user list is empty', {
      hint: 'Check the file or program that provides the list.',
    });
  }
  const own = description.identity.username;
  const kept = (name: string) => name === own || matchesAny(name, except);
  const gone = new Map<string, number>();
  const byName: string[] = [];
  const unlisted: string[] = [];
  if (inactive) {
    for await (const { id, username } of target.users.list({ inactive: true }))
      if (!kept(username)) gone.set(username, id);
  }
  if (present !== null) {
    const there = new Set(present);
    for await (const { username } of target.users.list()) {
      if (!there.has(username) && !kept(username) && !gone.has(username)) unlisted.push(username);
    }
  }
  for (const { id, username } of options.gone ?? []) {
    if (kept(username)) continue;
    gone.set(username, id);
    byName.push(username);
  }
  return { gone, byName, unlisted };
}

interface Share {
  readonly planned: number;
  readonly all: number;
}

/** What an offboarding would end. Users count if they have a token, refresh token or session. */
type Shares = Readonly<Record<'users' | 'tokens' | 'refreshTokens' | 'sessions', Share>>;

async function readShares(
  target: Target,
  { plan, users }: { plan: RevocationPlan; users: readonly string[] },
): Promise<Shares> {
  const owners = new Set<string>();
  const count = async (items: AsyncIterable<{ readonly user: { readonly username: string } | null }>) => {
    let all = 0;
    for await (const { user } of items) {
      all += 1;
      if (user !== null) owners.add(user.username);
    }
    return all;
  };
  const tokens = await count(target.tokens({ all: true }));
  const states = ['live', 'orphaned'] as const;
  const refreshTokens = target.refreshTokens ? await count(target.refreshTokens.list({ states })) : 0;
  const sessions = target.sessions ? await count(target.sessions.list({ all: true })) : 0;
  return {
    users: { planned: users.filter((name) => owners.has(name)).length, all: owners.size },
    tokens: { planned: plan.tokenIds.length, all: tokens },
    refreshTokens: { planned: plan.refreshTokenIds.length, all: refreshTokens },
    sessions: { planned: plan.sessions?.count ?? 0, all: sessions },
  };
}

/**
 * Checks each share on its own: if service accounts that are kept own most tokens, a truncated list affects
 * few tokens but all sessions. A single user is always allowed unless there are too many tokens.
 */
function refuseTooMany(shares: Shares, stopAbovePercent: number): void {
  const isTooMuch = ({ planned, all }: Share) => planned * 100 > all * stopAbovePercent;
  const { users, tokens, refreshTokens, sessions } = shares;
  const others = users.planned > 1 && [users, refreshTokens, sessions].some(isTooMuch);
  if (!others && !isTooMuch(tokens)) return;
  const ended = Object.entries({ tokens, 'refresh tokens': refreshTokens, sessions })
    .filter(([, share]) => isTooMuch(share))
    .map(([name, share]) => shareText(share, name));
  throw new TokenctlError(
    'plan_too_large',
    `The offboarding would end the access of ${[shareText(users, 'users'), ...(ended.length > 0 ? [`with ${ended.join(', ')}`] : [])].join(', ')}, which exceeds the limit of ${stopAbovePercent} %. Nothing was revoked`,
    {
      hint: 'Check that the list is complete. If it is, raise `stopAbovePercent` for one run.',
      details: {
        ...Object.fromEntries(
          Object.entries(shares).map(([name, share]) => [name, { ...share, percent: percentOf(share) }]),
        ),
        stopAbovePercent,
      },
    },
  );
}

function shareText(share: Share, name: string): string {
  return `${numberText(share.planned)} of ${numberText(share.all)} ${name} (${percentOf(share)} %)`;
}

function percentOf({ planned, all }: Share): number {
  return all === 0 ? 0 : Math.round((planned / all) * 1000) / 10;
}
