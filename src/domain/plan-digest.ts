import { createHash, type Hash } from 'node:crypto';
import type { RevocationPlan } from './plan.ts';

/** Ids that are put into words at a time: a million of them make no string of seven megabytes. */
const CHUNK = 4096;

/** What goes along with access tokens, as far as a digest is concerned. */
type Along = Pick<RevocationPlan, 'reach' | 'refreshTokenIds' | 'sessions'>;

/**
 * SHA-256 (hex) over the ids in decimal, separated by commas, in the order given; where refresh tokens go
 * along followed by `;refresh_tokens=beside` and the ids of those without an access token, and where
 * sessions do by `;sessions=all` or the ids of the users.
 */
export function planDigest(tokenIds: readonly number[], along?: Along): string {
  const hash = createHash('sha256');
  addIds(hash, tokenIds);
  if (along?.reach.refreshTokens) {
    hash.update(along.refreshTokenIds.length === 0 ? ';refresh_tokens=beside' : ';refresh_tokens=beside,');
    addIds(hash, along.refreshTokenIds);
  }
  if (along?.sessions) {
    const { userIds } = along.sessions;
    hash.update(';sessions=');
    if (userIds === 'all') hash.update('all');
    else addIds(hash, userIds);
  }
  return hash.digest('hex');
}

function addIds(hash: Hash, ids: readonly number[]): void {
  for (let start = 0; start < ids.length; start += CHUNK) {
    if (start > 0) hash.update(',');
    hash.update(ids.slice(start, start + CHUNK).join(','));
  }
}
