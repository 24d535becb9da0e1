import type { Runtime } from '../../app/runtime.ts';
import { markItems } from '../../operations/incident/marked-items.ts';
import { lines, list } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import type { MarkFlags } from './investigation-flags.ts';

/** What `incident mark` prints with `--json`. */
export interface IncidentMarkJson {
  readonly incident: string;
  /** The ids of the items that were named. */
  readonly items: readonly string[];
  /** Whether they are marked as honest work now; false with --by-hand. */
  readonly honest: boolean;
  /** Whether they are marked as dealt with by hand now. */
  readonly byHand: boolean;
  /** The ids of those whose mark changed. */
  readonly changed: readonly string[];
}

/**
 * Marks items of an incident's investigations as honest work or as dealt with by hand, or takes that back.
 *
 * @throws TokenctlError as `markItems`.
 */
export async function markFlow(request: {
  readonly runtime: Runtime;
  readonly incident: string;
  readonly flags: MarkFlags;
}): Promise<Report<IncidentMarkJson>> {
  const { runtime, flags } = request;
  const { item: items, undo = false, 'by-hand': isByHand = false } = flags;
  const { target: _target, ...change } = await runtime.change(flags);
  const { incident, changed } = await markItems({
    ...change,
    incident: request.incident,
    items,
    as: isByHand ? 'by_hand' : 'honest',
    isMarked: !undo,
  });
  const what = countText(changed.length, 'item');
  const said = undo
    ? `Took the mark back from ${what}`
    : `Marked ${what} as ${isByHand ? 'dealt with by hand' : 'honest work'}`;
  const note = isByHand ? '. That was not checked: the next investigation does' : '. A cleaning leaves them';
  return report({
    json: { incident, items, honest: !undo && !isByHand, byHand: !undo && isByHand, changed },
    document: [
      lines(
        changed.length === 0
          ? `Nothing to do: ${undo ? 'none is' : 'all are'} marked for ${incident}.`
          : `${said} for ${incident}${undo ? '' : note}:`,
        list(...changed),
      ),
    ],
  });
}
