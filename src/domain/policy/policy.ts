import { applicationImplicit } from './application-implicit.ts';
import { applicationPublicWithoutPkce } from './application-public-without-pkce.ts';
import { applicationSecretOlderThan } from './application-secret-older-than.ts';
import { applicationTokenOfPerson } from './application-token-of-person.ts';
import { basicAuthOn } from './basic-auth-on.ts';
import { duplicatePurpose } from './duplicate-purpose.ts';
import { exceptionExpired } from './exception-expired.ts';
import { expiredPresent } from './expired-present.ts';
import { expiryCliff } from './expiry-cliff.ts';
import { externalTokensAllowed } from './external-tokens-allowed.ts';
import { lifetimeDefault } from './lifetime-default.ts';
import { lifetimeOver } from './lifetime-over.ts';
import { neverExpires } from './never-expires.ts';
import { neverUsedRule } from './never-used.ts';
import { noDescription } from './no-description.ts';
import { ownerExternal } from './owner-external.ts';
import { ownerInactive } from './owner-inactive.ts';
import { ownerSuperuser } from './owner-superuser.ts';
import { personalTokenOfServiceAccount } from './personal-token-of-service-account.ts';
import { refreshOrphaned } from './refresh-orphaned.ts';
import { refreshOutlivesAccess } from './refresh-outlives-access.ts';
import type { Rule } from './rule.ts';
import { sessionAgeLong } from './session-age-long.ts';
import { sessionsUnlimited } from './sessions-unlimited.ts';
import { tooManyPerUser } from './too-many-per-user.ts';
import { unusedFor } from './unused-for.ts';
import { writeScope } from './write-scope.ts';
import { writeUnneeded } from './write-unneeded.ts';

/** Every rule, by its name. */
export const rules = {
  'owner-inactive': ownerInactive,
  'never-expires': neverExpires,
  'lifetime-over': lifetimeOver,
  'never-used': neverUsedRule,
  'unused-for': unusedFor,
  'owner-external': ownerExternal,
  'owner-superuser': ownerSuperuser,
  'write-scope': writeScope,
  'write-unneeded': writeUnneeded,
  'no-description': noDescription,
  'personal-token-of-service-account': personalTokenOfServiceAccount,
  'application-token-of-person': applicationTokenOfPerson,
  'expired-present': expiredPresent,
  'refresh-outlives-access': refreshOutlivesAccess,
  'refresh-orphaned': refreshOrphaned,
  'too-many-per-user': tooManyPerUser,
  'duplicate-purpose': duplicatePurpose,
  'expiry-cliff': expiryCliff,
  'application-implicit': applicationImplicit,
  'application-public-without-pkce': applicationPublicWithoutPkce,
  'application-secret-older-than': applicationSecretOlderThan,
  'basic-auth-on': basicAuthOn,
  'external-tokens-allowed': externalTokensAllowed,
  'lifetime-default': lifetimeDefault,
  'session-age-long': sessionAgeLong,
  'sessions-unlimited': sessionsUnlimited,
  'exception-expired': exceptionExpired,
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof rules;

/** Which rules are applied, how severely, with which limits and exceptions. */
export type Policy = { readonly [Name in RuleName]: (typeof rules)[Name]['defaults'] };

/** The names of all rules. */
export const ruleNames = Object.keys(rules) as readonly RuleName[];

/** The policy where none is configured. */
export const defaultPolicy = Object.fromEntries(
  ruleNames.map((name) => [name, rules[name].defaults]),
) as unknown as Policy;

/** A rule as any of its kind: what it is prepared with is then up to the caller. */
export function ruleOf(name: RuleName): Rule {
  return rules[name];
}

/** The rules that a policy applies: enabled, and told what they need to know. */
export function appliedRules(policy: Policy): RuleName[] {
  return ruleNames.filter((name) => {
    const setting = policy[name];
    return setting.enabled && !('users' in setting && setting.users.length === 0);
  });
}
