import type { Lease, LeasedToken } from './leases.ts';
import { hasExpired } from './policy/rule.ts';
import type { Token, UserReference } from './token.ts';

/** The precision of a token's creation time differs: microseconds over REST, milliseconds in a database. */
const SAME_MS = 1000;

/** Whether a token was created when the recorded one was; otherwise it is another one with its id. */
export function isSameInstant(recorded: string, created: Date): boolean {
  return Math.abs(Date.parse(recorded) - created.getTime()) < SAME_MS;
}

export interface LeaseSubject {
  readonly token: Omit<LeasedToken, 'expires'> | null;
  readonly owner: Pick<Lease['owner'], 'id'>;
}

/** Whether a listed token is the lease's, not another one with its id, such as after a database restore. */
export function isTokenOf(
  { token, owner }: LeaseSubject,
  listed: Pick<Token, 'id' | 'created' | 'fingerprint'> & { readonly user: UserReference | null },
): boolean {
  if (token === null || listed.id !== token.id) return false;
  const areKnown = token.fingerprint !== null && listed.fingerprint !== null;
  if (areKnown && token.fingerprint !== listed.fingerprint) return false;
  const isSameOwner = owner.id === null || listed.user === null || listed.user.id === owner.id;
  return isSameOwner && isSameInstant(token.created, listed.created);
}

/** When a token ends, and why: its stored expiry, or an earlier lease. */
export function endOf(
  { expires }: Pick<Token, 'expires'>,
  lease: Pick<Lease, 'until'> | undefined,
): { readonly at: Date; readonly by: 'stored' | 'lease' } {
  const until = lease === undefined ? null : new Date(lease.until);
  return until !== null && !hasExpired({ expires }, until)
    ? { at: until, by: 'lease' }
    : { at: expires, by: 'stored' };
}
