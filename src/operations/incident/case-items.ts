import {
  type Investigation,
  type InvestigationItem,
  isStillThere,
  isStolenToken,
} from '../../domain/investigation/investigation.ts';
import type { ItemMark, Marks } from '../journal/marked-items.ts';
import type { OwnAct } from '../journal/own-acts.ts';

/** What the audit log says about the items of an incident. */
export interface KnownItems {
  readonly marks: Marks;
  /** When a cleaning verified that an item no longer exists, by item id. */
  readonly verified: ReadonlyMap<string, string>;
  readonly ownActs: readonly OwnAct[];
  /** Actions of any run for which investigations have entries without an actor: not the intruder's. */
  readonly provenActs: readonly OwnAct[];
}

export const NOTHING_KNOWN: KnownItems = {
  marks: { legitimate: new Map(), byHand: new Map(), handedOver: new Map() },
  verified: new Map(),
  ownActs: [],
  provenActs: [],
};

/**
 * The current state of an item, each counted once: still there or not checked; found again after a person
 * marked it as resolved manually; resolved manually since; handed over; marked as legitimate; cleaned and
 * verified since; or gone, undone or finished. A stolen token that is gone has none of these.
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

/** An item of an investigation with its later history. */
export interface CaseItem {
  readonly item: InvestigationItem;
  readonly fate: ItemFate;
  /** The marks that people gave it, whatever its fate is. */
  readonly said: {
    readonly legitimate: ItemMark | null;
    readonly byHand: ItemMark | null;
    readonly handedOver: ItemMark | null;
  };
  /**
   * When a cleaning verified that it is gone; null if never, or a later investigation found or skipped it.
   */
  readonly cleanedAt: string | null;
  /** Whether the theft began with it. */
  readonly isStolen: boolean;
}

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

/** Whether an item still has to be cleaned, marked or resolved manually. */
export function isOpen({ fate }: Pick<CaseItem, 'fate'>): boolean {
  return fate === 'remains' || fate === 'seen_again';
}
