/** The day of a time, in UTC. */
export function dayText(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Expiries beyond this year are the controller's way to say "never": its default is 1000 years. */
const LAST_MEANT_YEAR = 2200;

/** A time for people: UTC, ISO 8601, to the second. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** An expiry for people: its time, or `never (3026)` with the year that it stands for. */
export function expiryText(expires: Date): string {
  return isNever(expires) ? `never (${expires.getUTCFullYear()})` : timeText(expires);
}

/** An expiry as its day, or `never`. */
export function expiryDayText(expires: Date): string {
  return isNever(expires) ? 'never' : dayText(expires);
}

function isNever(expires: Date): boolean {
  return expires.getUTCFullYear() > LAST_MEANT_YEAR;
}
