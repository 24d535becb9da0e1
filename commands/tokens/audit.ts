import { defineCommand } from '../../src/cli/base-command.ts';
import { instantFor, selectionOrAllFrom } from '../../src/cli/flags/flags.ts';
import { auditFlags } from '../../src/cli/token-audit/audit-flags.ts';

export default defineCommand({
  summary: 'Audit tokens against the policy',
  description: `Checks tokens and, without a selection, also applications, refresh tokens and settings. \
Rules, parameters, severities and exceptions come from the policy section of the configuration, or from \
--policy. See tokenctl docs policy for all rules, or --explain for one.

The table shows the first findings of each rule with severity medium or above (all severities with --rule), \
highest severity first. --list shows all findings in one table. The other formats include all findings. \
--min-severity applies to every format. The counts and --fail-on always include all findings. With \
--baseline, the report shows how many findings are new, known and fixed. CSV and SARIF have a row with the \
state of each finding.`,
  exitCodes: 'Exit code 3: there are findings at or above --fail-on.',
  examples: [
    '',
    '--fail-on high --baseline audit.baseline --json',
    '--format html --output audit.html',
    '--rule never-expires --list',
    '--explain never-used',
  ],
  flags: auditFlags,
  async run({ flags }) {
    const { auditFlow } = await import('../../src/cli/token-audit/audit-flow.ts');
    if (flags.explain !== undefined) {
      const runtime = await this.runtime(flags);
      const { explanationResult, policyOf, ruleNamed } = await import('../../src/cli/flags/policy-flags.ts');
      return explanationResult(ruleNamed(flags.explain), policyOf(runtime, flags));
    }
    const format = flags.format ?? (this.jsonEnabled() ? 'json' : flags.csv === true ? 'csv' : 'table');
    const { selectorWithFindings } = await import('../../src/cli/tokens/token-selection.ts');
    const { filesPerContext, requireAuditFiles } = await import('../../src/cli/token-audit/audit-flow.ts');
    const own = await this.runtime(flags);
    const selecting = { ...flags, 'unused-for': undefined };
    await requireAuditFiles(own, flags);
    return await this.inContexts(flags, async ({ runtime, several, context }) =>
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
  },
});
