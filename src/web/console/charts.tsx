/** Charts that the reports have as well, drawn from the same numbers. */
import type { ReactNode } from 'react';
import { number } from './parts.tsx';

/** A calendar of expiries, as the report has it. */
export interface CalendarPicture {
  readonly width: number;
  readonly height: number;
  readonly daySize: number;
  readonly days: readonly {
    readonly x: number;
    readonly y: number;
    readonly level: number;
    readonly day: string;
    readonly tokens: number;
  }[];
  readonly labels: readonly { readonly x: number; readonly y: number; readonly text: string }[];
  readonly outside: { readonly expired: number; readonly later: number; readonly never: number };
}

/** The days of the coming year, the darker the more tokens expire on a day. */
export function Calendar({ picture }: { readonly picture: CalendarPicture }): ReactNode {
  const { width, height, daySize, days, labels, outside } = picture;
  const busiest = days.reduce((most, each) => (each.tokens > most.tokens ? each : most));
  const coming = days.reduce((sum, { tokens }) => sum + tokens, 0);
  const most = busiest.tokens === 0 ? '' : `, ${number(busiest.tokens)} of them on ${busiest.day}`;
  return (
    <figure className="calendar">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Expiries in the coming year: ${number(coming)}${most}`}
      >
        {labels.map(({ x, y, text }) => (
          <text key={`${x} ${y}`} x={x} y={y}>
            {text}
          </text>
        ))}
        {days.map(({ x, y, level, day, tokens }) => (
          <rect key={day} className={`level${level}`} x={x} y={y} width={daySize} height={daySize} rx="2">
            <title>{`${day}: ${number(tokens)}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption>
        In the coming year (UTC): {number(coming)}
        {most}. Expired: {number(outside.expired)}; later: {number(outside.later)}; in more than 100 years:{' '}
        {number(outside.never)}.
      </figcaption>
    </figure>
  );
}
