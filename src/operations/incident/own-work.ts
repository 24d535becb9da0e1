import type {
  ChainLink,
  Investigation,
  InvestigationItem,
} from '../../domain/investigation/investigation.ts';
import type { ItemMark } from '../journal/marked-items.ts';

/** A finding of an investigation that counts as the owner's own work, not the intruder's. */
export interface OwnWork {
  readonly item: InvestigationItem;
  /**
   * `before`: its last entry is from before the theft began; `before_token`: from before the stolen token was
   * created; `marked`: a person marked it as legitimate.
   */
  readonly why: 'before' | 'before_token' | 'marked';
  /** Who marked it, and when; null for earlier work. */
  readonly mark: ItemMark | null;
  /** The stolen token, and when it was created (RFC 3339); null for another reason. */
  readonly token: { readonly id: number; readonly madeAt: string } | null;
}

/** The earliest start of the theft, and its source. */
export interface TheftBegan {
  /** RFC 3339. */
  readonly at: string;
  /** The run of the cleaning confirmed with it; null if given for the report, or from the stolen token. */
  readonly run: string | null;
  /** The stolen token created at that time, by the last investigation; absent if that does not name it. */
  readonly token?: number;
}

/**
 * When the theft began: at the creation of the stolen token if the last investigation is about one and no
 * other account was investigated, as nothing was done with a token before it existed. `confirmed` is the
 * start that a cleaning was confirmed with.
 */
export function beganWith(
  investigations: readonly Investigation[],
  confirmed: TheftBegan | null,
): TheftBegan | null {
  const last = investigations.at(-1);
  if (last === undefined || last.subject.kind !== 'token') return confirmed;
  const { id, user } = last.subject;
  const isOnly = investigations.every(
    ({ subject }) =>
      (subject.kind === 'token' && subject.user === user) ||
      (subject.kind === 'user' && subject.name === user),
  );
  const at = last.chain.find(({ how }) => how === 'subject')?.since ?? last.since;
  const isLater = confirmed === null || Date.parse(at) >= Date.parse(confirmed.at);
  return isOnly && isLater ? { at, run: null, token: id } : confirmed;
}

/**
 * Removes the owner's own work from investigations, in the order they were made: items marked as legitimate,
 * and items that ended before the theft began. Items that continue into the theft stay the intruder's.
 * Returns the owner's work as the last investigation with each item found it.
 */
export function withoutOwnWork(
  investigations: readonly Investigation[],
  known: { readonly marks: ReadonlyMap<string, ItemMark>; readonly began: TheftBegan | null },
): { readonly investigations: readonly Investigation[]; readonly own: readonly OwnWork[] } {
  const began = known.began === null ? null : Date.parse(known.began.at);
  // Uses the last investigation of an item: an earlier one may have seen fewer changes to it.
  const lasts = new Map<string, number>();
  for (const { items } of investigations) for (const { id, last } of items) lasts.set(id, Date.parse(last));
  const token = known.began?.token === undefined ? null : { id: known.began.token, madeAt: known.began.at };
  const own = new Map<string, OwnWork>();
  const ownOf = (item: InvestigationItem): OwnWork | null => {
    const mark = known.marks.get(item.id) ?? null;
    if (mark !== null) return { item, why: 'marked', mark, token: null };
    const last = lasts.get(item.id) ?? Date.parse(item.last);
    if (began === null || last >= began) return null;
    return { item, why: token === null ? 'before' : 'before_token', mark: null, token };
  };
  const others = investigations.map((investigation) => {
    const items = investigation.items.filter((item) => {
      const work = ownOf(item);
      if (work !== null) own.set(item.id, work);
      return work === null;
    });
    return { ...investigation, items, chain: withoutOwnUsers(investigation.chain, { items, own }) };
  });
  for (const work of beforeTokens(others, known.marks)) {
    if (!own.has(work.item.id)) own.set(work.item.id, work);
  }
  return { investigations: others, own: [...own.values()] };
}

/**
 * Items that investigations of stolen tokens exclude, as of the last one of each token. An item that another
 * investigation attributes to the intruder stays the intruder's.
 */
function beforeTokens(investigations: readonly Investigation[], marks: ReadonlyMap<string, ItemMark>) {
  return investigations.flatMap((each) => {
    const { subject, beforeToken } = each;
    if (subject.kind !== 'token' || beforeToken === undefined) return [];
    const token = { id: subject.id, madeAt: beforeToken.madeAt };
    const isSame = (other: Investigation) => other.subject.kind === 'token' && other.subject.id === token.id;
    if (investigations.findLast(isSame) !== each) return [];
    const accused = new Set(
      investigations.filter((other) => !isSame(other)).flatMap(({ items }) => items.map(({ id }) => id)),
    );
    return beforeToken.items
      .filter(({ id }) => !accused.has(id))
      .map((item): OwnWork => {
        const mark = marks.get(item.id) ?? null;
        return mark === null
          ? { item, why: 'before_token', mark, token }
          : { item, why: 'marked', mark, token: null };
      });
  });
}

/** A user who is the owner's own work, with no other findings, is not an account that the intruder used. */
function withoutOwnUsers(
  chain: readonly ChainLink[],
  { items, own }: { items: readonly InvestigationItem[]; own: ReadonlyMap<string, OwnWork> },
): readonly ChainLink[] {
  const acted = new Set(items.flatMap(({ by }) => by.map(({ username }) => username)));
  return chain.filter(
    ({ user, through }) => through === null || !own.has(through) || acted.has(user.username),
  );
}
