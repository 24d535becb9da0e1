import { incompleteText } from '../../domain/claims.ts';
import type { Audit, AuditSummary, Finding } from '../../domain/policy/judge.ts';
import { type Policy, type RuleName, ruleNames, rules } from '../../domain/policy/policy.ts';
import { mostSevereFirst, type Severity, severities, zeroBySeverity } from '../../domain/policy/rule.ts';
import { excusable } from '../../domain/policy/subject.ts';
import { html, PAGE_END, pageStart } from '../html.ts';
import { countText, numberText, timeText } from '../tables/text.ts';
import { type AuditedTarget, policyText } from './audit-origin.ts';
import { commonMessage, isOneSentence, type LastUseReader, Worst, withLastUses } from './audit-result.ts';
import { barChart, calendarChart } from './charts.ts';
import { ruleListing } from './json-report.ts';

/** The maximum number of findings listed, so that a browser can open the page. */
const LISTED = 1000;

/** What the page shows in addition to the audit. */
export interface HtmlContext {
  readonly description: AuditedTarget;
  readonly version: string;
  /** Reads last uses, if the target does not show them. */
  readonly lastUses?: LastUseReader | undefined;
}

/**
 * An audit as one HTML page with charts, without network access or scripts. The audit must count statistics.
 * Lists the thousand most severe findings, and says how many more there are.
 */
export async function* htmlReport(audit: Audit, context: HtmlContext): AsyncIterable<string> {
  const worst = new Worst(LISTED);
  const owners = new Owners();
  await audit.findings.each((page) => {
    for (const finding of page) {
      worst.add(finding);
      owners.add(finding);
    }
  });
  const summary = audit.summary();
  yield head(audit, context);
  yield tiles(summary);
  yield charts(audit);
  yield ruleTable(summary, audit.policy);
  yield owners.table();
  yield findingTables(await withLastUses(worst.all(), context.lastUses), summary);
  yield notCheckedList(summary);
  yield `<p class="muted">Written by tokenctl ${html(context.version)}. Times are UTC.</p>\n${PAGE_END}`;
}

function head(audit: Audit, { description }: HtmlContext): string {
  const { now, selection } = audit;
  const product = description.version === null ? '' : `, version ${description.version}`;
  const incomplete = incompleteText(description);
  const title = `Token audit of ${description.context}`;
  return `${pageStart(`${title}, ${timeText(now).slice(0, 10)}`)}<h1>${html(title)}</h1>
<p class="muted">${html(description.address)}${html(product)}, at ${timeText(now)}, as ${html(description.identity.username)}</p>
<p class="muted">Audited: ${html(selection)}. Policy: ${html(policyText(audit))}.</p>
${incomplete === null ? '' : `<p><strong>${html(incomplete)}.</strong></p>\n`}`;
}

function tiles({ tokensRead, found, bySeverity, known, fixed }: AuditSummary): string {
  const tile = (name: string, value: number, kind = '') =>
    `<div class="tile ${value === 0 ? '' : kind}"><b>${numberText(value)}</b><span>${name}</span></div>`;
  return `<div class="tiles">
${tile('tokens', tokensRead)}
${tile(known === null ? 'findings' : 'new findings', found)}
${severities
  .toReversed()
  .map((severity) => tile(severity, bySeverity[severity], severity))
  .join('\n')}
${known === null ? '' : tile('known from the baseline', known)}
${fixed === null ? '' : tile('fixed since the baseline', fixed)}
</div>
`;
}

function charts({ statistics, now }: Audit): string {
  if (statistics === null || statistics.byScope().length === 0) return '';
  return `<h2>The tokens</h2>
<div class="charts">
${barChart('Age', statistics.byAge())}
${barChart('Expiry', statistics.byExpiry())}
${barChart('Last use', statistics.byLastUse())}
${barChart('Scope', statistics.byScope().slice(0, 8))}
${calendarChart(statistics, now)}
</div>
`;
}

function ruleTable({ byRule }: AuditSummary, policy: Policy): string {
  const rows = ruleNames
    .filter((name) => (byRule[name] ?? 0) > 0)
    .sort((a, b) => mostSevereFirst(policy[a], policy[b]))
    .map((name) => {
      const { severity } = policy[name];
      const { finds, remedy } = rules[name].help;
      return `<tr><td class="severity fixed short ${severity}">${severity}</td><td class="fixed short">${name}</td><td class="count" data-label="Findings">${numberText(byRule[name] ?? 0)}</td><td class="text">${html(finds)}<br><span class="muted">${html(remedy)}</span></td></tr>`;
    });
  if (rows.length === 0) return '';
  return `<h2>What was found</h2>
<div class="scroll"><table class="stack"><thead><tr><th>Severity</th><th>Rule</th><th class="count">Findings</th><th>Description and remedy</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>
`;
}

function findingTables(findings: readonly Finding[], { found, known }: AuditSummary): string {
  if (findings.length === 0) return `<h2>Findings</h2>\n<p>No ${known === null ? '' : 'new '}findings.</p>\n`;
  const which =
    found > findings.length
      ? `<p class="muted">The most severe ${numberText(findings.length)} of ${numberText(found)}. Use --format json or csv to get all of them.</p>`
      : `<p class="muted">${countText(found, 'finding')}, most severe first.</p>`;
  const byRule = Map.groupBy(findings, ({ rule }) => rule);
  return `<h2>Findings</h2>\n${which}\n${Array.from(byRule, ([rule, of]) => ruleFindings(rule, of)).join('')}`;
}

/** The findings of one rule, with what it finds, and individual messages only if they differ. */
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
${scrolling(`Findings of ${rule}`)}<table><thead><tr>${heads}</tr></thead><tbody>
${rows.join('')}</tbody></table></div>
`;
}

/** The container of a table that may be wider than the page; keyboard users can scroll it by focus. */
function scrolling(label: string): string {
  return `<div class="scroll" tabindex="0" role="group" aria-label="${html(label)}">`;
}

/** The maximum number of owners ranked. */
const RANKED = 20;

/** Findings by owner: those with the most severe first. */
class Owners {
  readonly #counts = new Map<string, Record<Severity, number>>();

  add({ severity, subject }: Finding): void {
    const owner = excusable(subject).user;
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
${scrolling('Owners')}<table><thead><tr><th>User</th>${worst.map((severity) => `<th class="count">${severity}</th>`).join('')}</tr></thead><tbody>
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
