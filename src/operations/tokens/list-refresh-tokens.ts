import {
  type RefreshToken,
  type RefreshTokenState,
  refreshTokenExpiry,
  refreshTokenState,
} from '../../domain/token.ts';
import type { Clock } from '../ports/clock.ts';
import type { Target } from '../ports/target.ts';
import type { RefreshTokenSelector } from '../ports/target-parts.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { notPossible, partOf } from '../scope/target-parts.ts';

export interface ListedRefreshToken extends RefreshToken {
  /** `live` also if it is unknown whether it expired: `expires` is then null. */
  readonly state: RefreshTokenState;
  /** Null for orphaned and revoked ones, and if the setting is unreadable. */
  readonly expires: Date | null;
}

export interface RefreshTokenList extends Omit<RefreshTokenSelector, 'states'> {
  readonly states?: readonly RefreshTokenState[];
}

/**
 * Streams the refresh tokens that the selector names, ascending by id. Reads only.
 * @param options.lifetime REFRESH_TOKEN_EXPIRE_SECONDS; null if unreadable: expired ones are then
 * indistinguishable from live ones.
 * @throws TokenctlError `not_found` for a user or application that does not exist, `unsupported` if the
 * target lists none, or if expired ones are selected and the lifetime is unknown.
 */
export async function* listRefreshTokens(options: {
  readonly target: Target;
  readonly selector: RefreshTokenList;
  readonly lifetime: number | null;
  readonly clock: Clock;
}): AsyncIterable<ListedRefreshToken> {
  const { target, selector, lifetime, clock } = options;
  const { states, ...others } = selector;
  await resolveNames(target, selector);
  if (lifetime === null && states?.includes('expired') === true) {
    throw notPossible(
      'REFRESH_TOKEN_EXPIRE_SECONDS cannot be read, so expired refresh tokens are unknown',
      'Use the state live, which includes them here.',
    );
  }
  const now = clock.now();
  const stored = new Set(states?.map((state) => (state === 'expired' ? 'live' : state)));
  for await (const token of partOf(target, 'refreshTokens').list({
    ...others,
    states: states && [...stored],
  })) {
    const row = refreshTokenState(token);
    const expires = row === 'live' && lifetime !== null ? refreshTokenExpiry(token, lifetime) : null;
    const state = expires !== null && expires < now ? 'expired' : row;
    const { id, user, application, created, ...rest } = token;
    if (states === undefined || states.includes(state))
      yield { id, user, application, state, created, expires, ...rest };
  }
}

/**
 * Counts the expired refresh tokens that become live again if REFRESH_TOKEN_EXPIRE_SECONDS is raised. Reads
 * only.
 * @param options.from The current setting, `to` the new one, in seconds.
 * @returns 0 if it is not raised, null if the target does not list refresh tokens.
 * @throws TokenctlError whatever the target throws.
 */
export async function countRevived(options: {
  target: Target;
  clock: Clock;
  from: number;
  to: number;
}): Promise<number | null> {
  const { target, clock, from, to } = options;
  if (to <= from) return 0;
  if (target.refreshTokens === undefined) return null;
  const now = clock.now();
  const createdBefore = new Date(now.getTime() - from * 1000);
  let revived = 0;
  for await (const token of target.refreshTokens.list({ states: ['live'], createdBefore })) {
    if (refreshTokenExpiry(token, to) > now) revived += 1;
  }
  return revived;
}
