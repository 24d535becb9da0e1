import type { Visibility } from '../../domain/claims.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Audit, AuditSummary, Finding } from '../../domain/policy/judge.ts';
import { type Policy, ruleNames } from '../../domain/policy/policy.ts';
import { atLeast, type Severity, severities, zeroBySeverity } from '../../domain/policy/rule.ts';
import { applicationOf, ownerOf } from '../../domain/policy/subject.ts';
import {
  csvLines,
  type Listing,
  listing,
  type Report,
  report,
  type Screen,
  type Streamed,
} from '../tables/result.ts';
import { countText, numberText, onScreen, type Paint, printable } from '../tables/text.ts';
import { findingListing, jsonReport, severityTones } from './json-report.ts';

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
export async function* tableReport(audit: Audit, screen: Screen): AsyncIterable<string> {
  const { tableLines } = await import('../tables/table.ts');
  let gap = '';
  for await (const block of tableLines(findingListing(worstFirstWhereFew(audit.findings)), screen)) {
    yield block;
    gap = '\n';
  }
  yield gap + onScreen(summaryText(audit, screen), screen);
}

/** The findings as CSV. */
export function csvReport(audit: Audit): AsyncIterable<string> {
  return csvLines(findingListing(worstFirstWhereFew(audit.findings)));
}

/** The findings in one of the formats that need nothing but the audit. */
export function plainReport(
  audit: Audit,
  {
    format,
    screen,
    visibility,
  }: {
    readonly format: 'table' | 'json' | 'csv';
    readonly screen: Screen;
    readonly visibility: Visibility;
  },
): AsyncIterable<string> {
  if (format === 'json') return jsonReport(audit, visibility);
  return format === 'csv' ? csvReport(audit) : tableReport(audit, screen);
}

/** An audit's counts alone, as a command's result. The findings are read for it, and not kept. */
export async function summaryResult(
  audit: Audit,
  {
    failOn,
    output,
    visibility,
  }: {
    readonly failOn: Severity | undefined;
    readonly output?: string | undefined;
    readonly visibility: Visibility;
  },
): Promise<Report> {
  for await (const _finding of audit.findings);
  const summary = audit.summary();
  return report({
    json: { ...summary, visibility, ...(output !== undefined && { output }) },
    text: (screen) => summaryText(audit, screen) + (output === undefined ? '' : `Written to ${output}\n`),
    failure: tooSevere(summary, failOn),
  });
}

