import { type Finding, PolicyEvaluator } from '../../src/domain/policy/judge.ts';
import { defaultPolicy, enabledRules, type Policy, type RuleName } from '../../src/domain/policy/policy.ts';
import type { Facts, PolicySettings } from '../../src/domain/policy/rule.ts';
import type { Application, Token } from '../../src/domain/token.ts';
import { token } from './tokens.ts';

/** The instant at which tests judge. */
export const now = new Date('2026-11-20T00:00:00Z');

/** The settings of a controller as it is installed. */
export const installedSettings: PolicySettings = {
  AUTH_BASIC_ENABLED: true,
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  SESSION_COOKIE_AGE: 1800,
  SESSIONS_PER_USER: -1,
  OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000, REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000 },
};

/** Facts about no one, at {@link now}, with the settings of an installation. */
export function facts(other: Partial<Facts> = {}): Facts {
  return {
    now,
    unusedTokenIds: new Set(),
    neverUsedTokenIds: new Set(),
    inactiveUserIds: new Set(),
    superuserIds: new Set(),
    externalUsers: new Map(),
    lastChanges: new Map(),
    settings: installedSettings,
    tokensInClear: false,
    ...other,
  };
}

/** An instant so many days from {@link now} or another. */
export function days(count: number, from: Date = now): Date {
  return new Date(from.getTime() + count * 86_400_000);
}

/** The default policy with other settings for some rules. */
export function policyWith(other: { readonly [Name in RuleName]?: Partial<Policy[Name]> }): Policy {
  return Object.fromEntries(
    Object.entries(defaultPolicy).map(([name, setting]) => [
      name,
      { ...setting, ...other[name as RuleName] },
    ]),
  ) as unknown as Policy;
}

/** What a policy's rules find in some tokens, sums included. */
export function judged(
  tokens: readonly Partial<Token>[],
  { policy = defaultPolicy, known = facts() }: { policy?: Policy; known?: Facts } = {},
): Finding[] {
  const judge = new PolicyEvaluator({ policy, facts: known, rules: enabledRules(policy) });
  const found: Finding[] = [];
  for (const each of tokens) judge.token(token(each), found);
  judge.aggregates(found);
  return found;
}

/** A confidential application of the authorization code grant, a month old. */
export function application(other: Partial<Application> = {}): Application {
  return {
    id: 3,
    name: 'portal',
    clientType: 'confidential',
    grantType: 'authorization-code',
    created: days(-30),
    ...other,
  };
}

/** An audit log without entries. */
export const emptyLog = async () => ({ entries: async function* () {} });
