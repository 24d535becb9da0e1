import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  applicationImplicit,
  applicationPublicWithoutPkce,
  applicationSecretOlderThan,
  basicAuthOn,
  externalTokensAllowed,
  lifetimeDefault,
  sessionAgeLong,
  sessionsUnlimited,
  tokensInClear,
} from './controller-rules.ts';
import {
  expiredPresent,
  expiryCliff,
  leaseOverdue,
  lifetimeOver,
  neverExpires,
  refreshOrphaned,
  refreshOutlivesAccess,
} from './lifetime-rules.ts';
import {
  applicationTokenOfPerson,
  ownerExternal,
  ownerInactive,
  ownerLeft,
  ownerSuperuser,
  personalTokenOfServiceAccount,
  providerNotAsked,
} from './owner-rules.ts';
import type { ExceptionRule, Rule } from './rule.ts';
import { isExpiredException } from './subject.ts';
import {
  duplicatePurpose,
  neverUsedRule,
  noDescription,
  tooManyPerUser,
  unusedFor,
  writeScope,
  writeUnneeded,
} from './use-rules.ts';

/** Finds expired exceptions of the policy: what they suppressed is found again, or is resolved. */
const exceptionExpired: ExceptionRule = {
  appliesTo: 'exceptions',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  help: {
    finds: 'An expired exception of an enabled rule.',
    matters: 'The exception was meant to be temporary.',
    remedy: 'Fix what it excuses and remove the exception, or set a new date.',
    reference: 'ISO/IEC 27001:2022, clause 10.2: nonconformities are followed up',
  },
  prepare: ({ facts }) => ({
    violates: (exception) => isExpiredException(exception, facts.now),
    message: ({ until, reason }) => `It expired on ${until ?? ''}. Reason: ${reason}`,
  }),
};

/** Every rule by name. */
export const rules = {
  'owner-inactive': ownerInactive,
  'never-expires': neverExpires,
  'lifetime-over': lifetimeOver,
  'lease-overdue': leaseOverdue,
  'never-used': neverUsedRule,
  'unused-for': unusedFor,
  'owner-external': ownerExternal,
  'owner-left': ownerLeft,
  'provider-not-asked': providerNotAsked,
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
  'tokens-in-clear': tokensInClear,
  'exception-expired': exceptionExpired,
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof rules;

/** The applied rules, with their severities, limits and exceptions. */
export type Policy = { readonly [Name in RuleName]: (typeof rules)[Name]['defaults'] };

export const ruleNames = Object.keys(rules) as readonly RuleName[];

export const defaultPolicy = Object.fromEntries(
  ruleNames.map((name) => [name, rules[name].defaults]),
) as unknown as Policy;

/** A rule by name, with a type that all rules share: the caller must pass this rule's parameters. */
export function ruleOf(name: RuleName): Rule {
  return rules[name];
}

/** The rules that a policy applies: enabled, and with the parameters they need. */
export function enabledRules(policy: Policy): RuleName[] {
  return ruleNames.filter((name) => {
    const setting = policy[name];
    return setting.enabled && !('users' in setting && setting.users.length === 0);
  });
}

/** Requires that a rule can select tokens. Throws `usage`. */
export function requireUsable(rule: RuleName, policy: Policy): void {
  if (ruleOf(rule).appliesTo !== 'tokens') {
    throw new TokenctlError(
      'usage',
      `The rule ${rule} does not apply to individual tokens, so it cannot select any`,
      { hint: `Run tokenctl tokens audit --explain ${rule} for its remedy.` },
    );
  }
  requireEnabled(rule, policy);
}

/** Requires that the policy applies a rule. Throws `usage`. */
export function requireEnabled(rule: RuleName, policy: Policy): void {
  if (enabledRules(policy).includes(rule)) return;
  throw new TokenctlError('usage', `The rule ${rule} is not enabled in the policy`, {
    hint: 'Enable it in the policy section of the configuration, or in a --policy file.',
  });
}
