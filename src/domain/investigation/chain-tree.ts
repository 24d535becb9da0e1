import type { ChainLink, InvestigationItem } from './investigation.ts';

/** A user of the chain, or something that a user did, with its descendants. */
export interface ChainBranch {
  readonly of: ChainLink | InvestigationItem;
  readonly children: readonly ChainBranch[];
  /** The number of the user's items that were omitted. */
  readonly more: number;
}

/**
 * The tree of who created what: below each user of the chain its actions, the stolen token first; below a
 * created user, that user's actions. A user whose item was omitted is placed below its creator.
 * @param options.most The maximum numbers of users and items in the tree, and per user; users without a
 * parent are always drawn.
 */
export function chainTree(
  chain: readonly ChainLink[],
  items: readonly InvestigationItem[],
  options: { readonly stolen: ReadonlySet<string>; readonly most: number; readonly mostOfUser: number },
): readonly ChainBranch[] {
  const { stolen, most, mostOfUser } = options;
  const byUser = Map.groupBy(items, ({ by }) => by[0]?.username);
  const drawn = new Set<ChainLink>();
  let left = most;
  const usersOf = (is: (link: ChainLink) => boolean) =>
    chain.filter(is).flatMap((link) => (drawn.has(link) ? [] : branchOf(link)));
  const branchOf = (of: ChainLink): ChainBranch => {
    drawn.add(of);
    left -= 1;
    const { username } = of.user;
    const mine = (byUser.get(username) ?? []).toSorted(
      (one, other) => Number(stolen.has(other.id)) - Number(stolen.has(one.id)),
    );
    const shown = mine.slice(0, Math.max(0, Math.min(mostOfUser, left)));
    left -= shown.length;
    const made = shown.map((item) => ({
      ...{ of: item, more: 0 },
      children: usersOf(({ through }) => through === item.id),
    }));
    const ids = new Set<string | null>(shown.map(({ id }) => id));
    const others = usersOf(({ by, through }) => by?.username === username && !ids.has(through));
    return { of, children: [...made, ...others], more: mine.length - shown.length };
  };
  return [...usersOf(({ how }) => how === 'subject'), ...usersOf(() => true)];
}
