import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Audit, AuditSummary, Finding, FixedFinding } from '../../domain/policy/judge.ts';
import { type Policy, type RuleName, ruleNames, rules } from '../../domain/policy/policy.ts';
import { atLeast, mostSevereFirst, type Severity, severities } from '../../domain/policy/rule.ts';
import { Rows } from '../../domain/rows.ts';
import type { Token } from '../../domain/token.ts';
import { type Document, documentText, type Line, lines, warning } from '../document.ts';
import { type Report, report, type Streamed } from '../result.ts';
import { csvLines } from '../tables/listing.ts';
import { countText, numberText, onScreen, printable, type Screen } from '../tables/text.ts';
import type { ListedToken } from '../tables/token-view.ts';
import { type AuditedTarget, auditOrigin } from './audit-origin.ts';
import { type Group, type Grouping, grouped, groupListing } from './groups.ts';
import {
  type AuditFrameJson,
  type AuditJson,
  findingListing,
  ruleListing,
  severityTones,
} from './json-report.ts';

export type AuditFormat = 'table' | 'json' | 'csv' | 'sarif' | 'html';

export interface AuditPresentation {
  readonly makes: Streamed['makes'];
  /** The command fails if a finding has at least this severity. */
  readonly failOn: Severity | undefined;
  /** Creates the audit's document in the requested format. */
  readonly chunks: (screen: Screen) => AsyncIterable<string>;
}

/** An audit as a document, written while findings arrive. */
export function streamedAudit(
  audit: Audit,
  { makes, failOn, chunks }: AuditPresentation,
): Streamed<AuditJson> {
  return { kind: 'streamed', makes, chunks, failure: () => tooSevere(audit.summary(), failOn) };
}

/** Reads the days of tokens' last uses from a target that does not show them. */
export type LastUseReader = (tokens: readonly Token[]) => Promise<ReadonlyMap<number, Date | null>>;

/** An audit with only the findings of at least this severity; its counts still cover all. */
export function atOrAbove(audit: Audit, floor: Severity): Audit {
  const isShown = ({ severity }: { severity: Severity }) => atLeast(severity, floor);
  function* fixed(): Iterable<FixedFinding> {
    for (const finding of audit.fixed()) if (isShown(finding)) yield finding;
  }
  return { ...audit, findings: audit.findings.map((page) => page.filter(isShown)), fixed };
}

/** Findings with the days of their tokens' last uses. */
export async function withLastUses(
  findings: readonly Finding[],
  lastUses: LastUseReader | undefined,
): Promise<readonly Finding[]> {
  if (lastUses === undefined) return findings;
  const tokens = new Map<number, Token>();
  for (const { subject } of findings)
    if (subject.kind === 'token') tokens.set(subject.token.id, subject.token);
  const days = await lastUses([...tokens.values()]);
  return findings.map((finding) => {
    const { rule, severity, subject, message, isKnown } = finding;
    if (subject.kind !== 'token') return finding;
    const lastUsedOn = days.get(subject.token.id);
    if (lastUsedOn === undefined) return finding;
    const token: ListedToken = { ...subject.token, lastUsedOn };
    return { rule, severity, message, subject: { kind: 'token', token }, ...(isKnown && { isKnown }) };
  });
}

/** Default number of findings to show per rule. */
const SHOWN = 5;

export interface TableOptions {
  /** One table of all findings instead of one for each rule. */
  readonly list?: boolean;
  /** The number of findings to show per rule, or in the one table. Default: five, or all. */
  readonly limit?: number | undefined;
  /** Less severe findings are only counted. */
  readonly floor?: Severity;
  readonly lastUses?: LastUseReader | undefined;
}

/** The findings as tables, by default one for each rule, most severe first, followed by the summary. */
export async function* tableReport(
  audit: Audit,
  screen: Screen,
  options: TableOptions = {},
): AsyncIterable<string> {
  const { tableLines } = await import('../tables/table.ts');
  const { floor = 'low', limit, lastUses } = options;
  let hidden = 0;
  const severe = audit.findings.map((page) => {
    const shown = page.filter(({ severity }) => atLeast(severity, floor));
    hidden += page.length - shown.length;
    return shown;
  });
  let gap = '';
  if (options.list === true) {
    const rows = firstOf(worstFirstWhereFew(severe), { limit, lastUses });
    for await (const block of tableLines(findingListing(rows), screen)) {
      yield block;
      gap = '\n';
    }
  } else {
    const groups = await byRule(severe, limit ?? SHOWN);
    for (const group of groups) {
      yield gap + groupHeading(group, screen);
      const shown = await withLastUses(group.shown, lastUses);
      const lines = tableLines(ruleListing(shown, isOneSentence(shown)), {
        ...screen,
        width: screen.width - GROUP_INDENT.length,
      });
      for await (const block of lines) yield indented(block);
      const more = group.count - shown.length;
      if (more > 0) yield `${GROUP_INDENT}and ${numberText(more)} more\n`;
      gap = '\n';
    }
  }
  yield gap +
    onScreen(
      documentText([lines(hidden > 0 && hiddenText(hidden, floor))]) +
        documentText(summaryDocument(audit), screen.paint),
      screen,
    );
}

