import { expiredPresent } from './expired-present.ts';
import { lifetimeOver } from './lifetime-over.ts';
import { neverExpires } from './never-expires.ts';
import { ownerExternal } from './owner-external.ts';
import { ownerInactive } from './owner-inactive.ts';
import type { Policy, RuleName, Severity } from './policy.ts';
import { type Case, hasExpired, type Rule } from './rule.ts';
import { unusedFor } from './unused-for.ts';
import { writeScope } from './write-scope.ts';

const rules: Readonly<Record<RuleName, Rule>> = {
  'owner-inactive': ownerInactive,
  'never-expires': neverExpires,
  'lifetime-over': lifetimeOver,
  'unused-for': unusedFor,
  'owner-external': ownerExternal,
  'write-scope': writeScope,
  'expired-present': expiredPresent,
};

/** The names of all rules. */
export const ruleNames = Object.keys(rules) as readonly RuleName[];

/** One rule's verdict on one token. */
export interface Verdict {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly message: string;
}

/**
 * Judges one token by the given rules. An expired token authenticates nothing, so that only its presence
 * can be found fault with.
 */
export function judge(subject: Case, applied: readonly RuleName[]): Verdict[] {
  const { token, facts, policy } = subject;
  const expired = hasExpired(token, facts.now);
  const verdicts: Verdict[] = [];
  for (const rule of applied) {
    if (expired && rule !== 'expired-present') continue;
    const message = rules[rule](subject);
    if (message !== null) verdicts.push({ rule, severity: policy[rule].severity, message });
  }
  return verdicts;
}

/** The rules that a policy enables. */
export function enabledRules(policy: Policy): RuleName[] {
  return ruleNames.filter((name) => policy[name].enabled);
}
