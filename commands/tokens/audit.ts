import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { instantFor, selectionOrAllFrom } from '../../src/cli/flags.ts';
import { auditFlags } from '../../src/cli/token-audit/audit-flags.ts';
import type { ExplanationJson } from '../../src/cli/token-audit/policy-flags.ts';
import type { AuditGroupsJson, AuditSummaryJson } from '../../src/reports/audit/audit-result.ts';
import type { AuditJson } from '../../src/reports/audit/json-report.ts';
import type { Result } from '../../src/reports/result.ts';

export default class TokensAudit extends TokenctlCommand {
  static override summary = 'Audit tokens against the policy';

  static override description =
    `Checks tokens and, without a selection, also applications, refresh tokens and settings. Rules, parameters, \
severities and exceptions come from the policy section of the configuration, or from --policy. See \
docs/policy.md for all rules, or --explain for one.

The table shows the first findings of each rule, the worst rules first, of the severity medium or above (with \
--rule: of all severities); --list shows one table of all. The other formats have all findings. --min-severity \
applies to every format; the numbers and --fail-on always count all. With --baseline, the report has how many \
findings are new, known and fixed; CSV and SARIF have a row with its state for each of them.

With --json, prints what docs/schemas/tokens-audit.json describes.

Exit code 3: there are findings at or above --fail-on.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --fail-on high --baseline audit.baseline --json',
    '<%= config.bin %> <%= command.id %> --format html --output audit.html',
    '<%= config.bin %> <%= command.id %> --rule never-expires --list',
    '<%= config.bin %> <%= command.id %> --explain never-used',
  ];

  static override flags = auditFlags;

  async run(): Promise<Result<AuditJson | AuditSummaryJson | AuditGroupsJson | ExplanationJson>> {
    const { flags } = await this.input(TokensAudit);
    const { auditFlow } = await import('../../src/cli/token-audit/audit-flow.ts');
    if (flags.explain !== undefined) {
      const runtime = await this.runtime(flags);
      const { explanationResult, policyOf, ruleNamed } = await import(
        '../../src/cli/token-audit/policy-flags.ts'
      );
      return explanationResult(ruleNamed(flags.explain), policyOf(runtime, flags));
    }
    const format = flags.format ?? (this.jsonEnabled() ? 'json' : flags.csv === true ? 'csv' : 'table');
    const { selectorWithFindings } = await import('../../src/cli/tokens/token-selection.ts');
    const { filesPerContext, requireAuditFiles } = await import('../../src/cli/token-audit/audit-flow.ts');
    const own = await this.runtime(flags);
    const selecting = { ...flags, 'unused-for': undefined };
    await requireAuditFiles(own, flags);
    return await this.inContexts(flags, null, async ({ runtime, several, context }) =>
      auditFlow({
        runtime,
        selector: await selectorWithFindings(
          runtime,
          selectionOrAllFrom(selecting, await instantFor(selecting, runtime)),
          flags,
        ),
        flags: filesPerContext(flags, { context, several, format }),
        format,
        version: this.config.version,
      }),
    );
  }
}
