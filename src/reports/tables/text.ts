import { stripVTControlCharacters } from 'node:util';
import { escapeUnsafe, numberText } from '@tokenctl/common/text.ts';
import stringWidth from 'string-width';

/**
 * Makes text safe to print. User names and descriptions are untrusted: they
 * could move the cursor, clear the screen or retitle the administrator's terminal.
 */
export const printable = {
  /** For a value within a line: nothing in it may break the line or reach the terminal. */
  value: (text: string): string => escapeUnsafe(text),
  /** For finished lines of our own, or a whole JSON text: line feeds and tabs stay. */
  lines: (text: string): string => escapeUnsafe(text, '\n\t'),
};

export { numberText };

/** A number and what it counts, in its plural where it is not one. */
export function countText(value: number, one: string, many = `${one}s`): string {
  return `${numberText(value)} ${value === 1 ? one : many}`;
}

/** A number, and what it counts in the singular. */
export interface Count {
  readonly number: number;
  readonly one: string;
}

/** A {@link Count}. */
export function countOf(number: number, one: string): Count {
  return { number, one };
}

/** Numbers in a row, those of nothing left out: `2 access tokens, 1 refresh token and 1 session`. */
export function countsText(counts: readonly Count[]): string {
  const texts = counts.filter(({ number }) => number > 0).map(({ number, one }) => countText(number, one));
  const last = texts.pop() ?? '';
  return texts.length === 0 ? last : `${texts.join(', ')} and ${last}`;
}

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

/** An instant of RFC 3339 for people: to the second, rounded down. */
export function secondText(time: string): string {
  return time.replace(/\.\d+(?=Z$)/, '');
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

/** How many characters are measured for each column of a line. */
const MEASURED = 16;

/**
 * Breaks a line at spaces and after commas, but not in a duration (`0.3 s`), so that each part takes `width` columns at most; a
 * word that is longer than that is broken where it has to be. At least one part.
 */
export function wrapped(text: string, width: number): string[] {
  const parts: string[] = [];
  let rest = text;
  // A text is measured as far as a line needs: else each line would take as long as all that follow.
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

/** The columns that text takes on a terminal, colors aside: wide characters take two. */
export const columnsOf = stringWidth;

/** The length of the longest beginning that takes `width` columns at most, but of one character at least. */
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

/** The last place where a line may break; 0 without one. */
function gapIn(text: string, length: number): number {
  return Math.max(text.lastIndexOf(' ', length), text.lastIndexOf(',', length - 1) + 1, 0);
}

/** Whether a number and its unit (`0.3 s`) are on the sides of a place. */
function isDuration(text: string, place: number): boolean {
  return /\d/.test(text[place - 1] ?? '') && /^ (?:ms|s|min|h|d)\b/.test(text.slice(place, place + 5));
}

/** What a piece of text says, from which the terminal's color follows. */
export type Tone = 'good' | 'warning' | 'bad' | 'strong' | 'faint';

/** Gives text its color, or returns it unchanged where there are no colors. */
export type Paint = (tone: Tone, text: string) => string;

/** For files, pipes and terminals without colors. */
export const unpainted: Paint = (_tone, text) => text;

/** What a report's text may depend on. */
export interface Screen {
  /** Columns of the terminal; infinite where it is not one. */
  readonly width: number;
  /** The terminal's colors. */
  readonly paint: Paint;
}

/** Where there is no terminal: lines of any length, without colors. */
export const noScreen: Screen = { width: Number.POSITIVE_INFINITY, paint: unpainted };

/**
 * Breaks finished and painted lines at spaces so that they fit the terminal; what follows is indented as deep as the text
 * that it continues. A command to paste is never broken: neither within backticks, nor after a colon.
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
  // A label in a column of its own, as in `done      Turned off basic authentication`; one in capitals may fill its column.
  const [label = ''] =
    /^(?: *\S+(?: \S+)* {2,}| {2,}[A-Z]{3,}(?: [A-Z]{3,})* )(?=\S)/.exec(stripVTControlCharacters(line)) ??
    [];
  const deeper = indent === '' ? 0 : indent.length + 2;
  const hanging = ' '.repeat(label !== '' && label.length <= width / 2 ? label.length : deeper);
  const first = label === '' ? indent : paintedStart(line, label.length);
  // Text in backticks, and a command at the end of the line, stay in one piece.
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

/** The beginning of a painted line that shows so many characters. */
function paintedStart(line: string, length: number): string {
  let end = 0;
  for (let shown = 0; shown < length; end++) {
    if (line.startsWith('\u001b[', end)) end = line.indexOf('m', end);
    else shown++;
  }
  return line.slice(0, end);
}
