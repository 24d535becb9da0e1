/** The calendar of expiries, also in the reports, drawn from the same numbers. */

import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useSyncExternalStore } from 'react';
import type { CalendarPicture } from '../../../reports/audit/charts.ts';

/** The days of the coming year, darker if more tokens expire. */
export function Calendar({ picture }: { picture: CalendarPicture }): ReactNode {
  const isNarrow = useNarrow();
  const { days, outside } = picture;
  const busiest = days.reduce((most, each) => (each.tokens > most.tokens ? each : most));
  const coming = days.reduce((sum, { tokens }) => sum + tokens, 0);
  const others = [
    [outside.expired, 'expired'],
    [outside.later, 'later'],
    [outside.never, 'never'],
  ] as const;
  const rest = others
    .flatMap(([count, when]) => (count === 0 ? [] : `${numberText(count)} ${when}`))
    .join(', ');
  if (coming === 0) {
    return (
      <p className="calendar">No token expires in the coming year.{rest !== '' && ` Others: ${rest}.`}</p>
    );
  }
  const most = busiest.tokens === 0 ? '' : `, ${numberText(busiest.tokens)} of them on ${busiest.day}`;
  return (
    <details className="calendar">
      <summary>Expiries by day: {numberText(coming)} in the coming year</summary>
      <figure>
        <div role="img" aria-label={`Expiries in the coming year: ${countText(coming, 'token')}${most}`}>
          {stretchesOf(picture, isNarrow ? WEEKS_OF_NARROW : Number.POSITIVE_INFINITY).map((stretch) => (
            <Stretch key={stretch.from} picture={picture} stretch={stretch} />
          ))}
        </div>
        <figcaption>Days are in UTC.{rest !== '' && ` Others: ${rest}.`}</figcaption>
      </figure>
    </details>
  );
}

/** In a narrow window, the year is drawn in sections of this many weeks, so that days are distinguishable. */
const WEEKS_OF_NARROW = 18;
const narrow = matchMedia('(max-width: 47.99rem)');

function useNarrow(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      narrow.addEventListener('change', onChange);
      return () => narrow.removeEventListener('change', onChange);
    },
    () => narrow.matches,
  );
}

/** Weeks drawn next to each other, from the first to before the end, in the picture's units. */
interface WeekStretch {
  readonly from: number;
  readonly to: number;
  /** The width of this section's picture, including the weekday names. */
  readonly width: number;
  /** How far its days are shifted towards the weekday names. */
  readonly shift: number;
}

function stretchesOf({ days, width }: CalendarPicture, most: number): readonly WeekStretch[] {
  const weeks = [...new Set(days.map(({ x }) => x))];
  const [left = 0, second = 0] = weeks;
  const stretches: WeekStretch[] = [];
  for (let first = 0; first < weeks.length; first += most) {
    const from = weeks[first] ?? 0;
    const to = weeks[first + most] ?? width;
    // All have the same width, so that squares have the same size in the last, possibly shorter one.
    const own = Number.isFinite(most) ? left + most * (second - left) : width;
    stretches.push({ from, to, width: own, shift: from - left });
  }
  return stretches;
}

function Stretch(props: { readonly picture: CalendarPicture; readonly stretch: WeekStretch }): ReactNode {
  const { height, daySize, days, labels } = props.picture;
  const { from, to, width, shift } = props.stretch;
  const isIn = ({ x }: { x: number }) => from <= x && x < to;
  const weekdays = labels.filter(({ x }) => x === 0);
  return (
    <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {weekdays.map(({ x, y, text }) => (
        <text key={y} x={x} y={y}>
          {text}
        </text>
      ))}
      <g transform={`translate(${-shift} 0)`}>
        {labels.filter(isIn).map(({ x, y, text }) => (
          <text key={x} x={x} y={y}>
            {text}
          </text>
        ))}
        {days.filter(isIn).map(({ x, y, level, day, tokens }) => (
          <rect key={day} fill={`var(--level${level})`} x={x} y={y} width={daySize} height={daySize} rx="2">
            <title>{`${day}: ${numberText(tokens)}`}</title>
          </rect>
        ))}
      </g>
    </svg>
  );
}
