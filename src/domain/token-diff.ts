import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import type { Token } from './token.ts';

/** A token in a snapshot: what is compared. Times are RFC 3339. */
export interface SnapshotToken {
  readonly id: number;
  readonly user: Token['user'];
  /** The name; null for a personal access token. */
  readonly application: string | null;
  readonly scope: string;
  readonly description: string;
  readonly created: string;
  readonly expires: string;
  /** Null for never; missing where the target does not tell. */
  readonly lastUsed?: string | null;
}

/** What became of a token between two snapshots. */
export type TokenChange = 'new' | 'gone' | 'widened' | 'newly_used' | 'newly_idle';

/** A token that changed, as it is now, or was last. */
export interface ChangedToken {
  readonly change: TokenChange;
  readonly token: SnapshotToken;
}

interface Side {
  /** When it was taken, by the clock of the controller. */
  readonly at: Date;
  readonly tokens: readonly SnapshotToken[];
}

/**
 * What changed between two snapshots: tokens that are new or gone, whose scope was read and allows writing now, that were never
 * used before, or that no one used for a while, counted to the time of each snapshot. A token may be in several.
 *
 * @param idleFor In milliseconds: for how long an idle token was not used, or if never, for how long it exists.
 */
export function compareTokens(before: Side, after: Side, idleFor: number): readonly ChangedToken[] {
  const earlier = new Map(before.tokens.map((token) => [token.id, token]));
  const isIdle = ({ at }: Side, { lastUsed, created }: SnapshotToken) =>
    lastUsed !== undefined && at.getTime() - Date.parse(lastUsed ?? created) >= idleFor;
  const changed: ChangedToken[] = [];
  for (const token of after.tokens) {
    const known = earlier.get(token.id);
    // An id that belongs to another token now: the old one is gone.
    const same = known?.created === token.created ? known : undefined;
    if (same !== undefined) earlier.delete(token.id);
    const is: Readonly<Record<Exclude<TokenChange, 'gone'>, boolean>> = {
      new: same === undefined,
      widened: same !== undefined && !allowsWriting(same) && allowsWriting(token),
      newly_used: same?.lastUsed === null && typeof token.lastUsed === 'string',
      newly_idle: isIdle(after, token) && same?.lastUsed !== undefined && !isIdle(before, same),
    };
    for (const change of CHANGES) if (change !== 'gone' && is[change]) changed.push({ change, token });
  }
  return [...changed, ...Array.from(earlier.values(), (token) => ({ change: 'gone', token }) as const)];
}

/** In the order in which they are told. */
export const CHANGES: readonly TokenChange[] = ['new', 'gone', 'widened', 'newly_used', 'newly_idle'];
