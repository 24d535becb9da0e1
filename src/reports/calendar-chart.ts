import { DAY } from '../domain/policy/rule.ts';
import type { TokenStatistics } from '../domain/token-statistics.ts';
import { countText, numberText } from './counts.ts';

const CELL = 13;
const LEFT = 34;
const TOP = 18;
const LEVELS = 4;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * The days of the coming year, a column a week (from Monday), the darker the more tokens expire on a day.
 * Days are UTC. A pointer over a day shows its number.
 */
export function calendarChart(statistics: TokenStatistics, now: Date): string {
  const counts = statistics.calendar();
  const first = Math.floor(now.getTime() / DAY);
  // 1 January 1970 was a Thursday.
  const weekday = (day: number) => (day + 3) % 7;
  const offset = weekday(first);
  const most = Math.max(1, ...counts);
  const cells = counts.map((tokens, index) => {
    const place = index + offset;
    const x = LEFT + Math.floor(place / 7) * CELL;
    const y = TOP + (place % 7) * CELL;
    const day = new Date((first + index) * DAY).toISOString().slice(0, 10);
    return `<rect class="day level${levelOf(tokens, most)}" x="${x}" y="${y}" width="11" height="11" rx="2"><title>${day}: ${countText(tokens, 'token')}</title></rect>`;
  });
  const width = LEFT + Math.ceil((counts.length + offset) / 7) * CELL;
  const days = ['Mon', 'Wed', 'Fri'].map(
    (name, index) =>
      `<text class="small" x="${LEFT - 6}" y="${TOP + index * 2 * CELL + 6}" text-anchor="end">${name}</text>`,
  );
  const { expired, later, never } = statistics.outsideCalendar();
  return `<figure class="wide"><figcaption>Expiries in the coming year</figcaption>
<div class="sideways"><svg viewBox="0 0 ${width} ${TOP + 7 * CELL}" role="img" aria-label="Expiries in the coming year">
${monthNames({ first, offset, length: counts.length })}
${days.join('\n')}
${cells.join('\n')}
</svg></div>
<p class="legend">fewer ${legend()} more; most on one day: ${numberText(Math.max(0, ...counts))}. Not shown: ${numberText(expired)} expired, ${numberText(later)} later, ${numberText(never)} in effect never.</p></figure>`;
}

/** 0 for none, else 1 to 4 on a logarithmic scale: one busy day must not make all others look empty. */
function levelOf(tokens: number, most: number): number {
  if (tokens === 0) return 0;
  if (most === 1) return LEVELS;
  return 1 + Math.floor(((LEVELS - 1) * Math.log(tokens)) / Math.log(most) + 1e-9);
}

function monthNames(days: { first: number; offset: number; length: number }): string {
  const { first, offset, length } = days;
  const names: string[] = [];
  for (let index = 0; index < length; index += 1) {
    const date = new Date((first + index) * DAY);
    if (date.getUTCDate() !== 1) continue;
    const x = LEFT + Math.floor((index + offset) / 7) * CELL;
    names.push(`<text class="small" x="${x}" y="8">${MONTHS[date.getUTCMonth()] ?? ''}</text>`);
  }
  return names.join('\n');
}

function legend(): string {
  const cells = Array.from(
    { length: LEVELS + 1 },
    (_, level) => `<rect class="day level${level}" x="${level * CELL}" y="0" width="11" height="11" rx="2"/>`,
  );
  return `<svg class="inline" viewBox="0 0 ${(LEVELS + 1) * CELL} 11" aria-hidden="true">${cells.join('')}</svg>`;
}
