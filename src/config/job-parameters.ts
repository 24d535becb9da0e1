import { z } from 'zod';
import { type RuleName, ruleNames } from '../domain/policy/policy.ts';
import { severities } from '../domain/policy/rule.ts';
import { duration } from './duration.ts';
import { policySchema } from './policy-schema.ts';

const file = z.strictObject({ file: z.string().min(1) }).transform(({ file }) => file);
const whole = (what: string) => z.number().int().min(1, `must be a whole number of ${what} above 0`);
const percent = z.number().min(0, 'must be from 0 to 100').max(100, 'must be from 0 to 100');
const rule = z.enum(ruleNames as readonly [RuleName, ...RuleName[]]);

/** What a sweep is told, by its names in the configuration. */
const revocationSweep = z.strictObject({
  rules: z.array(rule).min(1),
  policy: policySchema.optional(),
  keepIfYounger: duration.default(7 * 86_400),
  atMost: whole('tokens').default(500),
  stopAbovePercent: percent.default(20),
  accessOnly: z.boolean().default(false),
});

const tokenAudit = z.strictObject({
  rules: z.array(rule).min(1).optional(),
  policy: policySchema.optional(),
  baseline: file.optional(),
  report: file
    .refine((path) => /\.(html|sarif|json|csv)$/.test(path), 'must end in .html, .sarif, .json or .csv')
    .optional(),
  notifyAt: z.enum(severities).default('high'),
});

const tokenCleanup = z.strictObject({
  keepRevokedFor: duration.default(30 * 86_400),
  atMost: whole('rows').default(100_000),
});

const settingsGuard = z.strictObject({
  settings: z
    .strictObject({
      AUTH_BASIC_ENABLED: z.boolean(),
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
      SESSION_COOKIE_AGE: z.number().int().positive(),
      SESSIONS_PER_USER: z.number().int(),
      DISABLE_LOCAL_AUTH: z.boolean(),
      OAUTH2_PROVIDER: z
        .strictObject({
          ACCESS_TOKEN_EXPIRE_SECONDS: z.number().int().positive(),
          REFRESH_TOKEN_EXPIRE_SECONDS: z.number().int().positive(),
          AUTHORIZATION_CODE_EXPIRE_SECONDS: z.number().int().positive(),
        })
        .partial(),
      LOGIN_REDIRECT_OVERRIDE: z.string(),
      ALLOW_METRICS_FOR_ANONYMOUS_USERS: z.boolean(),
    })
    .partial()
    .refine((settings) => Object.keys(settings).length > 0, 'must name a setting'),
  enforce: z.boolean().default(false),
});

const offboarding = z
  .strictObject({
    inactive: z.boolean().default(true),
    present: z
      .union([
        z.strictObject({ file: z.string().min(1) }),
        z.strictObject({ command: z.array(z.string().min(1)).min(1) }),
      ])
      .optional(),
    except: z.array(z.string().min(1)).default([]),
    stopAbovePercent: percent.default(10),
  })
  .refine(({ inactive, present }) => inactive || present !== undefined, 'must name `inactive` or `present`');

const expiryNotices = z.strictObject({
  /** Days before the expiry. */
  thresholds: z.array(z.number().positive('must be a number of days above 0')).min(1).default([30, 7, 1]),
  /** Names of `scheduler.notify`; all of them where not given. */
  to: z.array(z.string().min(1)).min(1).optional(),
});

const logCheckpoint = z
  .strictObject({ key: file, keepIn: file.optional(), notify: z.boolean().default(false) })
  .refine(({ keepIn, notify }) => notify || keepIn !== undefined, 'must name `keepIn` or `notify`');

const incidentLift = z.strictObject({});

/** The parameters of every kind of job, by its name. */
export const jobParameters = {
  'revocation-sweep': revocationSweep,
  'token-audit': tokenAudit,
  'expiry-notices': expiryNotices,
  'token-cleanup': tokenCleanup,
  'settings-guard': settingsGuard,
  offboarding,
  'incident-lift': incidentLift,
  'log-checkpoint': logCheckpoint,
} as const;

/** The name of a kind of job. */
export type JobKind = keyof typeof jobParameters;
