import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { type MarkKind, markItems } from '../../operations/journal/marked-items.ts';
import { lines, list } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import type { MarkFlags } from './investigation-flags.ts';

/** What `incident mark` prints with `--json`. */
export interface IncidentMarkJson {
  readonly incident: string;
  /** The ids of the named items. */
  readonly items: readonly string[];
  /** Whether they are marked as legitimate now; false with --by-hand and --handed-over. */
  readonly legitimate: boolean;
  /** Whether they are marked as resolved manually now. */
  readonly byHand: boolean;
  /** Who decides about them now; null if they are not reassigned. */
  readonly handedOver: string | null;
  /** The ids of items whose mark changed. */
  readonly changed: readonly string[];
}

/**
 * Marks items of an incident's investigations as legitimate, as resolved manually or as reassigned, or
 * removes the mark. Throws `usage` for a reassignment without a name or a reason, and as `markItems`.
 */
export async function markFlow(request: {
  runtime: Runtime;
  incident: string;
  flags: MarkFlags;
}): Promise<Report<IncidentMarkJson>> {
  const { runtime, flags } = request;
  const { item: items, undo = false } = flags;
  const as = flags['by-hand'] ? 'by_hand' : flags['handed-over'] ? 'handed_over' : 'legitimate';
  const to = as === 'handed_over' && !undo ? requireReceiver(flags) : undefined;
  const { target: _target, ...change } = await runtime.change(flags);
  const { incident, changed } = await markItems({
    ...change,
    ...{ incident: request.incident, items, as, to },
    isMarked: !undo,
  });
  const what = countText(changed.length, 'item');
  const [done, note] = SAID[as];
  const said = undo ? `Removed the mark from ${what}` : done(what, to ?? '');
  return report({
    json: {
      ...{ incident, items, changed },
      legitimate: !undo && as === 'legitimate',
      byHand: !undo && as === 'by_hand',
      handedOver: to ?? null,
    },
    document: [
      lines(
        changed.length === 0
          ? `Nothing to do: ${undo ? 'none is' : 'all are'} marked for ${incident}.`
          : `${said} for ${incident}${undo ? '' : `. ${note}`}:`,
        list(...changed),
      ),
    ],
  });
}

/** The message of each mark, and its consequence. */
const SAID: Readonly<Record<MarkKind, readonly [said: (what: string, to: string) => string, note: string]>> =
  {
    legitimate: [(what) => `Marked ${what} as legitimate`, 'Cleanups skip them'],
    by_hand: [
      (what) => `Marked ${what} as resolved manually`,
      'This was not checked. The next investigation checks it',
    ],
    handed_over: [
      (what, to) => `Reassigned ${what} to ${to}`,
      'They are not notified. Tell them yourself. Cleanups skip the items, and the report lists them',
    ],
  };

const MAX_NAME = 200;

/** The recipient of a reassignment, who must be known along with the reason, so that others can ask. */
function requireReceiver({ to = '', reason = '' }: MarkFlags): string {
  const missing = [...(to.trim() === '' ? ['--to'] : []), ...(reason.trim() === '' ? ['--reason'] : [])];
  if (missing.length > 0) {
    throw new TokenctlError('usage', `--handed-over requires ${missing.join(' and ')}`, {
      hint: 'Specify who decides about the items, and why.',
    });
  }
  if (to.trim().length <= MAX_NAME) return to.trim();
  throw new TokenctlError('usage', `The name of --to has more than ${MAX_NAME} characters`, {
    hint: 'Name a person or a team, and put details in --reason.',
  });
}
