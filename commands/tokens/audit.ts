import { boolean, option } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { csvFlag, days } from '../../src/cli/flags.ts';
import type { Result } from '../../src/cli/result.ts';
import { selectorFlags, selectorOrAllFrom } from '../../src/cli/selector-flags.ts';

/** Judges tokens by the policy. */
export default class TokensAudit extends TokenctlCommand {
  static override summary = 'Find tokens that break the policy: stale, endless, orphaned, too powerful.';

  static override description =
    `Rules: expired-present, lifetime-over, never-expires, write-scope, unused-for, owner-inactive, owner-external. \
The configuration file's policy section switches them, and sets their severities and days.

With --json it prints tokensRead, findings (rule, severity, message, token as in tokens list), bySeverity, \
byRule and notChecked (rule, why: what could not be checked here); with --summary, all but findings. With --csv, \
the findings.

Exits with 3 where there are findings at or above --fail-on.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --fail-on high --json',
    '<%= config.bin %> <%= command.id %> --max-lifetime 90d --unused-for 30d --csv',
  ];

  static override flags = {
    ...selectorFlags,
    ...csvFlag,
    summary: boolean({
      summary: 'Print how many findings there are by rule and severity, not each.',
      exclusive: ['csv'],
    }),
    'fail-on': option({ options: ['low', 'medium', 'high', 'critical'] as const })({
      summary: 'Exit with 3 where there are findings of this severity or above.',
    }),
    'max-lifetime': days({ summary: 'Find tokens valid for longer than this.', helpGroup: 'POLICY' }),
    'unused-for': days({ summary: 'Find tokens not used for longer than this.', helpGroup: 'POLICY' }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensAudit);
    const runtime = await this.runtime(flags);
    const { auditTokens } = await import('../../src/operations/audit-tokens.ts');
    const { auditResult } = await import('../../src/cli/audit-result.ts');
    const { policyFrom } = await import('../../src/config/policy.ts');
    const report = await auditTokens({
      target: await runtime.target(),
      selector: selectorOrAllFrom({ ...flags, 'unused-for': undefined }, runtime.clock.now()),
      policy: policyFrom(runtime.configuration.policy, {
        maxLifetime: flags['max-lifetime'],
        unusedFor: flags['unused-for'],
      }),
      clock: runtime.clock,
    });
    return auditResult(report, { failOn: flags['fail-on'], summary: flags.summary === true });
  }
}
