import type { Activity } from './token.ts';

/** Consecutive requests with one token that a gateway recorded as changes of the token. */
export interface RecordedUses {
  readonly tokenId: number;
  readonly count: number;
  readonly first: Date;
  readonly last: Date;
}

/** What a gateway does to a token's scope while it checks a request [seen on all three layouts]. */
const BEFORE = 'write';
const DURING = 'write read';

/**
 * The token of an entry that no user caused: a gateway records each request with a token of the scope `write`
 * as a change of that token to `write read`, which the table does not keep. Such an entry is a use of the
 * token.
 * @returns Null for any other entry.
 */
export function usedToken({
  operation,
  object,
  changes,
}: Pick<Activity, 'operation' | 'object' | 'changes'>): number | null {
  const { id, scope, ...others } = changes;
  if (operation !== 'update' || object !== 'o_auth2_access_token' || typeof id !== 'number') return null;
  if (!Array.isArray(scope) || scope.length !== 2 || Object.keys(others).length > 0) return null;
  return scope[0] === BEFORE && scope[1] === DURING ? id : null;
}

/**
 * Merges the uses in entries, in order: consecutive uses of one token become one. Entries of several tokens
 * that are used at the same time do not separate each other.
 */
export function foldUses(entries: Iterable<Activity>): readonly (Activity | RecordedUses)[] {
  const folded: (Activity | RecordedUses)[] = [];
  const open = new Map<number, number>();
  for (const entry of entries) {
    const tokenId = usedToken(entry);
    if (tokenId === null) {
      open.clear();
      folded.push(entry);
      continue;
    }
    const index = open.get(tokenId);
    if (index === undefined) {
      open.set(tokenId, folded.length);
      folded.push({ tokenId, count: 1, first: entry.at, last: entry.at });
    } else {
      const uses = folded[index] as RecordedUses;
      folded[index] = { ...uses, count: uses.count + 1, last: entry.at };
    }
  }
  return folded;
}

/** Whether a member of {@link foldUses} is a group of uses. */
export function isUses(each: Activity | RecordedUses): each is RecordedUses {
  return 'count' in each;
}
