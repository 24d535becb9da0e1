import { TokenctlError } from '../core/errors.ts';
import { atLeast, type Severity, severities } from '../core/policy/policy.ts';
import type { AuditReport, Finding } from '../operations/audit-tokens.ts';
import { countText, numberText } from './counts.ts';
import { printable } from './printable.ts';
import { type Listing, listing, type Report, report, type Screen } from './result.ts';
import { tokenToJson } from './token-view.ts';

/** How an audit is to be presented. */
export interface AuditPresentation {
  /** The command fails where there are findings at or above this. */
  readonly failOn: Severity | undefined;
  /** Counts only, without the findings themselves. */
  readonly summary: boolean;
}

/** An audit as a command's result. */
export function auditResult(audit: AuditReport, { failOn, summary }: AuditPresentation): Report {
  const { findings, ...counts } = audit;
  return report({
    json: summary ? counts : { ...audit, findings: findings.map(findingToJson) },
    text: (screen) => (summary ? summaryText(audit) : auditText(audit, screen)),
    csv: findingListing(worstFirst(audit.findings)),
    failure: failOn === undefined ? undefined : tooSevere(audit, failOn),
  });
}

function findingToJson({ rule, severity, message, token }: Finding): object {
  return { rule, severity, message, token: tokenToJson(token) };
}

function findingListing(rows: readonly Finding[]): Listing<Finding> {
  return listing({
    rows,
    columns: [
      { name: 'severity', cell: ({ severity }) => severity, whole: true },
      { name: 'rule', cell: ({ rule }) => rule, whole: true },
      { name: 'token', cell: ({ token }) => String(token.id), whole: true },
      {
        name: 'user',
        cell: ({ token }) => token.user?.username ?? '(none)',
        csv: ({ token }) => token.user?.username ?? '',
        whole: true,
      },
      { name: 'finding', cell: ({ message }) => message, narrow: 'below' },
    ],
    json: findingToJson,
    none: 'No findings.',
  });
}

async function auditText(audit: AuditReport, { width }: Screen): Promise<string> {
  const { tableLines } = await import('./table.ts');
  let text = '';
  for await (const block of tableLines(findingListing(worstFirst(audit.findings)), width)) text += block;
  return `${text}${text === '' ? '' : '\n'}${summaryText(audit)}`;
}

function summaryText({ tokensRead, findings, bySeverity, notChecked }: AuditReport): string {
  const counts = severities.toReversed().map((severity) => `${severity} ${numberText(bySeverity[severity])}`);
  const lines = [
    `${countText(findings.length, 'finding')} on ${countText(tokensRead, 'token')}: ${counts.join(', ')}.`,
    ...ruleLines(findings),
    ...notChecked.map(({ rule, why }) => `Not checked: ${rule}: ${printable.value(why)}.`),
  ];
  return `${lines.join('\n')}\n`;
}

/** How many findings each rule has that has any, worst first. */
function ruleLines(findings: readonly Finding[]): string[] {
  const tallies = Object.values(Object.groupBy(worstFirst(findings), ({ rule }) => rule));
  const rows = tallies.flatMap((found) => {
    const [first] = found ?? [];
    return first === undefined ? [] : [{ ...first, count: numberText(found?.length ?? 0) }];
  });
  const width = Math.max(0, ...rows.map(({ count }) => count.length));
  const ruleWidth = Math.max(0, ...rows.map(({ rule }) => rule.length));
  return rows.map(
    ({ count, rule, severity }) => `  ${count.padStart(width)}  ${rule.padEnd(ruleWidth)}  ${severity}`,
  );
}

function worstFirst(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity));
}

function tooSevere({ findings }: AuditReport, failOn: Severity): TokenctlError | undefined {
  const found = findings.filter(({ severity }) => atLeast(severity, failOn)).length;
  if (found === 0) return undefined;
  return new TokenctlError('findings', `${countText(found, 'finding')} of severity ${failOn} or above`, {
    details: { failOn, found },
  });
}
