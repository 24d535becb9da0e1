import { defaultPolicy, type Policy, type RuleName } from '../core/policy/policy.ts';
import type { Settings } from './schema.ts';

/** Limits given for one run, in days. */
export interface PolicyLimits {
  readonly maxLifetime?: number | undefined;
  readonly unusedFor?: number | undefined;
}

/** The policy of a run: the default one, with what the configuration changes, and limits over both. */
export function policyFrom(configured: Settings['policy'], limits: PolicyLimits = {}): Policy {
  const { maxLifetime, unusedFor } = limits;
  return {
    'expired-present': merged('expired-present', configured),
    'lifetime-over': {
      ...merged('lifetime-over', configured),
      ...(maxLifetime !== undefined && { days: maxLifetime }),
    },
    'never-expires': merged('never-expires', configured),
    'write-scope': merged('write-scope', configured),
    'unused-for': {
      ...merged('unused-for', configured),
      ...(unusedFor !== undefined && { days: unusedFor }),
    },
    'owner-inactive': merged('owner-inactive', configured),
    'owner-external': merged('owner-external', configured),
  };
}

function merged<Name extends RuleName>(name: Name, configured: Settings['policy']): Policy[Name] {
  const given = Object.entries(configured[name] ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaultPolicy[name], ...Object.fromEntries(given) };
}
