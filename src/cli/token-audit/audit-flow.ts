import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { Audit, Baseline, Finding } from '../../domain/policy/judge.ts';
import type { Policy, RuleName } from '../../domain/policy/policy.ts';
import { Rows } from '../../domain/rows.ts';
import type { Selector } from '../../domain/selector.ts';
import { auditTokens } from '../../operations/token-audit/audit-tokens.ts';
import { lastUseDays } from '../../operations/tokens/last-use-days.ts';
import {
  type AuditFormat,
  type AuditGroupsJson,
  type AuditSummaryJson,
  atOrAbove,
  groupedResult,
  inFormat,
  type LastUseReader,
  streamedAudit,
  summaryResult,
  tableReport,
  trendText,
} from '../../reports/audit/audit-result.ts';
import { csvReport } from '../../reports/audit/csv-report.ts';
import { type AuditJson, jsonReport } from '../../reports/audit/json-report.ts';
import {
  baselineHeading,
  type PendingFile,
  pendingFile,
  readBaseline,
  requireNewOrReplaced,
  writeReport,
} from '../../reports/report-file.ts';
import type { Report, Result } from '../../reports/result.ts';
import { noScreen, type Screen } from '../../reports/tables/text.ts';
import { policyOf, ruleNamed } from '../flags/policy-flags.ts';
import { noteLimit, writeNotice } from '../output/streams.ts';
import type { AuditFlags } from './audit-flags.ts';

type AuditResult = Result<AuditJson | AuditSummaryJson | AuditGroupsJson>;

export interface AuditFlowOptions {
  readonly runtime: Runtime;
  readonly selector: Selector;
  readonly flags: AuditFlags;
  readonly format: AuditFormat;
  readonly version: string;
  /** Replaces `--baseline`; includes its keys. */
  readonly baseline?: Baseline | undefined;
}

/**
 * Audits, and presents the result as the flags say: as a document written while findings arrive, as counts,
 * or in groups.
 * @throws TokenctlError `usage` for incompatible flags; as the policy, the baseline and the audit do
 */
export async function auditFlow(options: AuditFlowOptions): Promise<AuditResult> {
  const { flags, format } = options;
  requireTogether(flags, format);
  if (flags.output !== undefined) requireNewOrReplaced(flags.output, flags.replace === true);
  const target = await options.runtime.target();
  const policy = policyOf(options.runtime, flags);
  const rules = flags.rule === undefined ? undefined : rulesNamed(flags.rule, policy);
  // These formats have a row for each known and each fixed finding.
  const hasTrend = (format === 'csv' || format === 'sarif') && flags['group-by'] === undefined;
  const baseline =
    flags.baseline === undefined ? options.baseline : await readBaseline(flags.baseline, hasTrend);
  const written = baselineToWrite(options);
  try {
    const audit = await auditTokens({
      target,
      selector: options.selector,
      policy,
      clock: await options.runtime.targetClock(),
      rules,
      baseline,
      withKnown: hasTrend,
      onKey: written && ((key) => written.write(`${key}\n`)),
      countOnly: flags.summary === true && flags.output === undefined,
      statistics: format === 'html',
      openLog: () => options.runtime.auditLog(),
    });
    await noteLimit(options.runtime);
    const floor = flags['min-severity'];
    return await presented(floor === undefined ? audit : atOrAbove(audit, floor), { ...options, written });
  } catch (error) {
    written?.discard();
    throw error;
  }
}

async function presented(
  audit: Audit,
  options: AuditFlowOptions & { readonly written: PendingFile | undefined },
): Promise<AuditResult> {
  const { flags, written } = options;
  const failOn = flags['fail-on'];
  const target = await options.runtime.description();
  const document = (screen: Screen) => reportIn(audit, options, screen);
  if (flags.output !== undefined) {
    await writeReport(flags.output, document(noScreen));
    const { output } = flags;
    return committed(await summaryResult(withoutFindings(audit), { failOn, output, target }), written);
  }
  if (flags.summary === true) {
    return inFormat(committed(await summaryResult(audit, { failOn, target }), written), options.format);
  }
  if (flags['group-by'] !== undefined) {
    const groups = await groupedResult(audit, { by: flags['group-by'], failOn, target });
    return inFormat(committed(groups, written), options.format);
  }
  const makes = options.format === 'json' ? 'json' : 'text';
  return streamedAudit(audit, {
    makes,
    failOn,
    chunks: (screen) => thenCommitted(document(screen), written),
  });
}

async function* reportIn(audit: Audit, options: AuditFlowOptions, screen: Screen): AsyncIterable<string> {
  const { format, runtime, version, flags } = options;
  const description = await runtime.description();
  const lastUses = await lastUseReader(options);
  switch (format) {
    case 'table':
      yield* tableReport(audit, screen, {
        list: flags.list === true,
        limit: flags.limit,
        // An explicitly requested rule shows its findings, whatever their severity.
        floor: flags['min-severity'] ?? (flags.rule === undefined ? 'medium' : 'low'),
        lastUses,
      });
      return;
    case 'json':
      yield* jsonReport(audit, description);
      return;
    case 'csv': {
      yield* csvReport(audit, description, lastUses);
      const trend = trendText(audit.summary());
      if (trend !== null) writeNotice(trend);
      return;
    }
    case 'sarif': {
      const { sarifReport } = await import('../../reports/audit/sarif-report.ts');
      yield* sarifReport(audit, { description, version });
      return;
    }
    case 'html': {
      const { htmlReport } = await import('../../reports/audit/html-report.ts');
      yield* htmlReport(audit, { description, version, lastUses });
    }
  }
}

