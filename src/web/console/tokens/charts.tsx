/** Charts with selectable parts. */

import { type KeyboardEvent, type ReactNode, useState } from 'react';
import { Bar, ChartTitle } from '../parts.tsx';

/** The first and the last bar of a range. */
type Range = readonly [number, number];

/**
 * Bars over time with a selectable range: by dragging over them, or with Shift and the arrow keys. Selecting
 * it again clears it, as does Escape.
 */
export function Histogram(props: {
  readonly title: string;
  /** What the bars count, in the plural. */
  readonly unit: string;
  readonly bars: readonly { readonly label: string; readonly count: number }[];
  readonly chosen: Range | null;
  readonly onChoose: (range: Range | null) => void;
}): ReactNode {
  const { title, unit, bars, chosen, onChoose } = props;
  const [drag, setDrag] = useState<Range | null>(null);
  const shown = drag === null ? chosen : ordered(drag);
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const choose = (range: Range) => {
    const isSame = chosen !== null && chosen[0] === range[0] && chosen[1] === range[1];
    onChoose(isSame ? null : range);
  };
  const end = () => {
    if (drag !== null) choose(ordered(drag));
    setDrag(null);
  };
  const onKey = (event: KeyboardEvent<HTMLElement>, index: number) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') return onChoose(null);
    if (step === undefined) return;
    event.preventDefault();
    const next = index + step;
    if (next < 0 || next >= bars.length) return;
    const list = event.currentTarget.closest('ul');
    list?.querySelectorAll('button')[next]?.focus();
    if (!event.shiftKey) return;
    // The range is extended from its other end.
    const [first, last] = chosen?.includes(index) ? chosen : [index, index];
    onChoose(ordered([index === first ? last : first, next]));
  };
  if (bars.length === 0) return null;
  return (
    <section className="bars" aria-label={title}>
      <ChartTitle title={title} unit={unit} />
      <ul title="Drag, or use Shift and the arrow keys, to select a range" onPointerLeave={end}>
        {bars.map(({ label, count }, index) => (
          <li key={label}>
            <button
              type="button"
              className="bar-row"
              aria-pressed={shown !== null && shown[0] <= index && index <= shown[1]}
              onPointerDown={(event) => {
                if (event.button !== 0) return;
                event.currentTarget.releasePointerCapture(event.pointerId);
                setDrag([index, index]);
              }}
              onPointerEnter={() => drag !== null && setDrag([drag[0], index])}
              onPointerUp={end}
              onPointerCancel={() => setDrag(null)}
              // A pointer has already chosen; this is for the keyboard.
              onClick={({ detail }) => detail === 0 && choose([index, index])}
              onKeyDown={(event) => onKey(event, index)}
            >
              <Bar label={label} count={count} unit={unit} width={(100 * count) / most} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function ordered([one, other]: Range): Range {
  return one <= other ? [one, other] : [other, one];
}
