import { countText } from './counts.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** A length of time in the largest unit that leaves more than one, with the seconds that it stands for. */
export function secondsText(seconds: number): string {
  const units = [
    [YEAR, 'year'],
    [DAY, 'day'],
    [HOUR, 'hour'],
    [MINUTE, 'minute'],
  ] as const;
  const fitting = units.find(([length]) => seconds >= 2 * length);
  if (fitting === undefined) return countText(seconds, 'second');
  const [length, name] = fitting;
  const rounded = Math.round((10 * seconds) / length) / 10;
  return `${countText(rounded, name)} (${seconds} s)`;
}