/** Reads last uses with `--last-used` from a target that does not show them; undefined otherwise. */
async function lastUseReader({ runtime, flags }: AuditFlowOptions): Promise<LastUseReader | undefined> {
  const { capabilities } = await runtime.description();
  if (flags['last-used'] !== true || capabilities.lastUsed) return undefined;
  const target = await runtime.target();
  const clock = await runtime.targetClock();
  return (tokens) => lastUseDays(target, { tokens, now: clock.now() });
}

/** The rules of `--rule`, enabled or not. */
function rulesNamed(names: readonly string[], policy: Policy): RuleName[] {
  const rules = [...new Set(names)].map(ruleNamed);
  for (const rule of rules) {
    const setting = policy[rule];
    if (!('users' in setting) || setting.users.length > 0) continue;
    throw new TokenctlError('usage', `The rule ${rule} requires the parameter users`, {
      hint: `Set it in the policy section of the configuration: ${rule}: { users: [ci-*] }`,
    });
  }
  return rules;
}

function withoutFindings(audit: Audit): Audit {
  return { ...audit, findings: Rows.inTurn<Finding>([]) };
}

function baselineToWrite({ flags, runtime }: AuditFlowOptions): PendingFile | undefined {
  const path = flags['write-baseline'];
  if (path === undefined) return undefined;
  const file = pendingFile(path, 'The baseline');
  file.write(baselineHeading(runtime.clock.now()));
  return file;
}

function committed<Json>(report: Report<Json>, written: PendingFile | undefined): Report<Json> {
  written?.commit();
  return report;
}

/** Moves the baseline into place once the whole audit was read; an interrupted audit keeps the old one. */
async function* thenCommitted(chunks: AsyncIterable<string>, written: PendingFile | undefined) {
  try {
    yield* chunks;
    written?.commit();
  } finally {
    written?.discard();
  }
}

function requireTogether(flags: AuditFlags, format: AuditFormat): void {
  const { output, summary, 'group-by': by } = flags;
  const document = format === 'sarif' || format === 'html';
  if ((summary === true || by !== undefined) && (document || output !== undefined)) {
    const flag = summary === true ? '--summary' : '--group-by';
    throw new TokenctlError(
      'usage',
      `${flag} cannot be combined with a ${document ? format : 'written'} report`,
      { hint: 'Omit one of them.' },
    );
  }
  if (flags.list === true && format !== 'table') {
    throw new TokenctlError('usage', `--list applies to the table, and cannot be combined with ${format}`);
  }
  if (summary === true && format === 'csv') {
    throw new TokenctlError('usage', '--summary cannot be written as CSV', { hint: 'Use --group-by rule.' });
  }
}

interface AuditOf {
  readonly context: string;
  /** Whether other contexts are audited as well. */
  readonly several: boolean;
  readonly format: AuditFormat;
}

/** The placeholder for the name of the context in file names. */
const CONTEXT = '{context}';

/**
 * Reads the policy and the baseline, and checks for files that would be overwritten, before querying a
 * controller. Files per context are checked with their context.
 * @throws TokenctlError `configuration`, `usage`
 */
export async function requireAuditFiles(runtime: Runtime, flags: AuditFlags): Promise<void> {
  policyOf(runtime, flags);
  const { baseline, output } = flags;
  if (baseline !== undefined && !baseline.includes(CONTEXT)) await readBaseline(baseline);
  if (output !== undefined && !output.includes(CONTEXT)) requireNewOrReplaced(output, flags.replace === true);
}

/**
 * The flags of an audit for one context: in file names, `{context}` becomes the context's name. Throws
 * `usage` if several contexts would share a file, or a document that can only hold one.
 */
export function filesPerContext<Flags extends AuditFlags>(
  flags: Flags,
  { context, several, format }: AuditOf,
): Flags {
  const names = ['output', 'baseline', 'write-baseline'] as const;
  const given = names.flatMap((name) => (flags[name] === undefined ? [] : [{ name, path: flags[name] }]));
  const shared = several ? given.find(({ path }) => !path.includes(CONTEXT)) : undefined;
  if (shared !== undefined) throw oneForEach(`--${shared.name}`, shared.path);
  if (several && flags.output === undefined && format !== 'table' && format !== 'json') {
    throw new TokenctlError('usage', `A ${format} report covers one context, but several are audited`, {
      hint: `Add --output 'audit-${CONTEXT}.${format}' to write one file for each context.`,
    });
  }
  const own = given.map(({ name, path }) => [name, path.replaceAll(CONTEXT, context.replace('/', '+'))]);
  return { ...flags, ...Object.fromEntries(own) };
}

function oneForEach(flag: string, path: string): TokenctlError {
  return new TokenctlError('usage', `${flag} ${path} is a single file, but several contexts are audited`, {
    hint: `Use ${CONTEXT} in the name to write one file for each context.`,
  });
}
