import { TokenctlError } from '../domain/errors.ts';

/** A moment as a flag gives it: an instant, or an age that counts back from when the command runs. */
export type Moment = { readonly at: Date } | { readonly ago: number };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Units of an age in milliseconds. A month is none: it has no fixed length. */
const units: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY, y: 365 * DAY };

const AGE = /^(\d{1,6})([mhdwy])$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Reads an age such as `90d`.
 *
 * @returns milliseconds, above 0
 * @throws TokenctlError `usage`
 */
export function parseAge(text: string): number {
  const [, digits, unit] = AGE.exec(text) ?? [];
  const age = Number(digits) * (units[unit ?? ''] ?? Number.NaN);
  if (age > 0) return age;
  throw new TokenctlError(
    'usage',
    `"${text}" is not an age: write a number and m, h, d, w or y (365 days), such as 90d.`,
  );
}

/**
 * Reads a moment: an age such as `30d`, a date (its first instant in UTC), or a time with its zone.
 *
 * @throws TokenctlError `usage`, also for a date that the calendar does not have
 */
export function parseMoment(text: string): Moment {
  if (AGE.test(text)) return { ago: parseAge(text) };
  if (DATE.test(text) || DATE_TIME.test(text)) {
    const at = new Date(text);
    if (!Number.isNaN(at.getTime()) && isCalendarDay(text.slice(0, 10))) return { at };
  }
  throw new TokenctlError(
    'usage',
    `"${text}" is no moment: write an age (30d), a date (2026-01-31) or a time with its zone (2026-01-31T12:00:00Z).`,
  );
}

/** The instant that a moment means, counted back from `now` where it is an age. */
export function instantOf(moment: Moment, now: Date): Date {
  return 'at' in moment ? moment.at : new Date(now.getTime() - moment.ago);
}

/** `Date` reads 31 February as 3 March; nobody means that. */
function isCalendarDay(day: string): boolean {
  const parsed = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(day);
}
