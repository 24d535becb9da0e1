import { CronTime } from 'cron';
import { TokenctlError } from '../domain/errors.ts';

/** A cron expression, and the time zone whose clocks it is about. */
interface ScheduleOptions {
  /** Five fields, or six with seconds first, or `@daily` and its like. */
  readonly expression: string;
  /** As in the IANA database: `Europe/Berlin`. */
  readonly timeZone: string;
}

/**
 * When a job is due. A schedule that names hours goes by the wall clock: a tick that is skipped when
 * clocks go forward comes at that moment, and one whose hour comes twice when they go back comes the
 * first time only. One for every hour goes by elapsed time: it loses nothing and gains nothing on those days.
 */
export class Schedule {
  readonly #cron: CronTime;
  readonly #wallClock: WallClock;
  readonly #everyHour: boolean;

  /** @throws TokenctlError `configuration` saying what is wrong with the expression or the time zone. */
  constructor({ expression, timeZone }: ScheduleOptions) {
    try {
      this.#cron = new CronTime(expression, timeZone);
    } catch (cause) {
      throw invalid({ expression, timeZone }, cause);
    }
    this.#wallClock = new WallClock(timeZone);
    this.#everyHour = this.#cron.toJSON()[2] === '*';
    try {
      this.next(new Date());
    } catch (cause) {
      throw invalid({ expression, timeZone }, cause);
    }
  }

  /** The first tick after an instant. */
  next(after: Date): Date {
    const instant = after.getTime();
    return new Date(this.#everyHour ? this.#nextElapsed(instant) : this.#nextOnTheWall(instant));
  }

  /**
   * The newest tick at or before an instant that comes after another; null where there is none. Looks from
   * the end, so that a long absence costs no more than a short one.
   */
  newest({ after, upTo }: { readonly after: Date; readonly upTo: Date }): Date | null {
    const end = upTo.getTime();
    for (let span = 60_000; ; span *= 2) {
      const start = Math.max(end - span, after.getTime());
      let tick = this.next(new Date(start));
      if (tick.getTime() <= end) {
        for (let later = this.next(tick); later.getTime() <= end; later = this.next(tick)) tick = later;
        return tick;
      }
      if (start <= after.getTime()) return null;
    }
  }

  /** Each stretch between two clock changes goes by what clocks show in it. */
  #nextElapsed(after: number): number {
    for (let from = after; ; ) {
      const ahead = this.#wallClock.ahead(from);
      // One second before the stretch, since a tick may be due as it begins.
      const tick = this.#nextReading((from > after ? from - 1000 : from) + ahead) - ahead;
      const change = this.#wallClock.changeBetween(from, tick);
      if (change === null) return tick;
      from = change;
    }
  }

  #nextOnTheWall(after: number): number {
    for (let reading = after + this.#wallClock.ahead(after); ; ) {
      reading = this.#nextReading(reading);
      const tick = this.#wallClock.firstInstant(reading);
      if (tick > after) return tick;
    }
  }

  /** `cron` finds the next reading; what clock changes make of it is not left to it (it knows some zones only). */
  #nextReading(reading: number): number {
    return this.#cron.getNextDateFrom(new Date(reading), 'UTC').toMillis();
  }
}

function invalid({ expression, timeZone }: ScheduleOptions, cause: unknown): TokenctlError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const why = said.startsWith('Something went wrong') ? 'It is never due in the next eight years' : said;
  return new TokenctlError(
    'configuration',
    `The schedule "${expression}" in the time zone ${timeZone} cannot be selectJobs: ${why.replace(/\.$/, '')}`,
    { hint: 'Write minute, hour, day of month, month and day of week: "30 3 * * MON-FRI".', cause },
  );
}

const DAY_MS = 86_400_000;

/**
 * The clocks on the walls of a time zone. What they show is given as milliseconds, as if they were in UTC:
 * a reading.
 */
class WallClock {
  readonly #format: Intl.DateTimeFormat;

  /** @throws RangeError for a time zone that does not exist. */
  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-u-ca-iso8601-hc-h23', {
      timeZone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** By how many milliseconds they are ahead of UTC at an instant. */
  ahead(instant: number): number {
    const fields = new Map(
      this.#format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]),
    );
    const field = (name: Intl.DateTimeFormatPartTypes) => fields.get(name) ?? 0;
    return (
      Date.UTC(
        field('year'),
        field('month') - 1,
        field('day'),
        field('hour'),
        field('minute'),
        field('second'),
      ) -
      Math.floor(instant / 1000) * 1000
    );
  }

  /**
   * The first instant at which they show a reading; where they never do, since they were put forward past
   * it, the instant at which that happened.
   */
  firstInstant(reading: number): number {
    const before = this.ahead(reading - DAY_MS);
    const after = this.ahead(reading + DAY_MS);
    const shown = [reading - before, reading - after].filter(
      (instant) => instant + this.ahead(instant) === reading,
    );
    return shown.length > 0
      ? Math.min(...shown)
      : (this.changeBetween(reading - DAY_MS, reading + DAY_MS) ?? reading - after);
  }

  /** The first instant at which they are ahead by another amount than at the first of two; null for none. */
  changeBetween(from: number, to: number): number | null {
    const before = this.ahead(from);
    if (this.ahead(to) === before) return null;
    let [low, high] = [Math.floor(from / 1000), Math.ceil(to / 1000)];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.ahead(middle * 1000) === before) low = middle;
      else high = middle;
    }
    return high * 1000;
  }
}
