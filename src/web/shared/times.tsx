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
