import { type Policy, ruleNames } from '../domain/policy/policy.ts';
import { severities } from '../domain/policy/rule.ts';
import type { AuditSummary } from '../operations/token-audit/audit-tokens.ts';
import { countText, numberText } from './counts.ts';
import { printable } from './printable.ts';

/** An audit in numbers, for people: finished lines. */
export function summaryText(summary: AuditSummary, policy: Policy): string {
  const { found, tokensRead, bySeverity, known, excused, notChecked } = summary;
  const counts = severities.toReversed().map((severity) => `${severity} ${numberText(bySeverity[severity])}`);
  const kept = Object.values(excused).reduce((sum, count) => sum + count, 0);
  const lines = [
    `${countText(found, 'finding')} on ${countText(tokensRead, 'token')}: ${counts.join(', ')}.`,
    ...ruleLines(summary, policy),
    ...(known === null ? [] : [`Known already by the baseline: ${countText(known, 'finding')}.`]),
    ...(kept === 0 ? [] : [`Excused by exceptions of the policy: ${countText(kept, 'finding')}.`]),
    ...notChecked.map(({ rule, why }) => `Not checked: ${rule}: ${printable.value(why)}.`),
  ];
  return `${lines.join('\n')}\n`;
}

/** How many findings each rule has that has any, the most severe rules first. */
function ruleLines({ byRule }: AuditSummary, policy: Policy): string[] {
  const rows = ruleNames
    .map((rule) => ({ rule, severity: policy[rule].severity, count: byRule[rule] ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity));
  const width = Math.max(0, ...rows.map(({ count }) => numberText(count).length));
  const ruleWidth = Math.max(0, ...rows.map(({ rule }) => rule.length));
  return rows.map(
    ({ count, rule, severity }) =>
      `  ${numberText(count).padStart(width)}  ${rule.padEnd(ruleWidth)}  ${severity}`,
  );
}
