import { type Investigation, type InvestigationItem, isStillThere } from './investigation.ts';
import { LISTED_KINDS } from './kinds.ts';

/** The needed facts of a subject's last investigation. */
type LastInvestigation = Pick<
  Investigation,
  'items' | 'madeAt' | 'chain' | 'since' | 'until' | 'visibility' | 'stream'
>;

/** Kinds that are listed by creator: an object missing from its list was deleted. */
const LISTED_BY_MAKER: ReadonlySet<string> = new Set([
  ...['o_auth2_access_token', 'role_user_assignment', 'role_team_assignment', ...Object.keys(LISTED_KINDS)],
]);

/**
 * The items of earlier investigations of a subject that the last one does not name. The stream drops the id
 * of an object that was deleted since: the last investigation then has the same entries without an object.
 * Roles and links of a deleted object are deleted with it. Objects missing from the stream are listed by
 * creator. All other remaining items are unknown: the last investigation may cover a shorter time, or the
 * stream may be truncated.
 */
export function notNamed(
  earlier: readonly InvestigationItem[],
  last: LastInvestigation,
): readonly InvestigationItem[] {
  const lost = new Set(last.items.filter(({ object }) => object.id === null).flatMap((each) => each.entries));
  const now = new Set(last.items.map(({ id }) => id));
  const gone = new Set(
    last.items.flatMap(({ id, state, other, role }) =>
      state === 'gone' && other === null && role === null ? [id] : [],
    ),
  );
  const isGone = (item: InvestigationItem): boolean =>
    item.entries.some((entry) => lost.has(entry)) ||
    ((item.role !== null || item.other !== null) &&
      [item.object, item.other].some((each) => each !== null && gone.has(`${each.kind}:${each.id}`))) ||
    isMissingInList(item, last);
  const stateReason = `Not checked: the investigation at ${last.madeAt} does not include it`;
  return earlier
    .filter(({ id }) => !now.has(id))
    .map((item): InvestigationItem => {
      if (!isStillThere(item)) return item;
      return isGone(item)
        ? { ...item, state: 'gone', stateReason: null }
        : { ...item, state: 'unknown', stateReason };
    });
}

/** Whether the last investigation's lists, by existing users, would contain an item if it existed. */
function isMissingInList(
  { object, entries, by, first }: InvestigationItem,
  { chain, since, until, visibility, stream }: LastInvestigation,
): boolean {
  if (entries.length > 0 || visibility.kind !== 'all') return false;
  // All users created in the period are listed, except those older than the oldest entry.
  if (object.kind === 'user' && by.length === 0)
    return since <= first && first < until && stream.oldest !== null && stream.oldest <= first;
  return (
    LISTED_BY_MAKER.has(object.kind) &&
    by.length > 0 &&
    by.every(({ id }) =>
      chain.some(
        (member) =>
          id !== null &&
          member.user.id === id &&
          member.exists === true &&
          member.since <= first &&
          first < until,
      ),
    ) &&
    since <= first
  );
}
