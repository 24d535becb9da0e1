import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import type { Token } from './token.ts';

/** A token in a snapshot: the compared fields. Times are RFC 3339. */
export interface SnapshotToken {
  readonly id: number;
  readonly user: Token['user'];
  /** The name; null for a personal access token. */
  readonly application: string | null;
  readonly scope: string;
  readonly description: string;
  readonly created: string;
  readonly expires: string;
  /** Null for never; missing if the target does not show it. */
  readonly lastUsed?: string | null;
}

export type TokenChange = 'new' | 'gone' | 'widened' | 'newly_used' | 'newly_idle';

/** A changed token in its current, or last known, state. */
export interface ChangedToken {
  readonly change: TokenChange;
  readonly token: SnapshotToken;
}

interface Side {
  /** When it was taken, by the controller's clock. */
  readonly at: Date;
  readonly tokens: readonly SnapshotToken[];
}

/**
 * The changes between two snapshots: tokens that are new or gone, whose scope now also allows writing, that
 * were never used before, or that became idle, as of each snapshot's time. A token may be in several.
 * @param idleFor In milliseconds: how long an idle token was not used, or has existed if it was never used.
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

/** In the order of display. */
export const CHANGES: readonly TokenChange[] = ['new', 'gone', 'widened', 'newly_used', 'newly_idle'];
