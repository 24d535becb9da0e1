import type { Outcome } from '../../src/domain/plan.ts';
import { type RefreshToken, refreshTokenState } from '../../src/domain/token.ts';
import type { RefreshTokenSelector } from '../../src/operations/ports/target-parts.ts';
import { isOf } from './memory-selectors.ts';

/** A live refresh token of alice for the application CI, made a week ago, without an access token. */
export function refreshToken(other: Partial<RefreshToken> = {}): RefreshToken {
  return {
    id: 1,
    user: { id: 2, username: 'alice' },
    application: { id: 1, name: 'CI' },
    created: new Date('2026-11-13T00:00:00Z'),
    revoked: null,
    accessTokenId: null,
    fingerprint: 'bbbbbbbbbbbb',
    ...other,
  };
}

/** The refresh tokens of a target that is a map. */
export class MemoryRefreshTokens {
  readonly rows = new Map<number, RefreshToken>();
  /** Called before each is revoked or deleted; what it throws ends the batch, what it returns is the outcome. */
  onChange: (id: number) => Outcome['result'] | undefined = () => undefined;

  async *list(selector: RefreshTokenSelector): AsyncIterable<RefreshToken> {
    for (const each of [...this.rows.values()].sort((a, b) => a.id - b.id)) {
      if (matches(each, selector)) yield await Promise.resolve(each);
    }
  }

  /** The live one beside an access token. */
  beside(accessTokenId: number): RefreshToken | undefined {
    return [...this.rows.values()].find((row) => row.accessTokenId === accessTokenId && row.revoked === null);
  }

  revoke(row: RefreshToken, revoked: Date): void {
    this.rows.set(row.id, { ...row, revoked, accessTokenId: null });
  }

  async *delete(ids: readonly number[]): AsyncIterable<Outcome> {
    for (const tokenId of ids) {
      const forced = await Promise.resolve(this.onChange(tokenId));
      if (forced !== undefined) yield { tokenId, result: forced, reason: 'as told' };
      else yield { tokenId, result: this.rows.delete(tokenId) ? 'revoked' : 'unchanged' };
    }
  }
}

function matches(each: RefreshToken, selector: RefreshTokenSelector): boolean {
  const { ids, states, createdBefore, revokedBefore } = selector;
  return (
    (ids?.includes(each.id) ?? true) &&
    isOf(each, selector) &&
    (states?.includes(refreshTokenState(each)) ?? true) &&
    (createdBefore === undefined || each.created < createdBefore) &&
    (revokedBefore === undefined || (each.revoked !== null && each.revoked < revokedBefore))
  );
}
