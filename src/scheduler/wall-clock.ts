const DAY = 86_400_000;

/**
 * The clocks on the walls of a time zone. What they show is given as milliseconds, as if they were in UTC:
 * a reading.
 */
export class WallClock {
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
    const before = this.ahead(reading - DAY);
    const after = this.ahead(reading + DAY);
    const shown = [reading - before, reading - after].filter(
      (instant) => instant + this.ahead(instant) === reading,
    );
    return shown.length > 0
      ? Math.min(...shown)
      : (this.changeBetween(reading - DAY, reading + DAY) ?? reading - after);
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
