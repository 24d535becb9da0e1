import type { Finding } from '../domain/policy/judge.ts';
import { type Policy, ruleNames, rules } from '../domain/policy/policy.ts';
import { severities } from '../domain/policy/rule.ts';
import { ownerOf, subjectName } from '../domain/policy/subject.ts';
import type { TargetDescription } from '../operations/ports/target.ts';
import type { Audit, AuditSummary } from '../operations/token-audit/audit-tokens.ts';
import { barChart } from './bar-chart.ts';
import { calendarChart } from './calendar-chart.ts';
import { countText, numberText } from './counts.ts';
import { htmlStyle } from './html-style.ts';
import { html } from './html-text.ts';
import { timeText } from './times.ts';
import { Worst } from './worst-first.ts';

/** So many findings are listed; the page must open in a browser, however many there are. */
const LISTED = 1000;

/** What a page states besides the audit. */
export interface HtmlContext {
  readonly description: Pick<TargetDescription, 'context' | 'address' | 'version'>;
  /** The program's version. */
  readonly version: string;
}

/**
 * An audit as one HTML page, with charts, that needs no network and no script. The audit must count
 * statistics. Lists the worst thousand findings and says how many more there are.
 */
export async function* htmlReport(audit: Audit, context: HtmlContext): AsyncIterable<string> {
  const worst = new Worst(LISTED);
  for await (const finding of audit.findings) worst.add(finding);
  const summary = audit.summary();
  yield head(audit, context);
  yield tiles(summary);
  yield charts(audit);
  yield ruleTable(summary, audit.policy);
  yield* findingTable(worst.all(), summary);
  yield notCheckedList(summary);
  yield `<p class="muted">Written by tokenctl ${html(context.version)}. Times are UTC.</p>\n</main></body></html>\n`;
}

function head({ now }: Audit, { description }: HtmlContext): string {
  const product = description.version === null ? '' : `, version ${description.version}`;
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
`;
}

function tiles({ tokensRead, found, bySeverity, known }: AuditSummary): string {
  const tile = (name: string, value: number, kind = '') =>
    `<div class="tile ${kind}"><b>${numberText(value)}</b><span>${name}</span></div>`;
  return `<div class="tiles">
${tile('tokens', tokensRead)}
${tile('findings', found)}
${severities
  .toReversed()
  .map((severity) => tile(severity, bySeverity[severity], severity))
  .join('\n')}
${known === null ? '' : tile('known by the baseline', known)}
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

function* findingTable(findings: readonly Finding[], { found }: AuditSummary): Iterable<string> {
  if (findings.length === 0) {
    yield '<h2>Findings</h2>\n<p>No findings.</p>\n';
    return;
  }
  const which =
    found > findings.length
      ? `<p class="muted">The worst ${numberText(findings.length)} of ${numberText(found)}; --format json or csv has them all.</p>`
      : `<p class="muted">${countText(found, 'finding')}, the worst first.</p>`;
  yield `<h2>Findings</h2>\n${which}\n<div class="scroll"><table><thead><tr><th>Severity</th><th>Rule</th><th>Subject</th><th>User</th><th>Finding</th></tr></thead><tbody>\n`;
  for (const { rule, severity, subject, message } of findings) {
    const name = subjectName(subject);
    yield `<tr><td class="severity fixed ${severity}">${severity}</td><td class="fixed">${rule}</td><td${name.length < 25 ? ' class="fixed"' : ''}>${html(name)}</td><td>${html(ownerOf(subject)?.username ?? '')}</td><td class="text">${html(message)}</td></tr>\n`;
  }
  yield '</tbody></table></div>\n';
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