function hiddenText(hidden: number, floor: Severity): string {
  return `Not shown: ${countText(hidden, 'finding')} below the severity ${floor}. To show them: --min-severity low`;
}

const GROUP_INDENT = '  ';

function indented(lines: string): string {
  return lines.replaceAll(/^(?=.)/gm, GROUP_INDENT);
}

/** A rule's first findings, and their number. */
interface RuleGroup {
  readonly rule: RuleName;
  severity: Severity;
  count: number;
  /** The message common to all of them; null once they differ. */
  common: string | null;
  readonly shown: Finding[];
}

/** Most severe rules first; for equal ones, those with the most findings. */
async function byRule(findings: Rows<Finding>, shown: number): Promise<readonly RuleGroup[]> {
  const groups = new Map<RuleName, RuleGroup>();
  await findings.each((page) => {
    for (const finding of page) {
      const { rule, severity } = finding;
      let group = groups.get(rule);
      if (group === undefined) {
        group = { rule, severity, count: 0, common: finding.message, shown: [] };
        groups.set(rule, group);
      }
      group.count += 1;
      if (group.common !== null && group.common !== finding.message) group.common = null;
      if (group.shown.length < shown) group.shown.push(finding);
    }
  });
  return [...groups.values()].sort((one, other) => mostSevereFirst(one, other) || other.count - one.count);
}

function groupHeading({ rule, severity, count, common }: RuleGroup, screen: Screen): string {
  const heading = `${screen.paint(severityTones[severity], severity)}  ${rule}: ${countText(count, 'finding')}\n`;
  const text =
    count === 1 || common === null ? rules[rule].help.finds : `${rules[rule].help.finds} ${common}`;
  return (
    heading +
    indented(onScreen(`${printable.value(text)}\n`, { ...screen, width: screen.width - GROUP_INDENT.length }))
  );
}

/** A message without the owner and the numbers, which other columns of a token show. */
function sentenceOf({ subject, message }: Finding): string {
  if (subject.kind !== 'token') return message;
  const owner = subject.token.user?.username ?? '';
  const nameless = owner === '' ? message : message.replaceAll(owner, '…');
  return nameless.replaceAll(/\d+/g, '…');
}

/** Whether several findings have the same message, apart from what other columns show. */
export function isOneSentence([first, ...others]: readonly Finding[]): boolean {
  if (first === undefined || others.length === 0) return false;
  const sentence = sentenceOf(first);
  return others.every((other) => sentenceOf(other) === sentence);
}

/** The message common to several findings; null if they differ. */
export function commonMessage(findings: readonly Finding[]): string | null {
  const [first, ...others] = findings;
  if (first === undefined || others.length === 0) return null;
  const { message } = first;
  return others.every((other) => other.message === message) ? message : null;
}

/** The first findings, with the days of their last uses. */
export function firstOf(
  findings: Rows<Finding>,
  { limit = Number.POSITIVE_INFINITY, lastUses }: Pick<TableOptions, 'limit' | 'lastUses'>,
): Rows<Finding> {
  if (limit === Number.POSITIVE_INFINITY && lastUses === undefined) return findings;
  return Rows.once(async () => {
    const held: Finding[] = [];
    await findings.each((page) => held.push(...page.slice(0, limit - held.length)));
    return await withLastUses(held, lastUses);
  });
}

/** What `tokens audit` prints with `--json --summary`, and for a report that was written to a file. */
export interface AuditSummaryJson extends AuditFrameJson {
  /** The file of --output. */
  readonly output?: string | undefined;
}

/** What `tokens audit` prints with `--json --group-by`. */
export interface AuditGroupsJson extends AuditFrameJson {
  readonly groupBy: Grouping;
  readonly groups: readonly Group[];
}

/** Only an audit's counts, as a command's result. The findings are read for it, but not stored. */
export async function summaryResult(
  audit: Audit,
  options: { failOn: Severity | undefined; output?: string | undefined; target: AuditedTarget },
): Promise<Report<AuditSummaryJson>> {
  const { failOn, output, target } = options;
  await audit.findings.each();
  const summary = audit.summary();
  return report({
    json: { origin: auditOrigin(audit, target), ...summary, visibility: target.visibility, output },
    document: summaryDocument(audit, output),
    failure: tooSevere(summary, failOn),
  });
}

