import {
  type Investigation,
  type InvestigationItem,
  isStillThere,
  isStolenToken,
} from '../../domain/investigation/investigation.ts';
import type { ItemMark, Marks } from '../journal/marked-items.ts';
import type { OwnAct } from '../journal/own-acts.ts';

/** What the audit log has of the items of an incident. */
export interface KnownItems {
  /** What people said of them. */
  readonly marks: Marks;
  /** When a cleaning verified that an item does not remain, by the ids. */
  readonly verified: ReadonlyMap<string, string>;
  /** What the runs that belong to the incident did. */
  readonly ownActs: readonly OwnAct[];
  /** What any run did, of which the investigations have the entries without an actor: these are not the intruder's. */
  readonly provenActs: readonly OwnAct[];
}

/** Without an incident, no one has said anything of an item. */
export const NOTHING_KNOWN: KnownItems = {
  marks: { legitimate: new Map(), byHand: new Map(), handedOver: new Map() },
  verified: new Map(),
  ownActs: [],
  provenActs: [],
};

/**
 * What an item is now, each counted once: there still or not checked, found again after someone said to have dealt with it by hand,
 * dealt with by hand since as a person says, left to others, marked as legitimate, cleaned and verified since, or gone, undone or
 * finished. The stolen token is none of these once it is gone.
 */
export type ItemFate =
  | 'remains'
  | 'seen_again'
  | 'by_hand'
  | 'handed_over'
  | 'legitimate'
  | 'cleaned'
  | 'over'
  | 'stolen';

/** An item of an investigation with what is known of it since. */
export interface CaseItem {
  readonly item: InvestigationItem;
  readonly fate: ItemFate;
  /** What people said of it, whatever its fate is. */
  readonly said: {
    readonly legitimate: ItemMark | null;
    readonly byHand: ItemMark | null;
    readonly handedOver: ItemMark | null;
  };
  /** When a cleaning verified that it does not remain; null if none did, or an investigation after it found the item or did not check it. */
  readonly cleanedAt: string | null;
  /** Whether the theft began with it. */
  readonly isStolen: boolean;
}

/** The items of an investigation, in its order, each with its fate. */
export function caseItems(
  of: Pick<Investigation, 'items' | 'madeAt' | 'subject'>,
  { marks, verified }: Pick<KnownItems, 'marks' | 'verified'>,
): readonly CaseItem[] {
  const madeAt = Date.parse(of.madeAt);
  return of.items.map((item) => {
    const { id } = item;
    const at = verified.get(id) ?? null;
    const known = {
      item,
      said: {
        legitimate: marks.legitimate.get(id) ?? null,
        byHand: marks.byHand.get(id) ?? null,
        handedOver: marks.handedOver.get(id) ?? null,
      },
      cleanedAt: at !== null && (!isStillThere(item) || Date.parse(at) > madeAt) ? at : null,
      isStolen: isStolenToken(item, of),
    };
    return { ...known, fate: fateOf(known, madeAt) };
  });
}

function fateOf({ item, said, cleanedAt, isStolen }: Omit<CaseItem, 'fate'>, madeAt: number): ItemFate {
  const isThere = isStillThere(item);
  if (isStolen && (!isThere || cleanedAt !== null)) return 'stolen';
  if (cleanedAt !== null) return 'cleaned';
  if (said.legitimate !== null) return 'legitimate';
  if (!isThere) return 'over';
  if (said.handedOver !== null) return 'handed_over';
  if (said.byHand === null) return 'remains';
  return Date.parse(said.byHand.at) >= madeAt ? 'by_hand' : 'seen_again';
}

/** Whether an item is to be cleaned, marked or resolved manually. */
export function isOpen({ fate }: Pick<CaseItem, 'fate'>): boolean {
  return fate === 'remains' || fate === 'seen_again';
}
