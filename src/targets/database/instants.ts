/** The furthest instants that JavaScript has (ECMAScript, 21.4.1.1), in milliseconds. */
const FURTHEST = 8.64e15;

/**
 * SQL for an instant as milliseconds since 1970, in float8: reading it costs a fraction of what a
 * timestamptz does. `infinity` stays what it is.
 */
export function milliseconds(column: string): string {
  return `date_part('epoch', ${column}) * 1000`;
}

/**
 * The instant of {@link milliseconds}, its microseconds cut off as a REST client does. What is further away
 * than JavaScript's dates go (`infinity`, years beyond 275760) becomes the furthest of them.
 */
export function instant(value: number): Date {
  // Half a microsecond more: a float8 may stand just below the millisecond that was meant.
  return new Date(Math.min(Math.max(Math.floor(value + 0.0005), -FURTHEST), FURTHEST));
}

/** The same where there may be none. */
export function instantOrNull(value: number | null): Date | null {
  return value === null ? null : instant(value);
}