/** An audit's findings counted by group, as a command's result. */
export async function groupedResult(
  audit: Audit,
  { by, failOn, target }: { by: Grouping; failOn: Severity | undefined; target: AuditedTarget },
): Promise<Report<AuditGroupsJson>> {
  const groups = await grouped(audit.findings, by);
  const summary = audit.summary();
  const rows = groupListing(groups, by);
  return report({
    json: {
      origin: auditOrigin(audit, target),
      groupBy: by,
      groups,
      ...summary,
      visibility: target.visibility,
    },
    text: async (screen) => {
      const { tableLines } = await import('../tables/table.ts');
      let text = '';
      for await (const block of tableLines(rows, screen)) text += block;
      return `${text}${text === '' ? '' : '\n'}${documentText(summaryDocument(audit), screen.paint)}`;
    },
    csv: rows,
    failure: tooSevere(summary, failOn),
  });
}

/** A report in the format requested with `--format`. */
export function inFormat<Json>(
  { json, text, csv, failure }: Report<Json>,
  format: AuditFormat,
): Streamed<Json> {
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

/** The number of findings; with a baseline, without known ones. */
function foundText(count: number, { known }: AuditSummary): string {
  return countText(count, known === null ? 'finding' : 'new finding');
}

function tooSevere(summary: AuditSummary, failOn: Severity | undefined): TokenctlError | undefined {
  if (failOn === undefined) return undefined;
  const found = severities
    .filter((severity) => atLeast(severity, failOn))
    .reduce((sum, severity) => sum + summary.bySeverity[severity], 0);
  if (found === 0) return undefined;
  return new TokenctlError('findings', `${foundText(found, summary)} of severity ${failOn} or above`, {
    details: { failOn, found },
  });
}

/** How an audit differs from its baseline, as a sentence; null without one. */
export function trendText({ found, known, fixed }: AuditSummary): string | null {
  if (known === null) return null;
  const counts = `Compared with the baseline: ${numberText(found)} new, ${numberText(known)} known`;
  return fixed === null
    ? `${counts}. Fixed findings are counted only if all tokens are audited and visible.`
    : `${counts}, ${numberText(fixed)} fixed.`;
}

/** The counts of an audit, for display. */
function summaryDocument(audit: Audit, output?: string): Document {
  const summary = audit.summary();
  const { found, tokensRead, bySeverity, excused, notChecked } = summary;
  const counts = severities.toReversed().flatMap((severity) => {
    const number = numberText(bySeverity[severity]);
    if (bySeverity[severity] === 0) return [', ', `${severity} ${number}`];
    const tone = severityTones[severity];
    return [', ', { word: severity, tone }, ' ', { word: number, tone }];
  });
  const kept = Object.values(excused).reduce((sum, count) => sum + count, 0);
  const heading = `${foundText(found, summary)} on ${countText(tokensRead, 'token')}: `;
  return [
    lines(
      { text: [heading, ...counts.slice(1), '.'] },
      ruleLines(summary, audit.policy),
      trendText(summary),
      kept > 0 && `Suppressed by policy exceptions: ${countText(kept, 'finding')}.`,
      [...Map.groupBy(notChecked, ({ why }) => why)].map(
        ([why, rules]) => warning`Not checked: ${rules.map(({ rule }) => rule).join(', ')}: ${why}.`,
      ),
      output !== undefined && `Written to ${output}`,
    ),
  ];
}

/** The number of findings per rule with any, most severe rules first. */
function ruleLines({ byRule, severities: here }: AuditSummary, policy: Policy): Line[] {
  return ruleNames
    .map((rule) => ({ rule, severity: here?.[rule] ?? policy[rule].severity, count: byRule[rule] ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort(mostSevereFirst)
    .map(({ count, rule, severity }) => ({
      columns: [count, rule, { word: severity, tone: severityTones[severity] }],
      depth: 1,
    }));
}

/** The maximum number of findings to sort; more are shown as they arrive. */
const FEW = 10_000;

/**
 * Sorts findings by severity, most severe first, if there are up to ten thousand, which are held in memory.
 * In a larger audit the first ten thousand are sorted, and the others follow as they arrive.
 */
export function worstFirstWhereFew(findings: Rows<Finding>, few: number = FEW): Rows<Finding> {
  async function* pages(): AsyncIterable<readonly Finding[]> {
    let held: readonly Finding[] | null = [];
    for await (const page of findings.pages()) {
      if (held === null) yield page;
      else {
        held = [...held, ...page];
        if (held.length <= few) continue;
        yield held.slice(0, few + 1).toSorted(mostSevereFirst);
        yield held.slice(few + 1);
        held = null;
      }
    }
    if (held !== null) yield held.toSorted(mostSevereFirst);
  }
  return Rows.from(pages());
}

/** Keeps a limited number of findings, the most severe ones. */
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

  /** Most severe first. */
  all(): Finding[] {
    return severities
      .toReversed()
      .flatMap((severity) => this.#bySeverity.get(severity) ?? [])
      .slice(0, this.#most);
  }
}
