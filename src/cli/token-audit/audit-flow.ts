import type { Runtime } from '../../app/runtime.ts';
import { policyFile } from '../../config/configuration.ts';
import { policyFrom } from '../../config/policy.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import type { Audit } from '../../domain/policy/judge.ts';
import { type Policy, type RuleName, ruleNames, rules } from '../../domain/policy/policy.ts';
import type { RuleHelp, Severity } from '../../domain/policy/rule.ts';
import type { Selector } from '../../domain/selector.ts';
import { auditTokens } from '../../operations/token-audit/audit-tokens.ts';
import {
  type AuditFormat,
  type Grouping,
  groupedResult,
  inFormat,
  plainReport,
  streamedAudit,
  summaryResult,
} from '../../reports/audit/audit-result.ts';
import {
  baselineHeading,
  type PendingFile,
  pendingFile,
  readBaseline,
  writeReport,
} from '../../reports/report-file.ts';
import { noScreen, type Report, type Result, report, type Screen } from '../../reports/tables/result.ts';
import { wrapped } from '../../reports/tables/text.ts';
import { noteLimit } from '../output/streams.ts';

/** The flags that say by what tokens are judged, beside the configuration. */
export interface PolicyFlags {
  readonly policy?: string | undefined;
  readonly 'max-lifetime'?: number | undefined;
  readonly 'unused-for'?: number | undefined;
}

/** The flags of an audit, without the selector flags. */
interface AuditFlags extends PolicyFlags {
  readonly output?: string | undefined;
  readonly summary?: boolean | undefined;
  readonly 'group-by'?: Grouping | undefined;
  readonly 'fail-on'?: Severity | undefined;
  readonly baseline?: string | undefined;
  readonly 'write-baseline'?: string | undefined;
}

/** What an audit is made with. */
export interface AuditFlowOptions {
  readonly runtime: Runtime;
  readonly selector: Selector;
  readonly flags: AuditFlags;
  readonly format: AuditFormat;
  /** The program's version. */
  readonly version: string;
}

/**
 * The policy of a run: that of `--policy`, else the configuration's, with the limits of flags over it.
 *
 * @throws TokenctlError `configuration`
 */
export function policyOf(runtime: Runtime, flags: PolicyFlags): Policy {
  const configured =
    flags.policy === undefined ? runtime.configuration.policy : policyFile(flags.policy, runtime.environment);
  return policyFrom(configured, { maxLifetime: flags['max-lifetime'], unusedFor: flags['unused-for'] });
}

/**
 * Audits, and presents it as the flags say: as a document that is written as it is found, as counts, or in
 * groups.
 *
 * @throws TokenctlError `usage` for flags that do not go together; as the policy, the baseline and the audit do
 */
export async function auditFlow(options: AuditFlowOptions): Promise<Result> {
  const { flags, format } = options;
  requireTogether(flags, format);
  const target = await options.runtime.target();
  const baseline = flags.baseline === undefined ? undefined : await readBaseline(flags.baseline);
  const written = baselineToWrite(options);
  try {
    const audit = await auditTokens({
      target,
      selector: options.selector,
      policy: policyOf(options.runtime, flags),
      clock: options.runtime.clock,
      baseline,
      onKey: written && ((key) => written.write(`${key}\n`)),
      statistics: format === 'html',
    });
    await noteLimit(options.runtime);
    return await presented(audit, { ...options, written });
  } catch (error) {
    written?.discard();
    throw error;
  }
}

async function presented(
  audit: Audit,
  options: AuditFlowOptions & { readonly written: PendingFile | undefined },
): Promise<Result> {
  const { flags, written } = options;
  const failOn = flags['fail-on'];
  const { visibility } = await options.runtime.description();
  const document = (screen: Screen) => reportIn(audit, options, screen);
  if (flags.output !== undefined) {
    await writeReport(flags.output, document(noScreen));
    const { output } = flags;
    return committed(await summaryResult(withoutFindings(audit), { failOn, output, visibility }), written);
  }
  if (flags.summary === true) {
    return inFormat(committed(await summaryResult(audit, { failOn, visibility }), written), options.format);
  }
  if (flags['group-by'] !== undefined) {
    const groups = await groupedResult(audit, { by: flags['group-by'], failOn, visibility });
    return inFormat(committed(groups, written), options.format);
  }
  const makes = options.format === 'json' ? 'json' : 'text';
  return streamedAudit(audit, {
    makes,
    failOn,
    chunks: (screen) => thenCommitted(document(screen), written),
  });
}

async function* reportIn(
  audit: Audit,
  { format, runtime, version }: AuditFlowOptions,
  screen: Screen,
): AsyncIterable<string> {
  const description = await runtime.description();
  if (format !== 'sarif' && format !== 'html') {
    yield* plainReport(audit, { format, screen, visibility: description.visibility });
    return;
  }
  if (format === 'sarif') {
    const { sarifReport } = await import('../../reports/audit/sarif-report.ts');
    yield* sarifReport(audit, { description, version });
  } else {
    const { htmlReport } = await import('../../reports/audit/html-report.ts');
    yield* htmlReport(audit, { description, version });
  }
}

/** An audit whose findings have been read. */
function withoutFindings(audit: Audit): Audit {
  return { ...audit, findings: (async function* () {})() };
}

