import { DAY } from '../../domain/policy/rule.ts';
import type { Bar, TokenStatistics } from '../../domain/token-statistics.ts';
import { html } from '../html.ts';
import { countText, numberText } from '../tables/text.ts';

const DAY_SIZE = 13;
const CALENDAR_LEFT = 34;
const CALENDAR_TOP = 18;
const LEVELS = 4;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A calendar of expiries as a picture, in its own units, for the report and the console. */
export interface CalendarPicture {
  readonly width: number;
  readonly height: number;
  readonly daySize: number;
  readonly days: readonly {
    readonly x: number;
    readonly y: number;
    /** 0 for none, otherwise 1 to 4 on a logarithmic scale: one busy day must not make others look empty. */
    readonly level: number;
    /** In UTC: `2026-11-21`. */
    readonly day: string;
    readonly tokens: number;
  }[];
  /** Names of months above their first days, and of weekdays next to their rows. */
  readonly labels: readonly { readonly x: number; readonly y: number; readonly text: string }[];
  readonly outside: { readonly expired: number; readonly later: number; readonly never: number };
}

/**
 * The coming year, one column per week (from Monday); days are darker if more tokens expire. Days are UTC.
 */
export function calendarPicture(statistics: TokenStatistics, now: Date): CalendarPicture {
  const counts = statistics.calendar();
  const first = Math.floor(now.getTime() / DAY);
  // 1 January 1970 was a Thursday.
  const offset = (first + 3) % 7;
  const most = Math.max(1, ...counts);
  const dateOf = (index: number) => new Date((first + index) * DAY);
  const columnOf = (index: number) => CALENDAR_LEFT + Math.floor((index + offset) / 7) * DAY_SIZE;
  return {
    width: columnOf(counts.length - 1) + DAY_SIZE,
    height: CALENDAR_TOP + 7 * DAY_SIZE,
    daySize: 11,
    days: counts.map((tokens, index) => ({
      x: columnOf(index),
      y: CALENDAR_TOP + ((index + offset) % 7) * DAY_SIZE,
      level: levelOf(tokens, most),
      day: dateOf(index).toISOString().slice(0, 10),
      tokens,
    })),
    labels: [
      ...counts.flatMap((_count, index) => {
        const date = dateOf(index);
        if (date.getUTCDate() !== 1) return [];
        return { x: columnOf(index), y: 8, text: MONTHS[date.getUTCMonth()] ?? '' };
      }),
      ...['Mon', 'Wed', 'Fri'].map((text, index) => ({
        x: 0,
        y: CALENDAR_TOP + index * 2 * DAY_SIZE + 6,
        text,
      })),
    ],
    outside: statistics.outsideCalendar(),
  };
}

/** The calendar for an HTML report; a sentence if it has no days. Hovering over a day shows its number. */
export function calendarChart(statistics: TokenStatistics, now: Date): string {
  const { width, height, daySize, days, labels, outside } = calendarPicture(statistics, now);
  const cells = days.map(
    ({ x, y, level, day, tokens }) =>
      `<rect class="day level${level}" x="${x}" y="${y}" width="${daySize}" height="${daySize}" rx="2"><title>${day}: ${countText(tokens, 'token')}</title></rect>`,
  );
  const names = labels.map(({ x, y, text }) => `<text class="small" x="${x}" y="${y}">${text}</text>`);
  const { expired, later, never } = outside;
  const most = Math.max(0, ...days.map(({ tokens }) => tokens));
  const others = `${numberText(expired)} expired, ${numberText(later)} later, ${numberText(never)} more than 100 years from now`;
  if (most === 0) return `<p class="muted">No token expires in the coming year: ${others}.</p>`;
  return `<figure class="wide"><figcaption>Expiries in the coming year</figcaption>
<div class="sideways" tabindex="0" role="group" aria-label="Calendar"><svg viewBox="0 0 ${width} ${height}" \
role="img" aria-label="Expiries in the coming year">
${names.join('\n')}
${cells.join('\n')}
</svg></div>
<p class="legend">fewer ${legend()} more; maximum on one day: ${numberText(most)}. Not shown: \
${others}.</p></figure>`;
}

function levelOf(tokens: number, most: number): number {
  if (tokens === 0) return 0;
  if (most === 1) return LEVELS;
  return 1 + Math.floor(((LEVELS - 1) * Math.log(tokens)) / Math.log(most) + 1e-9);
}

function legend(): string {
  const cells = Array.from(
    { length: LEVELS + 1 },
    (_, level) =>
      `<rect class="day level${level}" x="${level * DAY_SIZE}" y="0" width="11" height="11" rx="2"/>`,
  );
  return `<svg class="inline" viewBox="0 0 ${(LEVELS + 1) * DAY_SIZE} 11" aria-hidden="true">${cells.join('')}</svg>`;
}

/** Sizes in the chart's own units. */
const CHART_WIDTH = 350;
const LABEL_WIDTH = 128;
const NUMBER_WIDTH = 56;
const ROW_HEIGHT = 26;
const BAR_HEIGHT = 16;
/** The maximum length of a label. */
const MAX_LABEL = 17;

/** A bar for each value, the longest as wide as the space allows. No script: hovering shows the number. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map(({ tokens }) => tokens));
  const room = CHART_WIDTH - LABEL_WIDTH - NUMBER_WIDTH;
  const rows = bars.map(({ label, tokens }, index) => {
    const middle = index * ROW_HEIGHT + ROW_HEIGHT / 2;
    const width = Math.round((tokens / most) * room * 10) / 10;
    // Small values stay visible next to values a thousand times larger.
    const visible = tokens === 0 ? 0 : Math.max(1.5, width);
    return `<g><title>${html(label)}: ${numberText(tokens)}</title>
<text class="label" x="${LABEL_WIDTH - 8}" y="${middle}" text-anchor="end">${html(shortened(label))}</text>
<rect class="track" x="${LABEL_WIDTH}" y="${middle - BAR_HEIGHT / 2}" width="${room}" height="${BAR_HEIGHT}" rx="2"/>
<rect class="bar" x="${LABEL_WIDTH}" y="${middle - BAR_HEIGHT / 2}" width="${visible}" height="${BAR_HEIGHT}" rx="2"/>
<text class="number" x="${LABEL_WIDTH + room + 8}" y="${middle}">${numberText(tokens)}</text></g>`;
  });
  const height = Math.max(1, bars.length) * ROW_HEIGHT;
  return `<figure><figcaption>${html(title)}</figcaption>
<svg viewBox="0 0 ${CHART_WIDTH} ${height}" role="img" aria-label="${html(title)}">
${rows.join('\n')}
</svg></figure>`;
}

/** A label truncated to fit next to the bars. */
function shortened(label: string): string {
  return label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label;
}
