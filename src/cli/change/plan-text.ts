import { someOf } from '@tokenctl/common/text.ts';
import { standbyText } from '../../domain/claims.ts';
import type { Tally } from '../../domain/plan.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type { Line, Part } from '../../reports/document.ts';
import { countText, printable } from '../../reports/tables/text.ts';

type Place = Pick<TargetDescription, 'address' | 'context' | 'identity' | 'standby'>;

/** The place where a plan would be carried out. */
export function placeText(description: Place): string {
  const { address, context, identity } = description;
  const standby = standbyText(description);
  return `At ${address} (context ${context}, as ${identity.username}).${standby === null ? '' : ` ${standby}.`}`;
}

/** The same as a line. Console pages show only the context's name, because they have its address. */
export function placeLine(description: Place): Line {
  const standby = standbyText(description);
  return {
    text: placeText(description),
    usual: standby === null,
    inConsole: standby === null ? '' : `${standby}.`,
  };
}

const MAX_TALLY_LINES = 5;

/** The largest counts of a tally, and the sum of the rest. */
export function tally(by: string, tallies: readonly Tally[], unit = 'token'): Part {
  const rest = tallies.slice(MAX_TALLY_LINES);
  const left = rest.reduce((total, { count }) => total + count, 0);
  return {
    kind: 'counts',
    title: `By ${by}`,
    counts: tallies.slice(0, MAX_TALLY_LINES).map(({ name, count }) => [count, name]),
    rest:
      rest.length === 0
        ? undefined
        : `and ${countText(rest.length, 'more', 'more')} with ${countText(left, unit)}`,
  };
}

/** The first ten ids, and the number of the rest. */
export function idsText(ids: readonly number[]): string {
  return someOf(ids, 10);
}

/** The answer that repeats a name; another one for a name that is displayed escaped or cannot be typed. */
export function typedName(name: string, other: number | string): string {
  return printable.value(name) === name.trim() ? name.trim() : String(other);
}
