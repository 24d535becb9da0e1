import { boolean, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag, days, selectorFlags, selectorOrAllFrom } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Judges tokens by the policy. */
export default class TokensAudit extends TokenctlCommand {
  static override summary =
    'Find what breaks the policy: stale, endless, orphaned, too powerful tokens, and more.';

  static override description =
    `Judges tokens, and without a selection applications, refresh tokens and settings as well. The rules, their \
parameters, severities and exceptions are those of the configuration's policy section, or of --policy. docs/policy.md \
describes them; --explain describes one.

With --json it prints findings (rule, severity, message, key, subject, and under the subject's name what it is: \
token as in tokens list), and after them tokensRead, found, bySeverity, byRule, excused, known, notChecked (rule, why: \
what could not be checked here); with --summary, all but findings; with --group-by, groups (name, findings, \
bySeverity) instead. Findings come as they are found; a table or CSV of up to 10,000 has the worst first.

Exits with 3 where there are findings at or above --fail-on.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --fail-on high --baseline audit.baseline --json',
    '<%= config.bin %> <%= command.id %> --format html --output audit.html',
    '<%= config.bin %> <%= command.id %> --explain never-used',
  ];

  static override flags = {
    ...selectorFlags,
    ...csvFlag,
    format: option({ options: ['table', 'json', 'csv', 'sarif', 'html'] as const })({
      summary: 'The format of the report.',
      exclusive: ['json', 'csv'],
    }),
    output: string({ summary: 'Write the report to this file, and print the summary.', helpValue: 'FILE' }),
    summary: boolean({
      summary: 'Print how many findings there are by rule and severity, not each.',
      exclusive: ['csv'],
    }),
    'group-by': option({ options: ['user', 'application', 'rule', 'severity'] as const })({
      summary: 'Print how many findings there are by this, not each.',
      exclusive: ['summary'],
    }),
    'fail-on': option({ options: ['low', 'medium', 'high', 'critical'] as const })({
      summary: 'Exit with 3 where there are findings of this severity or above.',
    }),
    baseline: string({ summary: 'Leave out the findings that this file lists.', helpValue: 'FILE' }),
    'write-baseline': string({ summary: 'List all findings in this file.', helpValue: 'FILE' }),
    explain: string({
      summary: 'Say what a rule finds, why it matters and what to do, and audit nothing.',
      helpValue: 'RULE',
    }),
    policy: string({
      summary: "PolicyEvaluator by this file instead of the configuration's policy section.",
      helpValue: 'FILE',
      helpGroup: 'POLICY',
    }),
    'max-lifetime': days({ summary: 'Find tokens valid for longer than this.', helpGroup: 'POLICY' }),
    'unused-for': days({ summary: 'Find tokens not used for longer than this.', helpGroup: 'POLICY' }),
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensAudit);
    const { auditFlow, policyOf } = await import('../../src/cli/token-audit/audit-flow.ts');
    if (flags.explain !== undefined) {
      const runtime = await this.runtime(flags);
      const { explanationResult, ruleNamed } = await import('../../src/cli/token-audit/rule-explanation.ts');
      return explanationResult(ruleNamed(flags.explain), policyOf(runtime, flags));
    }
    const format = flags.format ?? (this.jsonEnabled() ? 'json' : flags.csv === true ? 'csv' : 'table');
    const { filesPerContext } = await import('../../src/cli/token-audit/audit-flow.ts');
    const { clock } = await this.runtime(flags);
    const selector = selectorOrAllFrom({ ...flags, 'unused-for': undefined }, clock.now());
    return await this.inContexts(flags, null, async ({ runtime, several, context }) =>
      auditFlow({
        runtime,
        selector,
        flags: filesPerContext(flags, { context, several, format }),
        format,
        version: this.config.version,
      }),
    );
  }
}
