import { TokenctlError } from '../../domain/errors.ts';
import { appliedRules, type Policy, type RuleName, ruleOf } from '../../domain/policy/policy.ts';
import type { Selector } from '../../domain/selector.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { Target } from '../ports/target.ts';
import { auditTokens } from './audit-tokens.ts';

/** Whose findings are meant. */
export interface FindingSelectorOptions {
  readonly target: Target;
  readonly policy: Policy;
  readonly rule: RuleName;
  readonly clock: Clock;
  /** Among these tokens; every token where absent. */
  readonly selector?: Selector;
}

/**
 * The ids of the access tokens that a rule finds, ascending by what the target gives: what an audit by the
 * same policy reports for it, exceptions left out.
 *
 * @throws TokenctlError `usage` for a rule that is not about single tokens, or that the policy does not
 * apply; `unsupported` where it cannot be checked on this target; and whatever the target throws.
 */
export async function findingSelector(options: FindingSelectorOptions): Promise<readonly number[]> {
  const { target, policy, rule, clock, selector = { all: true } } = options;
  requireUsable(rule, policy);
  const audit = await auditTokens({ target, policy, clock, selector, rules: [rule] });
  const ids: number[] = [];
  for await (const { subject } of audit.findings) {
    if (subject.kind === 'token') ids.push(subject.token.id);
  }
  const [skipped] = audit.summary().notChecked;
  if (skipped === undefined) return ids;
  throw new TokenctlError('unsupported', `The rule ${rule} cannot be checked here: ${skipped.why}`);
}

/**
 * Makes sure that a rule can select tokens.
 *
 * @throws TokenctlError `usage`
 */
export function requireUsable(rule: RuleName, policy: Policy): void {
  if (ruleOf(rule).judges !== 'tokens') {
    throw new TokenctlError('usage', `The rule ${rule} is not about single tokens: it selects none`, {
      hint: `tokenctl tokens audit --explain ${rule} says what to do about it.`,
    });
  }
  if (!appliedRules(policy).includes(rule)) {
    throw new TokenctlError('usage', `The policy does not apply the rule ${rule}: it finds nothing`, {
      hint: 'Enable it in the policy section of the configuration, or in a file for --policy.',
    });
  }
}
