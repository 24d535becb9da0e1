/** Times, shown in the viewer's zone. */
import type { ReactNode } from 'react';

const SHOWN = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });

/** A point in time in the viewer's zone, with UTC as its tooltip; a given text without one. */
export function Time({
  value,
  none = 'Never',
}: {
  readonly value: string | null;
  readonly none?: string;
}): ReactNode {
  if (value === null) return none;
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return value;
  return (
    <time
      className="time"
      dateTime={at.toISOString()}
      title={`${at.toISOString().replace('T', ' ').slice(0, 19)} UTC`}
    >
      {SHOWN.format(at)}
    </time>
  );
}
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A number of seconds in the largest unit that divides it: 600 is "10 minutes". */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= each && seconds % each === 0) ?? ['second', 1];
  const count = seconds / size;
  return `${count.toLocaleString('en')} ${unit}${count === 1 ? '' : 's'}`;
}
