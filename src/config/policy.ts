import { z } from 'zod';
import { defaultPolicy, type Policy, type RuleName, ruleNames } from '../domain/policy/policy.ts';
import { severities } from '../domain/policy/rule.ts';

/** Limits given for one run, in days. */
interface PolicyLimits {
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

const pattern = z.string().min(1);

const day = z
  .string({ error: 'must be a day: "2026-12-31"' })
  .refine(isCalendarDay, { error: 'must be a day: "2026-12-31"' });

const exception = z.strictObject({
  user: pattern.optional(),
  application: pattern.optional(),
  description: pattern.optional(),
  until: day.optional(),
  reason: z.string({ error: 'is missing: say why this is an exception' }).min(1),
});

const rule = z.strictObject({
  enabled: z.boolean().optional(),
  severity: z.enum(severities).optional(),
  exceptions: z.array(exception).optional(),
});

/** A thousand years of days: dates end long before the largest number. */
const MAX_AGE = 365_000;
const positive = (what: string) =>
  z
    .number()
    .positive(`must be a number of ${what} above 0`)
    .max(MAX_AGE, `must be at most ${MAX_AGE} ${what}`)
    .optional();
const whole = (what: string) =>
  z.number().int().positive(`must be a whole number of ${what} above 0`).optional();

const withDays = rule.extend({ days: positive('days') });
const withHours = rule.extend({ hours: positive('hours') });
const withTokens = rule.extend({ tokens: whole('tokens') });
const withShare = withTokens.extend({
  percent: z.number().min(0, 'must be from 0 to 100').max(100, 'must be from 0 to 100').optional(),
});
const withUsers = rule.extend({ users: z.array(pattern).optional() });

/** Every rule of the policy, so that a new one cannot be forgotten here. */
export const policySchema = z.strictObject({
  'owner-inactive': rule.optional(),
  'never-expires': rule.optional(),
  'lifetime-over': withDays.optional(),
  'never-used': withDays.optional(),
  'unused-for': withDays.optional(),
  'owner-external': rule.optional(),
  'owner-superuser': rule.optional(),
  'write-scope': rule.optional(),
  'write-unneeded': withDays.optional(),
  'no-description': rule.optional(),
  'personal-token-of-service-account': withUsers.optional(),
  'application-token-of-person': withUsers.optional(),
  'expired-present': rule.optional(),
  'refresh-outlives-access': rule.optional(),
  'refresh-orphaned': rule.optional(),
  'too-many-per-user': withTokens.optional(),
  'duplicate-purpose': rule.optional(),
  'expiry-cliff': withShare.optional(),
  'application-implicit': rule.optional(),
  'application-public-without-pkce': rule.optional(),
  'application-secret-older-than': withDays.optional(),
  'basic-auth-on': rule.optional(),
  'external-tokens-allowed': rule.optional(),
  'lifetime-default': rule.optional(),
  'session-age-long': withHours.optional(),
  'sessions-unlimited': rule.optional(),
  'tokens-in-clear': rule.optional(),
  'exception-expired': rule.optional(),
} satisfies { [Name in RuleName]: z.ZodType<PartOf<Policy[Name]> | undefined> });

/** A rule's setting with everything left out that keeps its default. */
type PartOf<Setting> = { readonly [Key in keyof Setting]?: Setting[Key] | undefined };

/** What a configuration says about the policy. */
export type PolicySettings = z.output<typeof policySchema>;

/** `Date` reads 31 February as 3 March, so compare with the input. */
function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const parsed = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
}
