/**
 * Times in the viewer's time zone, and numbers. Intl is not used: the browser loads a language's data before
 * the first number or time is shown, which took a tenth of the time until the first page was visible.
 */
import type { ReactNode } from 'react';
import { NEVER_DAYS } from '../src/token-terms.ts';

/** A number with commas at thousands. */
export function numberText(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A number with its noun: `1 token`, `2 tokens`, `1,000 entries`. */
export function countText(value: number, one: string, many = `${one}s`): string {
  return `${numberText(value)} ${value === 1 ? one : many}`;
}

/** Day and minute in the viewer's time zone: 2026-03-01 09:05; optionally with seconds. */
export function localText(at: Date, withSeconds = false): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const minute = `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
  return withSeconds ? `${minute}:${two(at.getSeconds())}` : minute;
}

/** The viewer's time zone, in which all times are shown: `UTC`, or its current offset, such as `UTC+05:30`. */
export function zoneText(): string {
  const ahead = -new Date().getTimezoneOffset();
  if (ahead === 0) return 'UTC';
  const two = (value: number) => String(Math.floor(Math.abs(value))).padStart(2, '0');
  return `UTC${ahead < 0 ? '-' : '+'}${two(ahead / 60)}:${two(ahead % 60)}`;
}

/** Whether a time is so far away that it means never: a controller's tokens live a thousand years by default. */
export function isNever(time: string): boolean {
  return Date.parse(time) > Date.now() + NEVER_DAYS * 24 * 3_600_000;
}

const HOUR_MS = 3_600_000;

/** The time this many days from now, in whole hours, so that the same query is sent again. */
export function inDays(days: number): string {
  return new Date((Math.floor(Date.now() / HOUR_MS) + days * 24) * HOUR_MS).toISOString();
}

/** A point in time in the viewer's time zone, with UTC as its tooltip; a given text without one. */
export function Time(props: {
  readonly value: string | null | undefined;
  readonly none?: string;
  /** For times whose order within a minute matters. */
  readonly withSeconds?: boolean;
}): ReactNode {
  const { value, none = 'Never', withSeconds = false } = props;
  if (value == null) return none;
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return value;
  return (
    <time dateTime={at.toISOString()} title={`${at.toISOString().replace('T', ' ').slice(0, 19)} UTC`}>
      {localText(at, withSeconds)}
    </time>
  );
}

/** A text in which line breaks never separate a duration's number from its unit (`0.3 s`). */
export function unbroken(text: string): string {
  return text.replace(/(?<=\d) (?=(?:ms|s|min|h|d)\b)/g, '\u00a0');
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
  return countText(count, unit);
}
