import type {
  ChainLink,
  Investigation,
  InvestigationItem,
} from '../../domain/investigation/investigation.ts';
import type { ItemMark } from '../journal/marked-items.ts';

/** Something that an investigation found, and that counts as the owner's own work, not as the intruder's. */
export interface OwnWork {
  readonly item: InvestigationItem;
  /**
   * `before`: its last entry is from before the theft began; `before_token`: from before the stolen token was made; `marked`: a person
   * marked it as legitimate.
   */
  readonly why: 'before' | 'before_token' | 'marked';
  /** Who marked it, and when; null for what was done before. */
  readonly mark: ItemMark | null;
  /** The stolen token, and when it was made (RFC 3339); null for another reason. */
  readonly token: { readonly id: number; readonly madeAt: string } | null;
}

/** When the theft began at the earliest, and who says so. */
export interface TheftBegan {
  /** RFC 3339. */
  readonly at: string;
  /** The run of the cleaning that was confirmed with it; null if the report was asked with it, or it is the stolen token's. */
  readonly run: string | null;
  /** The stolen token that was made then, by the last investigation; absent where that does not say it. */
  readonly token?: number;
}

/**
 * When the theft began, by the stolen token where the last investigation is about one, and no other account
 * was investigated: nothing was done with it before it was made. `confirmed` is when a cleaning was confirmed
 * to begin.
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
 * Takes the owner's own work out of investigations, in the order in which they were made: what is marked as
 * legitimate, and what ended before the theft began. What reaches into the theft stays the intruder's.
 * Returns the own work as the last investigation that has it found it.
 */
export function withoutOwnWork(
  investigations: readonly Investigation[],
  known: { readonly marks: ReadonlyMap<string, ItemMark>; readonly began: TheftBegan | null },
): { readonly investigations: readonly Investigation[]; readonly own: readonly OwnWork[] } {
  const began = known.began === null ? null : Date.parse(known.began.at);
  // As the last investigation has it: an earlier one may have seen less of what was done to it.
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
 * What investigations of stolen tokens set apart, as the last one of each has it. What an investigation of something else takes for the
 * intruder's stays the intruder's.
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

/** A user who is the owner's own work, and of whom nothing else was found, is no one through whom the intruder acted. */
function withoutOwnUsers(
  chain: readonly ChainLink[],
  { items, own }: { items: readonly InvestigationItem[]; own: ReadonlyMap<string, OwnWork> },
): readonly ChainLink[] {
  const acted = new Set(items.flatMap(({ by }) => by.map(({ username }) => username)));
  return chain.filter(
    ({ user, through }) => through === null || !own.has(through) || acted.has(user.username),
  );
}
