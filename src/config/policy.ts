import { z } from 'zod';
import { defaultPolicy, type Policy, type RuleName, ruleNames } from '../domain/policy/policy.ts';
import { severities } from '../domain/policy/rule.ts';

/** Limits given for one run, in days. */
interface PolicyLimits {
  readonly maxLifetime?: number | undefined;
  readonly unusedFor?: number | undefined;
}

/** The policy of a run: the default one, with the changes in the configuration, and limits over both. */
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

/** The given values. A key without a value keeps its default. */
function given(setting: object | undefined): object {
  return Object.fromEntries(Object.entries(setting ?? {}).filter(([, value]) => value !== undefined));
}

export const ruleName = z.enum(ruleNames as readonly [RuleName, ...RuleName[]]);

const pattern = z.string().min(1);

const day = z.iso.date({ error: 'must be a date: "2026-12-31"' });

/** A thousand years in days: dates end long before the largest number. */
const MAX_AGE = 365_000;
const positive = (what: string) =>
  z
    .number()
    .positive(`must be a number of ${what} above 0`)
    .max(MAX_AGE, `must be at most ${MAX_AGE} ${what}`)
    .optional();
const whole = (what: string) =>
  z.number().int().positive(`must be a whole number of ${what} above 0`).optional();

/** The shape of an exception of a rule, and of a rule that opts out of owner notices. */
export function exceptionSchema() {
  return z.strictObject({
    user: pattern.optional(),
    application: pattern.optional(),
    description: pattern.optional(),
    until: day.optional(),
    reason: z.string({ error: 'is missing: explain the exception' }).min(1),
  });
}

function ruleSchema() {
  const exception = exceptionSchema();
  return z.strictObject({
    enabled: z.boolean().optional(),
    severity: z.enum(severities).optional(),
    exceptions: z.array(exception).optional(),
  });
}

/** Every rule of the policy, so that a new one cannot be forgotten here. */
function rulesSchema() {
  const rule = ruleSchema();
  const plain = rule.optional();
  const withDays = rule.extend({ days: positive('days') }).optional();
  const withHours = rule.extend({ hours: positive('hours') }).optional();
  const withTokens = rule.extend({ tokens: whole('tokens') });
  const withShare = withTokens
    .extend({
      percent: z
        .number()
        .min(0, 'must be between 0 and 100')
        .max(100, 'must be between 0 and 100')
        .optional(),
    })
    .optional();
  const withUsers = rule.extend({ users: z.array(pattern).optional() }).optional();
  return z.strictObject({
    'owner-inactive': plain,
    'never-expires': plain,
    'lifetime-over': withDays,
    'lease-overdue': plain,
    'never-used': withDays,
    'unused-for': withDays,
    'owner-external': plain,
    'owner-left': plain,
    'provider-not-asked': withDays,
    'owner-superuser': plain,
    'write-scope': plain,
    'write-unneeded': withDays,
    'no-description': plain,
    'personal-token-of-service-account': withUsers,
    'application-token-of-person': withUsers,
    'expired-present': plain,
    'refresh-outlives-access': plain,
    'refresh-orphaned': plain,
    'too-many-per-user': withTokens.optional(),
    'duplicate-purpose': plain,
    'expiry-cliff': withShare,
    'application-implicit': plain,
    'application-public-without-pkce': plain,
    'application-secret-older-than': withDays,
    'basic-auth-on': plain,
    'external-tokens-allowed': plain,
    'lifetime-default': plain,
    'session-age-long': withHours,
    'sessions-unlimited': plain,
    'tokens-in-clear': plain,
    'exception-expired': plain,
  } satisfies { [Name in RuleName]: z.ZodType<PartOf<Policy[Name]> | undefined> });
}

/** The `policy` section. Its schema is built only if there is one, because that takes a while. */
export const policySchema = z.lazy(rulesSchema);

/** A rule's setting without the parts that keep their default. */
type PartOf<Setting> = { readonly [Key in keyof Setting]?: Setting[Key] | undefined };

export type PolicySettings = z.output<typeof policySchema>;
