import { numberText } from '@tokenctl/common/text.ts';
import { z } from 'zod';
import { policyFrom, policySchema, ruleName } from '../src/config/policy.ts';
import { file } from '../src/config/value-schemas.ts';
import { incompleteText } from '../src/domain/claims.ts';
import { type Audit, type Finding, findingKey } from '../src/domain/policy/judge.ts';
import { atLeast, type Severity, severities } from '../src/domain/policy/rule.ts';
import { subjectName } from '../src/domain/policy/subject.ts';
import { Rows } from '../src/domain/rows.ts';
import { defineJob, type JobNotice } from '../src/operations/jobs/job.ts';

/** The maximum number of findings that a notice lists. */
const MAX_NAMED = 20;

/** Audits all tokens, writes a report, and notifies about new findings. */
export const tokenAudit = defineJob({
  name: 'token-audit',
  on: 'target',
  schedule: '0 6 * * *',
  dryRun: false,
  parameters: () =>
    z
      .strictObject({
        /** Restricts the rules. Default: all that the policy applies. */
        rules: z.array(ruleName).min(1).optional(),
        /** Replaces the configuration's policy. */
        policy: policySchema.transform((own) => policyFrom(own)).optional(),
        /** The file of known findings, which are reported once. Without it, all are reported every time. */
        baseline: file.optional(),
        report: file
          .refine((path) => /\.(html|sarif|json|csv)$/.test(path), 'must end in .html, .sarif, .json or .csv')
          .optional(),
        /** The minimum severity to notify about. */
        notifyAt: z.enum(severities).default('high'),
      })
      .prefault({}),
  async run(context, { policy = context.services.policy, rules, baseline: path, report, notifyAt }) {
    const { auditTokens } = await import('../src/operations/token-audit/audit-tokens.ts');
    const { target, clock, files, dryRun, signal, description, log } = context;
    const known = path === undefined ? null : await files.baseline(path);
    const keys: string[] = [];
    const told: string[] = [];
    let grave = 0;
    const audit = await auditTokens({
      target,
      policy,
      clock,
      selector: { all: true },
      rules,
      openLog: async () => log,
      ...(path !== undefined && { onKey: (key) => keys.push(key) }),
      statistics: report?.endsWith('.html') === true,
    });
    const watched = watch(audit, signal, (finding) => {
      if (known?.has(findingKey(finding)) === true || !atLeast(finding.severity, notifyAt)) return;
      grave += 1;
      if (told.length < MAX_NAMED)
        told.push(`${finding.severity}: ${subjectName(finding.subject)}: ${finding.message}`);
    });
    if (report !== undefined && !dryRun) await files.writeReport(report, watched, description);
    else await watched.findings.each();
    if (signal.aborted)
      return { message: 'Stopped before the audit was complete', summary: {}, interrupted: true };
    if (path !== undefined && !dryRun) await files.writeBaseline(path, keys, clock.now());
    const summary = audit.summary();
    const limit = incompleteText(description);
    const message = `Found ${numberText(summary.found)} findings in ${numberText(summary.tokensRead)} tokens, ${numberText(grave)} to report`;
    return {
      message: limit === null ? message : `${message}. ${limit}`,
      summary: { ...summary, told: grave, visibility: description.visibility },
      findings: summary.bySeverity,
      findingsByRule: summary.byRule,
      notices:
        grave === 0 ? [] : [notice(description.context, { grave, told, fresh: known !== null, notifyAt })],
    };
  },
});

/** The same audit, which passes each finding to `look` and stops on the signal. */
function watch(audit: Audit, signal: AbortSignal, look: (finding: Finding) => void): Audit {
  const findings = new Rows(async () => {
    const page = await audit.findings.next();
    if (signal.aborted || page === null) return null;
    for (const finding of page) look(finding);
    return page;
  });
  return { ...audit, findings };
}

function notice(
  context: string,
  found: { grave: number; told: readonly string[]; fresh: boolean; notifyAt: Severity },
): JobNotice {
  const { grave, told, fresh, notifyAt } = found;
  const more = grave - told.length;
  return {
    subject: `${numberText(grave)} ${fresh ? 'new ' : ''}findings of severity ${notifyAt} or above in ${context}`,
    text: [...told, ...(more > 0 ? [`and ${numberText(more)} more`] : [])].join('\n'),
    severity: 'warning',
  };
}
