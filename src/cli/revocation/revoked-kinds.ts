import type { FailedToken } from '../../operations/journal/batches.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';

/** What became of one kind of a revocation's tokens, and what that kind is called. */
export interface RevokedKind {
  readonly name: 'token' | 'access token' | 'refresh token';
  readonly planned: number;
  readonly revoked: number;
  readonly unchanged: number;
  readonly failed: readonly FailedToken[];
  readonly notTried: number;
  readonly stillAlive: readonly number[];
}

/**
 * Access tokens, and refresh tokens where they were meant as well; in that case without a kind of which there was
 * none.
 */
export function revokedKinds(revocation: RevocationReport): readonly RevokedKind[] {
  const { refreshTokens } = revocation;
  if (refreshTokens === null) return [{ ...revocation, name: 'token' }];
  const kinds: readonly RevokedKind[] = [
    { ...revocation, name: 'access token' },
    { ...refreshTokens, name: 'refresh token' },
  ];
  return kinds.filter(({ planned }) => planned > 0);
}
