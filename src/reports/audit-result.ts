import { TokenctlError } from '../domain/errors.ts';
import { atLeast, type Severity, severities } from '../domain/policy/rule.ts';
import type { Audit, AuditSummary } from '../operations/token-audit/audit-tokens.ts';
import { countText } from './counts.ts';
import { findingListing } from './finding-view.ts';
import { type Grouping, grouped, groupListing } from './groups.ts';
import { jsonReport } from './json-report.ts';
import { csvLines } from './listing.ts';
import { printable } from './printable.ts';
import { type Report, report, type Screen, type Streamed } from './result.ts';
import { summaryText } from './summary-text.ts';
import { worstFirstWhereFew } from './worst-first.ts';

/** The formats of an audit's report. */
export type AuditFormat = 'table' | 'json' | 'csv' | 'sarif' | 'html';

/** How an audit is presented. */
export interface AuditPresentation {
  readonly makes: Streamed['makes'];
  /** The command fails where there are findings at or above this. */
  readonly failOn: Severity | undefined;
  /** Made from the audit in the format asked for. */
  readonly chunks: (screen: Screen) => AsyncIterable<string>;
}

/** An audit as a document that is written as it is found. */
export function streamedAudit(audit: Audit, { makes, failOn, chunks }: AuditPresentation): Streamed {
  return { kind: 'streamed', makes, chunks, failure: () => tooSevere(audit.summary(), failOn) };
}

/** The findings as a table, and the summary under it. */
export async function* tableReport(audit: Audit, { width }: Screen): AsyncIterable<string> {
  const { tableLines } = await import('./table.ts');
  let gap = '';
  for await (const block of tableLines(findingListing(worstFirstWhereFew(audit.findings)), width)) {
    yield block;
    gap = '\n';
  }
  yield gap + summaryText(audit.summary(), audit.policy);
}

/** The findings as CSV. */
export function csvReport(audit: Audit): AsyncIterable<string> {
  return csvLines(findingListing(worstFirstWhereFew(audit.findings)));
}

/** The findings in one of the formats that need nothing but the audit. */
export function plainReport(
  audit: Audit,
  { format, screen }: { readonly format: 'table' | 'json' | 'csv'; readonly screen: Screen },
): AsyncIterable<string> {
  if (format === 'json') return jsonReport(audit);
  return format === 'csv' ? csvReport(audit) : tableReport(audit, screen);
}

/** An audit's counts alone, as a command's result. The findings are read for it, and not kept. */
export async function summaryResult(
  audit: Audit,
  { failOn, output }: { readonly failOn: Severity | undefined; readonly output?: string | undefined },
): Promise<Report> {
  for await (const _finding of audit.findings);
  const summary = audit.summary();
  return report({
    json: { ...summary, ...(output !== undefined && { output }) },
    text: () => summaryText(summary, audit.policy) + (output === undefined ? '' : `Written to ${output}\n`),
    failure: tooSevere(summary, failOn),
  });
}

/** An audit's findings counted by what they share, as a command's result. */
export async function groupedResult(
  audit: Audit,
  { by, failOn }: { readonly by: Grouping; readonly failOn: Severity | undefined },
): Promise<Report> {
  const groups = await grouped(audit.findings, by);
  const summary = audit.summary();
  const rows = groupListing(groups, by);
  return report({
    json: { groupBy: by, groups, ...summary },
    text: async ({ width }) => {
      const { tableLines } = await import('./table.ts');
      let text = '';
      for await (const block of tableLines(rows, width)) text += block;
      return `${text}${text === '' ? '' : '\n'}${summaryText(summary, audit.policy)}`;
    },
    csv: rows,
    failure: tooSevere(summary, failOn),
  });
}

/** A report in the format that `--format` asks for. */
export function inFormat({ json, text, csv, failure }: Report, format: AuditFormat): Streamed {
  return {
    kind: 'streamed',
    makes: format === 'json' ? 'json' : 'text',
    async *chunks(screen) {
      if (format === 'json') yield `${printable.lines(JSON.stringify(json, null, 2))}\n`;
      else if (format === 'csv' && csv !== undefined) yield* csvLines(csv);
      else yield await text(screen);
    },
    failure: () => failure,
  };
}

function tooSevere({ bySeverity }: AuditSummary, failOn: Severity | undefined): TokenctlError | undefined {
  if (failOn === undefined) return undefined;
  const found = severities
    .filter((severity) => atLeast(severity, failOn))
    .reduce((sum, severity) => sum + bySeverity[severity], 0);
  if (found === 0) return undefined;
  return new TokenctlError('findings', `${countText(found, 'finding')} of severity ${failOn} or above`, {
    details: { failOn, found },
  });
}
