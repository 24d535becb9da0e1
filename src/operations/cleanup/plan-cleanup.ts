import { limitText } from '../../domain/claims.ts';
import { IdSet } from '../../domain/compact-collections.ts';
import type { Clock } from '../ports/clock.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { RefreshTokenSelector } from '../ports/target-parts.ts';
import { readRefreshLifetime } from '../scope/known-settings.ts';
import { partOf } from '../scope/target-parts.ts';

/** The kinds of tokens to clean up, in the order of deletion. */
export const cleanupKinds = [
  'expiredAuthorizationCodes',
  'expiredRefreshTokens',
  'revokedRefreshTokens',
  'orphanedRefreshTokens',
  'expiredAccessTokens',
] as const;

export type CleanupKind = (typeof cleanupKinds)[number];

/** A value for each kind. */
export function tallied<T>(of: (kind: CleanupKind) => T): Record<CleanupKind, T> {
  return Object.fromEntries(cleanupKinds.map((kind) => [kind, of(kind)])) as Record<CleanupKind, T>;
}

export interface PlanCleanupOptions {
  readonly target: Target;
  readonly clock: Clock;
  /** How long revoked refresh tokens are kept, in milliseconds. */
  readonly keepRevokedFor: number;
  /** The maximum number of rows in the plan, all kinds together. */
  readonly limit?: number | undefined;
  /** The target's description, if it was read already. Default: it is read. */
  readonly description?: TargetDescription;
}

export interface CleanupPlan {
  /** Ids by kind, ascending. */
  readonly ids: Readonly<Record<CleanupKind, readonly number[]>>;
  readonly counts: Readonly<Record<CleanupKind, number>>;
  /** The total of all kinds. */
  readonly total: number;
  /** Number of expired access tokens that are kept for their usable refresh token, up to the limit. */
  readonly kept: number;
  /** Whether the limit was reached: another run has more to delete. */
  readonly limited: boolean;
  /** What this target cannot clean up, and what can; null if it can clean up everything. */
  readonly notPossible: string | null;
  /** Why the account does not see all tokens, as a sentence without a full stop; null if it does. */
  readonly notSeen: string | null;
}

/** The minimum age of an orphan, in milliseconds: a token being refreshed may look like one. */
const ORPHANED_FOR = 60_000;

const REST_CANNOT =
  'The REST API cannot clean up authorization codes, refresh tokens, or access tokens with a refresh token. Use a database context.';

/**
 * Finds the tokens to clean up. Reads only.
 *
 * These are: expired authorization codes; refresh tokens that have expired (by REFRESH_TOKEN_EXPIRE_SECONDS;
 * none if that is 0 or cannot be read), that were revoked longer ago than `keepRevokedFor`, or that are live
 * without an access token; and expired access tokens without a usable refresh token.
 * @throws Whatever the target throws.
 */
export async function planCleanup(options: PlanCleanupOptions): Promise<CleanupPlan> {
  const { target } = options;
  const description = options.description ?? (await target.describe());
  const cleanup = new Cleanup(options);
  await cleanup.findAuthorizationCodes();
  await cleanup.findRefreshTokens();
  await cleanup.findAccessTokens();
  return cleanup.plan({
    notPossible: target.refreshTokens ? null : REST_CANNOT,
    notSeen: limitText(description),
  });
}

class Cleanup {
  readonly #target: Target;
  readonly #now: number;
  readonly #keepRevokedFor: number;
  readonly #ids = tallied((): number[] => []);
  /** The access tokens of the expired refresh tokens in the plan. */
  readonly #freed = new IdSet();
  #room: number;
  #kept = 0;
  #limited = false;

  constructor({ target, clock, keepRevokedFor, limit }: PlanCleanupOptions) {
    this.#target = target;
    this.#now = clock.now().getTime();
    this.#keepRevokedFor = keepRevokedFor;
    this.#room = limit ?? Number.POSITIVE_INFINITY;
  }

  async findAuthorizationCodes(): Promise<void> {
    const codes = this.#target.authorizationCodes?.list({ state: 'expired' }) ?? [];
    for await (const { id } of codes) {
      if (!this.#take('expiredAuthorizationCodes', id)) return;
    }
  }

  async findRefreshTokens(): Promise<void> {
    if (this.#target.refreshTokens === undefined) return;
    const lifetime = (await readRefreshLifetime(this.#target)) ?? 0;
    if (lifetime > 0) {
      await this.#collect('expiredRefreshTokens', {
        states: ['live'],
        createdBefore: this.#ago(lifetime * 1000),
      });
    }
    await this.#collect('revokedRefreshTokens', {
      states: ['revoked'],
      revokedBefore: this.#ago(this.#keepRevokedFor),
    });
    await this.#collect('orphanedRefreshTokens', {
      states: ['orphaned'],
      createdBefore: this.#ago(ORPHANED_FOR),
    });
  }

  async findAccessTokens(): Promise<void> {
    for await (const { id, hasRefreshToken } of this.#target.tokens({ expiredAt: new Date(this.#now) })) {
      if (hasRefreshToken && !this.#freed.has(id)) this.#kept += 1;
      else if (!this.#take('expiredAccessTokens', id)) return;
    }
  }

  plan(limits: Pick<CleanupPlan, 'notPossible' | 'notSeen'>): CleanupPlan {
    const ids = this.#ids;
    const counts = tallied((kind) => ids[kind].length);
    return {
      ids,
      counts,
      total: cleanupKinds.reduce((total, kind) => total + counts[kind], 0),
      kept: this.#kept,
      limited: this.#limited,
      ...limits,
    };
  }

  async #collect(
    kind: Exclude<CleanupKind, 'expiredAccessTokens' | 'expiredAuthorizationCodes'>,
    selector: RefreshTokenSelector,
  ): Promise<void> {
    if (this.#limited) return;
    for await (const { id, accessTokenId } of partOf(this.#target, 'refreshTokens').list(selector)) {
      if (!this.#take(kind, id)) return;
      if (accessTokenId !== null) this.#freed.add(accessTokenId);
    }
  }

  /** Adds a token to the plan; false if the limit is reached. */
  #take(kind: CleanupKind, id: number): boolean {
    if (this.#room <= 0) {
      this.#limited = true;
      return false;
    }
    this.#room -= 1;
    this.#ids[kind].push(id);
    return true;
  }

  #ago(milliseconds: number): Date {
    return new Date(this.#now - milliseconds);
  }
}
