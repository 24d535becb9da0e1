import type { EntryDraft, Head } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { type Link, linkEntry } from './chain.ts';

/** Where a chain stands: its head, and the intents that are open. */
export interface ChainState {
  readonly head: Head;
  readonly open: readonly number[];
}

/** What became of a draft: linked, or refused because JSON cannot hold it. */
export type Linked = Link | { readonly unfit: unknown };

/**
 * Links several drafts to a chain, one behind the other. One that JSON cannot hold is left out, and the
 * others stand without it.
 *
 * @returns What became of each draft, in their order, and where the chain stands after them.
 */
export function linkGroup(
  drafts: readonly EntryDraft[],
  { state, clock }: { readonly state: ChainState; readonly clock: Clock },
): { readonly links: readonly Linked[]; readonly state: ChainState } {
  let { head, open } = state;
  const links = drafts.map((draft): Linked => {
    try {
      const link = linkEntry(draft, { head, open, at: clock.now() });
      ({ head } = link);
      ({ open } = link.entry);
      return link;
    } catch (unfit) {
      return { unfit };
    }
  });
  return { links, state: { head, open } };
}
