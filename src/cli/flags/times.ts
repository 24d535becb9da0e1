import { TokenctlError } from '@tokenctl/common/errors.ts';

/**
 * The value of a time flag: a point in time, an age in milliseconds, or a time of a day relative to today.
 */
export type Moment =
  | { readonly at: Date }
  | { readonly ago: number }
  | { readonly days: number; readonly hours: number; readonly minutes: number };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const DAY = 24 * HOUR;

/** Units of an age in milliseconds, in their order in the text. Months are missing: their length varies. */
const UNITS = [365 * DAY, 7 * DAY, DAY, HOUR, MINUTE];

/** The maximum age: the default lifetime of a controller's tokens. Dates end before the largest number. */
const MAX_AGE_YEARS = 1000;

const AGE = /^(?=\d)(?:(\d{1,6})y)?(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/;
const TIME = /^([01]?\d|2[0-3]):([0-5]\d)$/;
/** The words for days, relative to today. */
const DAYS: Readonly<Record<string, number>> = { today: 0, yesterday: -1 };

/** Parses an age such as `90d` or `1h30m`. Returns milliseconds, above 0. Throws `usage`. */
export function parseAge(text: string): number {
  const [, ...digits] = AGE.exec(text) ?? [];
  const age = UNITS.reduce((sum, unit, place) => sum + Number(digits[place] ?? 0) * unit, 0);
  if (age > MAX_AGE_YEARS * 365 * DAY) {
    throw new TokenctlError('usage', `Invalid age "${text}": the maximum is ${MAX_AGE_YEARS}y.`);
  }
  if (age > 0) return age;
  throw new TokenctlError(
    'usage',
    `Invalid age "${text}": expected a number with a unit (m, h, d, w or y), such as 90d or 1h30m.`,
  );
}

/**
 * Parses a time: an age such as `30d`, a date (midnight UTC), a date with a time, or a spoken form (`22:30`,
 * `yesterday`). A time without a zone is in this machine's zone.
 * @throws TokenctlError `usage`, also for a date that does not exist
 */
export function parseMoment(text: string): Moment {
  if (AGE.test(text)) return { ago: parseAge(text) };
  const days = DAYS[text];
  if (days !== undefined) return { days, hours: 0, minutes: 0 };
  const [time, hours, minutes] = TIME.exec(text) ?? [];
  if (time !== undefined) return { days: 0, hours: Number(hours), minutes: Number(minutes) };
  if (DATE.test(text) || DATE_TIME.test(text)) {
    const at = new Date(text.replace(' ', 'T'));
    if (!Number.isNaN(at.getTime()) && isCalendarDay(text.slice(0, 10))) return { at };
  }
  throw new TokenctlError(
    'usage',
    `Invalid time "${text}": expected an age (30d), a date (2026-01-31), a time (2026-01-31T12:00Z, 22:30), today or yesterday.`,
  );
}

/** Resolves a moment; an age counts back from `now`. A future time of today means the same time yesterday. */
export function instantOf(moment: Moment, now: Date): Date {
  if ('at' in moment) return moment.at;
  if ('ago' in moment) return new Date(now.getTime() - moment.ago);
  const at = new Date(now);
  at.setHours(moment.hours, moment.minutes, 0, 0);
  at.setDate(at.getDate() + moment.days - (at > now ? 1 : 0));
  return at;
}

/** `Date` parses 31 February as 3 March. */
function isCalendarDay(day: string): boolean {
  const parsed = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(day);
}
