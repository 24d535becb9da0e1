import { stripVTControlCharacters } from 'node:util';
import { escapeUnsafe, numberText } from '@tokenctl/common/text.ts';
import stringWidth from 'string-width';

/**
 * Makes text safe to print. User names and descriptions are untrusted: they could move the cursor, clear the
 * screen or retitle the administrator's terminal.
 */
export const printable = {
  /** For a value within a line: nothing in it may break the line or control the terminal. */
  value: (text: string): string => escapeUnsafe(text),
  /** For our own finished lines, or a whole JSON text: line feeds and tabs stay. */
  lines: (text: string): string => escapeUnsafe(text, '\n\t'),
};

export { numberText };

/** A number and its unit, in the plural unless it is one. */
export function countText(value: number, one: string, many = `${one}s`): string {
  return `${numberText(value)} ${value === 1 ? one : many}`;
}

/** A number, and its unit in the singular. */
export interface Count {
  readonly number: number;
  readonly one: string;
}

export function countOf(number: number, one: string): Count {
  return { number, one };
}

/** Numbers in a row, without zeros: `2 access tokens, 1 refresh token and 1 session`. */
export function countsText(counts: readonly Count[]): string {
  const texts = counts.filter(({ number }) => number > 0).map(({ number, one }) => countText(number, one));
  const last = texts.pop() ?? '';
  return texts.length === 0 ? last : `${texts.join(', ')} and ${last}`;
}

export function dayText(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Expiries after this year are the controller's way to say "never": its default is 1000 years. */
const LAST_MEANT_YEAR = 2200;

/** A displayed time: UTC, ISO 8601, to the second. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** A displayed RFC 3339 instant: to the second, rounded down. */
export function secondText(time: string): string {
  return time.replace(/\.\d+(?=Z$)/, '');
}

/** A displayed expiry: its time, or `never (3026)` with the year in question. */
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

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** A duration in the largest unit that gives more than one, with its seconds. */
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

/** The number of characters to measure per column of a line. */
const MEASURED = 16;

/**
 * Breaks a line at spaces and after commas, but not within a duration (`0.3 s`), so that each part takes at
 * most `width` columns; a longer word is broken where necessary. Returns at least one part.
 */
export function wrapped(text: string, width: number): string[] {
  const parts: string[] = [];
  let rest = text;
  // Measures only as much text as a line needs: otherwise the time would be quadratic.
  while (rest.length > MEASURED * width || columnsOf(rest) > width) {
    const most = fittingLength(rest, width);
    const last = gapIn(rest, most);
    const gap = isDuration(rest, last) ? gapIn(rest, last - 1) : last;
    const end = gap || last || most;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return rest === '' && parts.length > 0 ? parts : [...parts, rest];
}

/** The width of text on a terminal, without colors: wide characters take two columns. */
export const columnsOf = stringWidth;

/** The length of the longest prefix that takes at most `width` columns, but at least one character. */
function fittingLength(text: string, width: number): number {
  for (let size = MEASURED * width; ; size *= 2) {
    const length = fittingIn(text.slice(0, size), width);
    if (length < size || size >= text.length) return length;
  }
}

function fittingIn(text: string, width: number): number {
  let [length, columns] = [0, 0];
  for (const { segment } of new Intl.Segmenter('en').segment(text)) {
    columns += columnsOf(segment);
    if (columns > width && length > 0) break;
    length += segment.length;
  }
  return length;
}

/** The last position where a line may break; 0 if there is none. */
function gapIn(text: string, length: number): number {
  return Math.max(text.lastIndexOf(' ', length), text.lastIndexOf(',', length - 1) + 1, 0);
}

/** Whether a position is between a number and its unit (`0.3 s`). */
function isDuration(text: string, place: number): boolean {
  return /\d/.test(text[place - 1] ?? '') && /^ (?:ms|s|min|h|d)\b/.test(text.slice(place, place + 5));
}

/** The meaning of a piece of text, which determines its color in a terminal. */
export type Tone = 'good' | 'warning' | 'bad' | 'strong' | 'faint';

/** Gives text its color, or returns it unchanged without colors. */
export type Paint = (tone: Tone, text: string) => string;

/** For files, pipes and terminals without colors. */
export const unpainted: Paint = (_tone, text) => text;

/** The properties of a screen that a report's text may depend on. */
export interface Screen {
  /** Columns of the terminal; infinite without one. */
  readonly width: number;
  readonly paint: Paint;
}

/** Without a terminal: lines of any length, without colors. */
export const noScreen: Screen = { width: Number.POSITIVE_INFINITY, paint: unpainted };

/**
 * Breaks finished and painted lines at spaces so that they fit the terminal; continuation lines are indented
 * like the text that they continue. A command to paste is never broken, neither within backticks nor after a
 * colon.
 */
export function onScreen(text: string, { width }: Pick<Screen, 'width'>): string {
  if (width === Number.POSITIVE_INFINITY) return text;
  return text
    .split('\n')
    .flatMap((line) => (columnsOf(line) <= width ? [line] : brokenLine(line, width)))
    .join('\n');
}

function brokenLine(line: string, width: number): string[] {
  const [indent = ''] = /^ */.exec(line) ?? [];
  // A label in a column of its own, as in `done      Turned off basic authentication`; one in capitals may
  // fill its column.
  const [label = ''] =
    /^(?: *\S+(?: \S+)* {2,}| {2,}[A-Z]{3,}(?: [A-Z]{3,})* )(?=\S)/.exec(stripVTControlCharacters(line)) ??
    [];
  const deeper = indent === '' ? 0 : indent.length + 2;
  const hanging = ' '.repeat(label !== '' && label.length <= width / 2 ? label.length : deeper);
  const first = label === '' ? indent : paintedStart(line, label.length);
  // Text in backticks, and a command at the end of the line, are not broken.
  const parts = line.slice(first.length).match(/(?<=^|(?<!Error): )tokenctl .*$|(?:`[^`]*`|\S)+/g) ?? [];
  const lines: string[] = [];
  let current = first;
  for (const [index, part] of parts.entries()) {
    const longer = index === 0 || current === hanging ? current + part : `${current} ${part}`;
    if (columnsOf(longer) <= width || current === hanging || (index === 0 && label === '')) current = longer;
    else {
      lines.push(current.trimEnd());
      current = hanging + part;
    }
  }
  return [...lines, current];
}

/** The prefix of a painted line that shows this many characters. */
function paintedStart(line: string, length: number): string {
  let end = 0;
  for (let shown = 0; shown < length; end++) {
    if (line.startsWith('\u001b[', end)) end = line.indexOf('m', end);
    else shown++;
  }
  return line.slice(0, end);
}