function baselineToWrite({ flags, runtime }: AuditFlowOptions): PendingFile | undefined {
  const path = flags['write-baseline'];
  if (path === undefined) return undefined;
  const file = pendingFile(path, 'The baseline');
  file.write(baselineHeading(runtime.clock.now()));
  return file;
}

function committed(report: Report, written: PendingFile | undefined): Report {
  written?.commit();
  return report;
}

/** Puts the baseline in place once the whole audit was read; an audit that was cut short leaves it. */
async function* thenCommitted(
  chunks: AsyncIterable<string>,
  written: PendingFile | undefined,
): AsyncIterable<string> {
  try {
    yield* chunks;
    written?.commit();
  } finally {
    written?.discard();
  }
}

function requireTogether({ output, summary, 'group-by': by }: AuditFlags, format: AuditFormat): void {
  const document = format === 'sarif' || format === 'html';
  if ((summary === true || by !== undefined) && (document || output !== undefined)) {
    const flag = summary === true ? '--summary' : '--group-by';
    throw new TokenctlError(
      'usage',
      `${flag} cannot be combined with a ${document ? format : 'written'} report`,
      {
        hint: 'Leave one of them out.',
      },
    );
  }
  if (summary === true && format === 'csv') {
    throw new TokenctlError('usage', '--summary cannot be written as CSV', {
      hint: 'Use --group-by rule.',
    });
  }
}

/** The flags of an audit that name a file that it reads or writes. */
interface FileFlags {
  readonly output?: string | undefined;
  readonly baseline?: string | undefined;
  readonly 'write-baseline'?: string | undefined;
}

/** The audit that they belong to. */
interface AuditOf {
  readonly context: string;
  /** Whether other contexts are audited as well. */
  readonly several: boolean;
  readonly format: AuditFormat;
}

/** The placeholder for the name of the context in file names. */
const CONTEXT = '{context}';

/**
 * The flags of an audit for one context: in the names of files `{context}` becomes the context's.
 *
 * @throws TokenctlError `usage` where several contexts would share a file, or a document that holds one.
 */
export function filesPerContext<Flags extends FileFlags>(
  flags: Flags,
  { context, several, format }: AuditOf,
): Flags {
  const names = ['output', 'baseline', 'write-baseline'] as const;
  const given = names.flatMap((name) => (flags[name] === undefined ? [] : [{ name, path: flags[name] }]));
  const shared = several ? given.find(({ path }) => !path.includes(CONTEXT)) : undefined;
  if (shared !== undefined) throw oneForEach(`--${shared.name}`, shared.path);
  if (several && flags.output === undefined && format !== 'table' && format !== 'json') {
    throw new TokenctlError('usage', `A ${format} report holds one context, but several are audited`, {
      hint: `Add --output 'audit-${CONTEXT}.${format}' to write one file for each context.`,
    });
  }
  const own = given.map(({ name, path }) => [name, path.replaceAll(CONTEXT, context.replace('/', '+'))]);
  return { ...flags, ...Object.fromEntries(own) };
}

function oneForEach(flag: string, path: string): TokenctlError {
  return new TokenctlError('usage', `${flag} ${path} names one file, but several contexts are audited`, {
    hint: `Put ${CONTEXT} into the name to write one file for each context.`,
  });
}

const WIDEST = 100;

/**
 * The rule of a name.
 *
 * @throws TokenctlError `usage` for a name that no rule has, with the nearest that one has
 */
export function ruleNamed(name: string): RuleName {
  const rule = ruleNames.find((known) => known === name);
  if (rule !== undefined) return rule;
  const near = nearestName(name, ruleNames);
  throw new TokenctlError(
    'usage',
    `No rule named "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
    {
      hint: `Use one of these rules: ${ruleNames.join(', ')}.`,
    },
  );
}

/** What a rule is about, as a command's result: what, why, parameters as they are set, remedy, reference. */
export function explanationResult(rule: RuleName, policy: Policy): Report {
  const help: RuleHelp = rules[rule].help;
  const { enabled, severity, exceptions, ...values } = policy[rule];
  const parameters = Object.entries(help.parameters ?? {}).map(([name, meaning]) => ({
    name,
    meaning,
    value: Object.entries(values).find(([key]) => key === name)?.[1] ?? null,
  }));
  const { finds, matters, remedy, reference } = help;
  return report({
    json: { rule, enabled, severity, finds, matters, parameters, exceptions, remedy, reference },
    text: ({ width }) => {
      const most = Math.min(width, WIDEST);
      const blocks = [
        ['What it finds', finds],
        ['Why it matters', matters],
        ['What to do', remedy],
        ['Reference', reference],
        ...parameters.map(({ name, meaning, value }) => [
          `Parameter ${name}`,
          `${meaning} Now ${JSON.stringify(value)}.`,
        ]),
        ...(exceptions.length === 0 ? [] : [['Exceptions', `${exceptions.length} in the policy.`]]),
      ];
      const state = enabled ? `severity ${severity}` : `severity ${severity}, switched off`;
      const lines = blocks.flatMap(([heading = '', text = '']) => [
        '',
        heading,
        ...wrapped(text, most - 2).map((part) => `  ${part}`),
      ]);
      return `${[`${rule} (${state})`, ...lines].join('\n')}\n`;
    },
  });
}
