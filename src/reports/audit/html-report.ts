import { incompleteText } from '../../domain/claims.ts';
import type { Audit, AuditSummary, Finding } from '../../domain/policy/judge.ts';
import { type Policy, type RuleName, ruleNames, rules } from '../../domain/policy/policy.ts';
import { DAY, type Severity, severities, zeroBySeverity } from '../../domain/policy/rule.ts';
import { ownerOf } from '../../domain/policy/subject.ts';
import type { Bar, TokenStatistics } from '../../domain/token-statistics.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { html, htmlStyle } from '../html.ts';
import { countText, numberText, timeText } from '../tables/text.ts';
import { commonMessage, isOneSentence, type LastUseReader, Worst, withLastUses } from './audit-result.ts';
import { ruleListing } from './json-report.ts';

/** So many findings are listed; the page must open in a browser, however many there are. */
const LISTED = 1000;

/** What the page shows in addition to the audit. */
export interface HtmlContext {
  readonly description: Pick<
    TargetDescription,
    'context' | 'address' | 'version' | 'identity' | 'visibility'
  >;
  /** The program's version. */
  readonly version: string;
  /** Reads when tokens were last used, where the target does not show it. */
  readonly lastUses?: LastUseReader | undefined;
}

/**
 * An audit as one HTML page, with charts, that needs no network and no script. The audit must count
 * statistics. Lists the worst thousand findings and says how many more there are.
 */
export async function* htmlReport(audit: Audit, context: HtmlContext): AsyncIterable<string> {
  const worst = new Worst(LISTED);
  const owners = new Owners();
  for await (const finding of audit.findings) {
    worst.add(finding);
    owners.add(finding);
  }
  const summary = audit.summary();
  yield head(audit, context);
  yield tiles(summary);
  yield charts(audit);
  yield ruleTable(summary, audit.policy);
  yield owners.table();
  yield findingTables(await withLastUses(worst.all(), context.lastUses), summary);
  yield notCheckedList(summary);
  yield `<p class="muted">Written by tokenctl ${html(context.version)}. Times are UTC.</p>\n</main></body></html>\n`;
}

