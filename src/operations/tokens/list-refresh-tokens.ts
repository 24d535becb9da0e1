import { TokenctlError } from '../../domain/errors.ts';
import {
  type RefreshToken,
  type RefreshTokenState,
  refreshTokenExpiry,
  refreshTokenState,
} from '../../domain/token.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { RefreshTokenSelector, Target } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';

/** A refresh token of a list. */
export interface ListedRefreshToken extends RefreshToken {
  /** `live` where it is not known whether it is expired: then `expires` is null. */
  readonly state: RefreshTokenState;
  /** Null for orphaned and revoked ones, and where the setting cannot be read. */
  readonly expires: Date | null;
}

/** Which refresh tokens to list. */
export interface RefreshTokenList extends Omit<RefreshTokenSelector, 'states'> {
  readonly states?: readonly RefreshTokenState[];
}

/**
 * Streams the refresh tokens that the selector names, ascending by id. Reads only.
 *
 * @param options.lifetime REFRESH_TOKEN_EXPIRE_SECONDS; null where it cannot be read: expired ones are then not told from
 * live ones.
 * @throws TokenctlError `not_found` for a user or application that does not exist, `unsupported` where the
 * target lists none, or expired ones are selected and the lifetime is not known; and whatever else it throws.
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
    throw new TokenctlError(
      'unsupported',
      'REFRESH_TOKEN_EXPIRE_SECONDS cannot be read, so expired refresh tokens are unknown',
      {
        hint: 'List the state live, which includes them here.',
      },
    );
  }
  const now = clock.now();
  const stored = new Set(states?.map((state) => (state === 'expired' ? 'live' : state)));
  for await (const token of target.refreshTokens({ ...others, ...(states && { states: [...stored] }) })) {
    const row = refreshTokenState(token);
    const expires = row === 'live' && lifetime !== null ? refreshTokenExpiry(token, lifetime) : null;
    const state = expires !== null && expires < now ? 'expired' : row;
    if (states === undefined || states.includes(state)) yield { ...token, state, expires };
  }
}

/** REFRESH_TOKEN_EXPIRE_SECONDS as the target has it; null where it has no such setting or it may not be read. */
export async function readRefreshLifetime(target: Target): Promise<number | null> {
  try {
    const { OAUTH2_PROVIDER: lifetimes } = await target.settings.read();
    return lifetimes?.REFRESH_TOKEN_EXPIRE_SECONDS ?? null;
  } catch (error) {
    if (error instanceof TokenctlError && REFUSALS.has(error.code)) return null;
    throw error;
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['permission_refused', 'unsupported', 'target_misbehaved']);
