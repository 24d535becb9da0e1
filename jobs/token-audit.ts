import { incompleteText } from '../src/domain/claims.ts';
import type { Audit } from '../src/domain/policy/judge.ts';
import { type Finding, findingKey } from '../src/domain/policy/judge.ts';
import type { Policy, RuleName } from '../src/domain/policy/policy.ts';
import { atLeast, type Severity } from '../src/domain/policy/rule.ts';
import { subjectName } from '../src/domain/policy/subject.ts';
import type { Job, JobNotice, TargetJobContext } from '../src/operations/jobs/job.ts';
import { auditTokens } from '../src/operations/token-audit/audit-tokens.ts';

/** The parameters of an audit. */
export interface TokenAuditParameters {
  readonly policy: Policy;
  /** Only these rules; null for all that the policy applies. */
  readonly rules: readonly RuleName[] | null;
  /** The file of known findings, which are reported once. Null reports all findings every time. */
  readonly baseline: string | null;
  /** The path of the report; null for none. */
  readonly report: string | null;
  /** The minimum severity to notify about. */
  readonly notifyAt: Severity;
}

/** How many findings a notice lists. */
const MAX_NAMED = 20;

/** Audits all tokens, writes a report, and notifies about new findings. */
export const tokenAudit: Job<TargetJobContext, TokenAuditParameters> = {
  name: 'token-audit',
  schedule: '0 6 * * *',
  async run(context, { policy, rules, baseline: path, report, notifyAt }) {
    const { target, clock, files, dryRun, signal, description } = context;
    const known = path === null ? null : await files.baseline(path);
    const keys: string[] = [];
    const told: string[] = [];
    let grave = 0;
    const audit = await auditTokens({
      target,
      policy,
      clock,
      selector: { all: true },
      ...(rules !== null && { rules }),
      ...(path !== null && { onKey: (key) => keys.push(key) }),
      statistics: report?.endsWith('.html') === true,
    });
    const watched = watch(audit, signal, (finding) => {
      if (known?.has(findingKey(finding)) === true || !atLeast(finding.severity, notifyAt)) return;
      grave += 1;
      if (told.length < MAX_NAMED)
        told.push(`${finding.severity}: ${subjectName(finding.subject)}: ${finding.message}`);
    });
    if (report !== null && !dryRun) await files.writeReport(report, watched, description);
    else for await (const _finding of watched.findings);
    if (signal.aborted)
      return { message: 'Stopped before the audit was complete', summary: {}, interrupted: true };
    if (path !== null && !dryRun) await files.writeBaseline(path, keys, clock.now());
    const summary = audit.summary();
    const limit = incompleteText(description);
    const message = `Found ${summary.found} findings in ${summary.tokensRead} tokens, ${grave} to notify about`;
    return {
      message: limit === null ? message : `${message}. ${limit}`,
      summary: { ...summary, told: grave, visibility: description.visibility },
      findings: summary.bySeverity,
      notices:
        grave === 0 ? [] : [notice(description.context, { grave, told, fresh: known !== null, notifyAt })],
    };
  },
};

/** The same audit, which passes each finding to `look` and stops on the signal. */
function watch(audit: Audit, signal: AbortSignal, look: (finding: Finding) => void): Audit {
  async function* findings(): AsyncIterable<Finding> {
    for await (const finding of audit.findings) {
      if (signal.aborted) return;
      look(finding);
      yield finding;
    }
  }
  return { ...audit, findings: findings() };
}

function notice(
  context: string,
  found: {
    readonly grave: number;
    readonly told: readonly string[];
    readonly fresh: boolean;
    readonly notifyAt: Severity;
  },
): JobNotice {
  const { grave, told, fresh, notifyAt } = found;
  const more = grave - told.length;
  return {
    subject: `${grave} ${fresh ? 'new ' : ''}findings of severity ${notifyAt} or above in ${context}`,
    text: [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
    severity: 'warning',
  };
}