/** An audit's findings counted by what they share, as a command's result. */
export async function groupedResult(
  audit: Audit,
  {
    by,
    failOn,
    visibility,
  }: { readonly by: Grouping; readonly failOn: Severity | undefined; readonly visibility: Visibility },
): Promise<Report> {
  const groups = await grouped(audit.findings, by);
  const summary = audit.summary();
  const rows = groupListing(groups, by);
  return report({
    json: { groupBy: by, groups, ...summary, visibility },
    text: async (screen) => {
      const { tableLines } = await import('../tables/table.ts');
      let text = '';
      for await (const block of tableLines(rows, screen)) text += block;
      return `${text}${text === '' ? '' : '\n'}${summaryText(audit, screen)}`;
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
      else yield onScreen(await text(screen), screen);
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

/** An audit in numbers, for people: finished lines. */
function summaryText(audit: Audit, { paint }: Screen): string {
  const summary = audit.summary();
  const { found, tokensRead, bySeverity, known, excused, notChecked } = summary;
  const counts = severities.toReversed().map((severity) => {
    const words = [severity, numberText(bySeverity[severity])];
    const tone = severityTones[severity];
    return words.map((word) => (bySeverity[severity] === 0 ? word : paint(tone, word))).join(' ');
  });
  const kept = Object.values(excused).reduce((sum, count) => sum + count, 0);
  const lines = [
    `${countText(found, 'finding')} on ${countText(tokensRead, 'token')}: ${counts.join(', ')}.`,
    ...ruleLines(summary, { policy: audit.policy, paint }),
    ...(known === null ? [] : [`Known already by the baseline: ${countText(known, 'finding')}.`]),
    ...(kept === 0 ? [] : [`Excused by exceptions of the policy: ${countText(kept, 'finding')}.`]),
    ...notChecked.map(({ rule, why }) => `Not checked: ${rule}: ${printable.value(why)}.`),
  ];
  return `${lines.join('\n')}\n`;
}

/** The number of findings of each rule that has findings, the most severe rules first. */
function ruleLines(
  { byRule, severities: here }: AuditSummary,
  { policy, paint }: { readonly policy: Policy; readonly paint: Paint },
): string[] {
  const rows = ruleNames
    .map((rule) => ({ rule, severity: here?.[rule] ?? policy[rule].severity, count: byRule[rule] ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity));
  const width = Math.max(0, ...rows.map(({ count }) => numberText(count).length));
  const ruleWidth = Math.max(0, ...rows.map(({ rule }) => rule.length));
  return rows.map(
    ({ count, rule, severity }) =>
      `  ${numberText(count).padStart(width)}  ${rule.padEnd(ruleWidth)}  ${paint(severityTones[severity], severity)}`,
  );
}

/** By what findings can be put together. */
export type Grouping = 'user' | 'application' | 'rule' | 'severity';

/** Findings that share something: an owner, an application, a rule, a severity. */
export interface Group {
  readonly name: string;
  readonly findings: number;
  readonly bySeverity: Readonly<Record<Severity, number>>;
}

/** Counts findings by what they share. Largest first; what has nothing of the kind is under `(none)`. */
export async function grouped(findings: AsyncIterable<Finding>, by: Grouping): Promise<Group[]> {
  const groups = new Map<string, { findings: number; bySeverity: Record<Severity, number> }>();
  for await (const finding of findings) {
    const name = nameOf(finding, by);
    let group = groups.get(name);
    if (group === undefined) {
      group = { findings: 0, bySeverity: zeroBySeverity() };
      groups.set(name, group);
    }
    group.findings += 1;
    group.bySeverity[finding.severity] += 1;
  }
  return Array.from(groups, ([name, group]) => ({ name, ...group })).sort(
    (one, other) => other.findings - one.findings || (one.name < other.name ? -1 : 1),
  );
}

function nameOf({ rule, severity, subject }: Finding, by: Grouping): string {
  if (by === 'rule') return rule;
  if (by === 'severity') return severity;
  const name = by === 'user' ? ownerOf(subject)?.username : applicationOf(subject)?.name;
  return name ?? '(none)';
}

/** Groups as rows, for the table and for CSV. */
function groupListing(groups: readonly Group[], by: Grouping): Listing<Group> {
  return listing({
    rows: groups,
    columns: [
      { name: by, cell: ({ name }) => name, whole: true },
      { name: 'findings', cell: count(({ findings }) => findings), csv: ({ findings }) => String(findings) },
      ...severities.toReversed().map((severity) => ({
        name: severity,
        cell: count(({ bySeverity }) => bySeverity[severity]),
        csv: ({ bySeverity }: Group) => String(bySeverity[severity]),
      })),
    ],
    json: (group) => group,
    none: 'No findings.',
  });
}

function count(of: (group: Group) => number): (group: Group) => string {
  return (group) => numberText(of(group));
}

/** So many findings are sorted; more than that come as they are found. */
const FEW = 10_000;

/** The worst first, those of one severity in the order in which they came. */
function sorted(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity));
}

/**
 * Hands findings on, the worst first where there are few: up to ten thousand are held for that. From a large
 * audit the first ten thousand come sorted and the others after them, as they are found.
 */
export async function* worstFirstWhereFew(
  findings: AsyncIterable<Finding>,
  few: number = FEW,
): AsyncIterable<Finding> {
  let held: Finding[] | null = [];
  for await (const finding of findings) {
    if (held === null) {
      yield finding;
    } else if (held.push(finding) > few) {
      yield* sorted(held);
      held = null;
    }
  }
  if (held !== null) yield* sorted(held);
}

/** Keeps so many findings, the worst of those that came. */
export class Worst {
  readonly #most: number;
  readonly #bySeverity = new Map<string, Finding[]>(severities.map((severity) => [severity, []]));

  constructor(most: number) {
    this.#most = most;
  }

  add(finding: Finding): void {
    const kept = this.#bySeverity.get(finding.severity);
    if (kept !== undefined && kept.length < this.#most) kept.push(finding);
  }

  /** The worst first. */
  all(): Finding[] {
    return severities
      .toReversed()
      .flatMap((severity) => this.#bySeverity.get(severity) ?? [])
      .slice(0, this.#most);
  }
}
