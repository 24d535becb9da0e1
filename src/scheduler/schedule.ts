import { TokenctlError } from '@tokenctl/common/errors.ts';
import { CronTime } from 'cron';

interface ScheduleOptions {
  /** Five fields, or six with seconds first, or a shortcut such as `@daily`. */
  readonly expression: string;
  /** A name in the IANA database: `Europe/Berlin`. */
  readonly timeZone: string;
}

/**
 * When a job is due. A schedule with fixed hours follows the wall clock: when clocks go forward past a tick,
 * the tick is due at the change; when clocks go back, it is due only the first time. A schedule for every
 * hour follows elapsed time: no tick is lost or repeated.
 */
export class Schedule {
  readonly #cron: CronTime;
  readonly #wallClock: WallClock;
  readonly #everyHour: boolean;
  /** The last result of {@link next}. It is valid until that tick, and a scheduler calls it every few seconds. */
  #known = { after: Number.POSITIVE_INFINITY, tick: Number.NEGATIVE_INFINITY };

  /** @throws TokenctlError `configuration` for an invalid expression or time zone. */
  constructor({ expression, timeZone }: ScheduleOptions) {
    try {
      this.#cron = new CronTime(expression, timeZone);
    } catch (cause) {
      throw invalid({ expression, timeZone }, cause);
    }
    this.#wallClock = WallClock.in(timeZone);
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
    if (instant < this.#known.after || instant >= this.#known.tick) {
      const tick = this.#everyHour ? this.#nextElapsed(instant) : this.#nextOnTheWall(instant);
      this.#known = { after: instant, tick };
    }
    return new Date(this.#known.tick);
  }

  /** The newest tick after one instant and at or before another, or null. Searches backwards, so gaps cost nothing. */
  newest({ after, upTo }: { after: Date; upTo: Date }): Date | null {
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

  /** Between two clock changes, the wall clock and elapsed time advance together. */
  #nextElapsed(after: number): number {
    for (let from = after; ; ) {
      const ahead = this.#wallClock.ahead(from);
      // One second earlier, since a tick may be due exactly at the change.
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

  /** `cron` only computes in UTC: its own handling of clock changes is wrong for several zones (decision 20). */
  #nextReading(reading: number): number {
    return this.#cron.getNextDateFrom(new Date(reading), 'UTC').toMillis();
  }
}

function invalid({ expression, timeZone }: ScheduleOptions, cause: unknown): TokenctlError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const why = said.startsWith('Something went wrong') ? 'no run in the next eight years' : said;
  return new TokenctlError(
    'configuration',
    `Invalid schedule "${expression}" (${timeZone}): ${why.replace(/\.$/, '')}`,
    {
      hint: 'Use five fields: minute, hour, day of month, month and day of week: "30 3 * * MON-FRI".',
      cause,
    },
  );
}

const DAY_MS = 86_400_000;

/** The wall clock of a time zone. A reading is its local time, in milliseconds as if it were UTC. */
class WallClock {
  /** One instance for all jobs of a time zone: each takes a hundred kilobytes. */
  static readonly #known = new Map<string, WallClock>();
  readonly #format: Intl.DateTimeFormat;

  /** @throws RangeError for an unknown time zone. */
  static in(timeZone: string): WallClock {
    const clock = WallClock.#known.get(timeZone) ?? new WallClock(timeZone);
    WallClock.#known.set(timeZone, clock);
    return clock;
  }

  private constructor(timeZone: string) {
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

  /** The offset from UTC at an instant, in milliseconds. */
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

  /** The first instant with this reading. If the clock was set forward past it, the instant of the change. */
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

  /** The first change of the offset between two instants; null if there is none. */
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
