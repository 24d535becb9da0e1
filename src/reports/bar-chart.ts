import type { Bar } from '../domain/token-statistics.ts';
import { numberText } from './counts.ts';
import { html } from './html-text.ts';

/** Sizes in the chart's own units. */
const WIDTH = 350;
const LABELS = 128;
const NUMBERS = 56;
const ROW = 26;
const BAR = 16;
/** Characters of a label. */
const LONGEST = 17;

/** A bar for each value, the longest as wide as there is room. No script: a pointer over a bar shows its number. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map(({ tokens }) => tokens));
  const room = WIDTH - LABELS - NUMBERS;
  const rows = bars.map(({ label, tokens }, index) => {
    const middle = index * ROW + ROW / 2;
    const width = Math.round((tokens / most) * room * 10) / 10;
    // What is there at all has to be seen beside what is there a thousand times.
    const visible = tokens === 0 ? 0 : Math.max(1.5, width);
    return `<g><title>${html(label)}: ${numberText(tokens)}</title>
<text class="label" x="${LABELS - 8}" y="${middle}" text-anchor="end">${html(shortened(label))}</text>
<rect class="track" x="${LABELS}" y="${middle - BAR / 2}" width="${room}" height="${BAR}" rx="2"/>
<rect class="bar" x="${LABELS}" y="${middle - BAR / 2}" width="${visible}" height="${BAR}" rx="2"/>
<text class="number" x="${LABELS + room + 8}" y="${middle}">${numberText(tokens)}</text></g>`;
  });
  const height = Math.max(1, bars.length) * ROW;
  return `<figure><figcaption>${html(title)}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${html(title)}">
${rows.join('\n')}
</svg></figure>`;
}

/** As much of a label as fits beside the bars. */
function shortened(label: string): string {
  return label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label;
}