function head({ now }: Audit, { description }: HtmlContext): string {
  const product = description.version === null ? '' : `, version ${description.version}`;
  const incomplete = incompleteText(description);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>Token audit of ${html(description.context)}, ${timeText(now).slice(0, 10)}</title>
<style>${htmlStyle}</style></head>
<body><main>
<h1>Token audit of ${html(description.context)}</h1>
<p class="muted">${html(description.address)}${html(product)}, at ${timeText(now)}</p>
${incomplete === null ? '' : `<p><strong>${html(incomplete)}.</strong></p>\n`}`;
}

function tiles({ tokensRead, found, bySeverity, known, fixed }: AuditSummary): string {
  const tile = (name: string, value: number, kind = '') =>
    `<div class="tile ${kind}"><b>${numberText(value)}</b><span>${name}</span></div>`;
  return `<div class="tiles">
${tile('tokens', tokensRead)}
${tile(known === null ? 'findings' : 'new findings', found)}
${severities
  .toReversed()
  .map((severity) => tile(severity, bySeverity[severity], severity))
  .join('\n')}
${known === null ? '' : tile('known by the baseline', known)}
${fixed === null ? '' : tile('fixed since the baseline', fixed)}
</div>
`;
}

function charts({ statistics, now }: Audit): string {
  if (statistics === null) return '';
  return `<h2>The tokens</h2>
<div class="charts">
${barChart('Age', statistics.byAge())}
${barChart('Last use', statistics.byLastUse())}
${barChart('Scope', statistics.byScope().slice(0, 8))}
${calendarChart(statistics, now)}
</div>
`;
}

function ruleTable({ byRule }: AuditSummary, policy: Policy): string {
  const rows = ruleNames
    .filter((name) => (byRule[name] ?? 0) > 0)
    .sort((a, b) => severities.indexOf(policy[b].severity) - severities.indexOf(policy[a].severity))
    .map((name) => {
      const { severity } = policy[name];
      const { finds, remedy } = rules[name].help;
      return `<tr><td class="severity fixed ${severity}">${severity}</td><td class="fixed">${name}</td><td class="count">${numberText(byRule[name] ?? 0)}</td><td class="text">${html(finds)}<br><span class="muted">${html(remedy)}</span></td></tr>`;
    });
  if (rows.length === 0) return '';
  return `<h2>What was found</h2>
<div class="scroll"><table><thead><tr><th>Severity</th><th>Rule</th><th class="count">Findings</th><th>What, and what to do</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>
`;
}

function findingTables(findings: readonly Finding[], { found }: AuditSummary): string {
  if (findings.length === 0) return '<h2>Findings</h2>\n<p>No findings.</p>\n';
  const which =
    found > findings.length
      ? `<p class="muted">The worst ${numberText(findings.length)} of ${numberText(found)}; --format json or csv has them all.</p>`
      : `<p class="muted">${countText(found, 'finding')}, the worst first.</p>`;
  const byRule = Map.groupBy(findings, ({ rule }) => rule);
  return `<h2>Findings</h2>\n${which}\n${Array.from(byRule, ([rule, of]) => ruleFindings(rule, of)).join('')}`;
}

/** The findings of one rule: what it finds is said once, and what is said of each only where it differs. */
function ruleFindings(rule: RuleName, findings: readonly Finding[]): string {
  const { finds } = rules[rule].help;
  const severity = findings[0]?.severity ?? 'low';
  const common = commonMessage(findings);
  const { columns } = ruleListing(findings, isOneSentence(findings));
  const shown = columns.filter(
    (column) => column.only !== 'unlessEmpty' || findings.some((finding) => column.cell(finding) !== ''),
  );
  const heads = shown.map(({ name }) => `<th>${html(name.replaceAll('_', ' '))}</th>`).join('');
  const rows = findings.map((finding) => {
    const cells = shown.map((column) => {
      const text = column.short?.(finding) ?? column.cell(finding);
      return `<td class="${column.name === 'finding' ? 'text' : 'name'}">${html(text)}</td>`;
    });
    return `<tr>${cells.join('')}</tr>\n`;
  });
  return `<h3><span class="severity ${severity}">${severity}</span> ${rule} <span class="muted">${countText(findings.length, 'finding')}</span></h3>
<p>${html(common === null ? finds : `${finds} ${common}`)}</p>
<div class="scroll"><table><thead><tr>${heads}</tr></thead><tbody>
${rows.join('')}</tbody></table></div>
`;
}

/** How many owners are ranked. */
const RANKED = 20;

/** Findings by owner: those with the worst first. */
class Owners {
  readonly #counts = new Map<string, Record<Severity, number>>();

  add({ severity, subject }: Finding): void {
    const owner = ownerOf(subject);
    if (owner === null) return;
    let counts = this.#counts.get(owner.username);
    if (counts === undefined) {
      counts = zeroBySeverity();
      this.#counts.set(owner.username, counts);
    }
    counts[severity] += 1;
  }

  table(): string {
    const worst = severities.toReversed();
    const ranked = [...this.#counts].sort(([, one], [, other]) => {
      const differing = worst.find((severity) => one[severity] !== other[severity]);
      return differing === undefined ? 0 : other[differing] - one[differing];
    });
    if (ranked.length === 0) return '';
    const rows = ranked.slice(0, RANKED).map(([name, counts]) => {
      const cells = worst.map((severity) => {
        const count = counts[severity];
        return `<td class="count${count === 0 ? '' : ` ${severity}`}">${count === 0 ? '' : numberText(count)}</td>`;
      });
      return `<tr><td class="name">${html(name)}</td>${cells.join('')}</tr>`;
    });
    const more = ranked.length - rows.length;
    return `<h2>Owners</h2>
<div class="scroll"><table><thead><tr><th>User</th>${worst.map((severity) => `<th class="count">${severity}</th>`).join('')}</tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>
${more === 0 ? '' : `<p class="muted">and ${countText(more, 'more owner')}</p>\n`}`;
  }
}

function notCheckedList({ notChecked }: AuditSummary): string {
  if (notChecked.length === 0) return '';
  const rows = notChecked.map(
    ({ rule, why }) => `<tr><td class="fixed">${rule}</td><td>${html(why)}</td></tr>`,
  );
  return `<h2>Not checked</h2>
<div class="scroll"><table><thead><tr><th>Rule</th><th>Why</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>
`;
}

const DAY_SIZE = 13;
const CALENDAR_LEFT = 34;
const CALENDAR_TOP = 18;
const LEVELS = 4;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * The days of the coming year, a column a week (from Monday), the darker the more tokens expire on a day.
 * Days are UTC. A pointer over a day shows its number.
 */
function calendarChart(statistics: TokenStatistics, now: Date): string {
  const counts = statistics.calendar();
  const first = Math.floor(now.getTime() / DAY);
  // 1 January 1970 was a Thursday.
  const weekday = (day: number) => (day + 3) % 7;
  const offset = weekday(first);
  const most = Math.max(1, ...counts);
  const cells = counts.map((tokens, index) => {
    const place = index + offset;
    const x = CALENDAR_LEFT + Math.floor(place / 7) * DAY_SIZE;
    const y = CALENDAR_TOP + (place % 7) * DAY_SIZE;
    const day = new Date((first + index) * DAY).toISOString().slice(0, 10);
    return `<rect class="day level${levelOf(tokens, most)}" x="${x}" y="${y}" width="11" height="11" rx="2"><title>${day}: ${countText(tokens, 'token')}</title></rect>`;
  });
  const width = CALENDAR_LEFT + Math.ceil((counts.length + offset) / 7) * DAY_SIZE;
  const days = ['Mon', 'Wed', 'Fri'].map(
    (name, index) =>
      `<text class="small" x="${CALENDAR_LEFT - 6}" y="${CALENDAR_TOP + index * 2 * DAY_SIZE + 6}" text-anchor="end">${name}</text>`,
  );
  const { expired, later, never } = statistics.outsideCalendar();
  return `<figure class="wide"><figcaption>Expiries in the coming year</figcaption>
<div class="sideways"><svg viewBox="0 0 ${width} ${CALENDAR_TOP + 7 * DAY_SIZE}" role="img" aria-label="Expiries in the coming year">
${monthNames({ first, offset, length: counts.length })}
${days.join('\n')}
${cells.join('\n')}
</svg></div>
<p class="legend">fewer ${legend()} more; most on one day: ${numberText(Math.max(0, ...counts))}. Not shown: ${numberText(expired)} expired, ${numberText(later)} later, ${numberText(never)} more than 100 years from now.</p></figure>`;
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
    const x = CALENDAR_LEFT + Math.floor((index + offset) / 7) * DAY_SIZE;
    names.push(`<text class="small" x="${x}" y="8">${MONTHS[date.getUTCMonth()] ?? ''}</text>`);
  }
  return names.join('\n');
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
/** Characters of a label. */
const MAX_LABEL = 17;

/** A bar for each value, the longest as wide as there is room. No script: a pointer over a bar shows its number. */
function barChart(title: string, bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map(({ tokens }) => tokens));
  const room = CHART_WIDTH - LABEL_WIDTH - NUMBER_WIDTH;
  const rows = bars.map(({ label, tokens }, index) => {
    const middle = index * ROW_HEIGHT + ROW_HEIGHT / 2;
    const width = Math.round((tokens / most) * room * 10) / 10;
    // What is there at all has to be seen beside what is there a thousand times.
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

/** As much of a label as fits beside the bars. */
function shortened(label: string): string {
  return label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label;
}
