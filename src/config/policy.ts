import { defaultPolicy, type Policy, ruleNames } from '../domain/policy/policy.ts';
import type { PolicySettings } from './policy-schema.ts';

/** Limits given for one run, in days. */
export interface PolicyLimits {
  readonly maxLifetime?: number | undefined;
  readonly unusedFor?: number | undefined;
}

/** The policy of a run: the default one, with what the configuration changes, and limits over both. */
export function policyFrom(configured: PolicySettings, limits: PolicyLimits = {}): Policy {
  const { maxLifetime, unusedFor } = limits;
  const merged = Object.fromEntries(
    ruleNames.map((name) => [name, { ...defaultPolicy[name], ...given(configured[name]) }]),
  ) as unknown as Policy;
  return {
    ...merged,
    ...(maxLifetime !== undefined && { 'lifetime-over': { ...merged['lifetime-over'], days: maxLifetime } }),
    ...(unusedFor !== undefined && { 'unused-for': { ...merged['unused-for'], days: unusedFor } }),
  };
}

/** What a setting gives; a key without a value keeps its default. */
function given(setting: object | undefined): object {
  return Object.fromEntries(Object.entries(setting ?? {}).filter(([, value]) => value !== undefined));
}
