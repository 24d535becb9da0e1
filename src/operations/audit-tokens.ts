import { enabledRules, judge } from '../core/policy/judge.ts';
import type { Policy, RuleName, Severity } from '../core/policy/policy.ts';
import { requireMeaning, type Selector } from '../core/selector.ts';
import type { Token } from '../core/token.ts';
import { gatherFacts, type NotChecked } from './audit-facts.ts';
import { requireNamed } from './named.ts';
import type { Clock, Target } from './ports.ts';

/** One rule's verdict on one token. */
export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly token: Token;
  readonly message: string;
}

/** What an audit found. */
export interface AuditReport {
  readonly tokensRead: number;
  /** In the order of the tokens. */
  readonly findings: readonly Finding[];
  readonly bySeverity: Readonly<Record<Severity, number>>;
  /** By every rule that was checked, those that found nothing included. */
  readonly byRule: Readonly<Record<string, number>>;
  /** Enabled rules that could not be checked here, and why: what they would find is not known. */
  readonly notChecked: readonly NotChecked[];
}

/** What to audit, and by what. */
export interface AuditTokensOptions {
  readonly target: Target;
  readonly selector: Selector;
  readonly policy: Policy;
  readonly clock: Clock;
}

/**
 * Judges the selected tokens by a policy. Reads only.
 *
 * A rule whose facts the target refuses stands in `notChecked`: it never passes silently.
 *
 * @throws TokenctlError `usage`, `not_found` as `listTokens` does, and whatever the target throws.
 */
export async function auditTokens(options: AuditTokensOptions): Promise<AuditReport> {
  const { target, selector, policy, clock } = options;
  requireMeaning(selector);
  await requireNamed(target, selector);
  const { facts, notChecked } = await gatherFacts({ target, selector, policy, now: clock.now() });
  const skipped = new Set(notChecked.map(({ rule }) => rule));
  const applied = enabledRules(policy).filter((rule) => !skipped.has(rule));
  const findings: Finding[] = [];
  const bySeverity: Record<Severity, number> = { low: 0, medium: 0, high: 0, critical: 0 };
  const byRule: Record<string, number> = Object.fromEntries(applied.map((rule) => [rule, 0]));
  let tokensRead = 0;
  for await (const token of target.tokens(selector)) {
    tokensRead += 1;
    for (const { rule, severity, message } of judge({ token, facts, policy }, applied)) {
      findings.push({ rule, severity, token, message });
      bySeverity[severity] += 1;
      byRule[rule] = (byRule[rule] ?? 0) + 1;
    }
  }
  return { tokensRead, findings, bySeverity, byRule, notChecked };
}
