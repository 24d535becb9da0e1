import { z } from 'zod';
import { type RuleName, ruleNames } from '../domain/policy/policy.ts';
import { severities } from '../domain/policy/rule.ts';
import { exceptionSchema, policySchema } from './policy.ts';
import { databaseSetting, duration, MAX_AGE, secretReference } from './value-schemas.ts';

const file = z.strictObject({ file: z.string().min(1) }).transform(({ file }) => file);
const whole = (what: string) => z.number().int().min(1, `must be a whole number of ${what} above 0`);
const days = z
  .number()
  .positive('must be a number of days above 0')
  .max(36_500, 'must be at most 36500 days');
const percent = z.number().min(0, 'must be from 0 to 100').max(100, 'must be from 0 to 100');
const rule = z.enum(ruleNames as readonly [RuleName, ...RuleName[]]);

/** What a sweep is told, by its names in the configuration. */
const revocationSweep = z.lazy(() =>
  z.strictObject({
    rules: z.array(rule).min(1),
    policy: policySchema.optional(),
    keepIfYounger: duration({ max: MAX_AGE }).default(7 * 86_400),
    atMost: whole('tokens').default(500),
    stopAbovePercent: percent.default(20),
    accessOnly: z.boolean().default(false),
  }),
);

const tokenAudit = z.lazy(() =>
  z.strictObject({
    rules: z.array(rule).min(1).optional(),
    policy: policySchema.optional(),
    baseline: file.optional(),
    report: file
      .refine((path) => /\.(html|sarif|json|csv)$/.test(path), 'must end in .html, .sarif, .json or .csv')
      .optional(),
    notifyAt: z.enum(severities).default('high'),
  }),
);

const tokenCleanup = z.lazy(() =>
  z.strictObject({
    keepRevokedFor: duration({ max: MAX_AGE }).default(30 * 86_400),
    atMost: whole('rows').default(100_000),
  }),
);

const settingsGuard = z.lazy(() =>
  z.strictObject({
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
  }),
);

const offboarding = z.lazy(() =>
  z
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
    .refine(
      ({ inactive, present }) => inactive || present !== undefined,
      'must name `inactive` or `present`',
    ),
);

const expiryNotices = z.lazy(() =>
  z.strictObject({
    /** Days before the expiry. */
    thresholds: z.array(days).min(1).default([30, 7, 1]),
    /** Names of `scheduler.notify`; all of them where not given. */
    to: z.array(z.string().min(1)).min(1).optional(),
  }),
);

const logCheckpoint = z.lazy(() =>
  z
    .strictObject({ key: file, keepIn: file.optional(), notify: z.boolean().default(false) })
    .refine(({ keepIn, notify }) => notify || keepIn !== undefined, 'must name `keepIn` or `notify`'),
);

const incidentLift = z.strictObject({});

/** The `ownerNotices` section has them. */
const ownerNotices = z.strictObject({});

/** The parameters of every kind of job, by its name. */
const jobParameters = {
  'revocation-sweep': revocationSweep,
  'token-audit': tokenAudit,
  'expiry-notices': expiryNotices,
  'token-cleanup': tokenCleanup,
  'settings-guard': settingsGuard,
  offboarding,
  'owner-notices': ownerNotices,
  'incident-lift': incidentLift,
  'log-checkpoint': logCheckpoint,
} as const;

/** The name of a kind of job. */
export type JobKind = keyof typeof jobParameters;

/** The form of a job name, which also appears in the ledger and in metrics. */
const jobNamePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The settings that all jobs share. */
const common = () => ({
  /** A cron expression; that of the kind of job where not given. */
  schedule: z.string().min(1).optional(),
  /** As in the IANA database. */
  timeZone: z.string().min(1).default('UTC'),
  /** Where it runs: each context has ticks of its own. */
  contexts: z.array(z.string().min(1)).min(1).optional(),
  timeout: duration({ min: '1s', max: '7d' }).default(3600),
  jitter: duration({ max: '7d' }).default(0),
  /** What to do with missed ticks. */
  missed: z
    .strictObject({
      run: z.enum(['all', 'last', 'none']).default('last'),
      within: duration({ max: MAX_AGE }).default(7 * 86_400),
    })
    .default({ run: 'last', within: 7 * 86_400 }),
  onFailure: z
    .strictObject({
      retries: z.number().int().min(0).max(20).default(3),
      retryAfter: duration({ max: '1d' }).default(60),
      notify: z.boolean().default(true),
    })
    .default({ retries: 3, retryAfter: 60, notify: true }),
});

/** One job. Jobs that change a controller are dry runs by default. */
function jobSchema() {
  const dryRunUntilTrusted = { ...common(), dryRun: z.boolean().default(true) };
  const nothingToTrust = { ...common(), dryRun: z.boolean().default(false) };
  return z.discriminatedUnion(
    'job',
    [
      z.strictObject({
        job: z.literal('revocation-sweep'),
        ...dryRunUntilTrusted,
        parameters: jobParameters['revocation-sweep'],
      }),
      z.strictObject({
        job: z.literal('token-audit'),
        ...nothingToTrust,
        parameters: jobParameters['token-audit'].prefault({}),
      }),
      z.strictObject({
        job: z.literal('expiry-notices'),
        ...dryRunUntilTrusted,
        parameters: jobParameters['expiry-notices'].prefault({}),
      }),
      z.strictObject({
        job: z.literal('token-cleanup'),
        ...dryRunUntilTrusted,
        parameters: jobParameters['token-cleanup'].prefault({}),
      }),
      z.strictObject({
        job: z.literal('settings-guard'),
        ...dryRunUntilTrusted,
        parameters: jobParameters['settings-guard'],
      }),
      z.strictObject({
        job: z.literal('offboarding'),
        ...dryRunUntilTrusted,
        parameters: jobParameters.offboarding.prefault({}),
      }),
      z.strictObject({
        job: z.literal('owner-notices'),
        ...dryRunUntilTrusted,
        parameters: jobParameters['owner-notices'].prefault({}),
      }),
      z.strictObject({
        job: z.literal('incident-lift'),
        ...dryRunUntilTrusted,
        parameters: jobParameters['incident-lift'].prefault({}),
      }),
      z.strictObject({
        job: z.literal('log-checkpoint'),
        ...nothingToTrust,
        parameters: jobParameters['log-checkpoint'],
      }),
    ],
    { error: ({ code }) => (code === 'invalid_union' ? unknownKind() : undefined) },
  );
}

/** A kind is a word of ours, so that the message can list all. */
function unknownKind(): string {
  return `must be one of: ${Object.keys(jobParameters).join(', ')}`;
}

/** The `jobs` section: jobs by name. Its schema is built when a configuration has one, as that of the policy is. */
export const jobsSchema = z.lazy(() =>
  z.record(
    z.string().regex(jobNamePattern, 'cannot name a job: use lower-case letters, digits and dashes'),
    jobSchema(),
  ),
);

/** A job of the configuration, defaults filled in. */
export type JobSettings = z.output<ReturnType<typeof jobSchema>>;

/** Where the ledger of ticks is kept: in a file for one machine, in PostgreSQL for several. */
const ledger = () =>
  z
    .strictObject({ file: z.string().min(1).optional(), database: databaseSetting.optional() })
    .refine(
      ({ file, database }) => file === undefined || database === undefined,
      'has both a file and a database: keep one',
    );

/** A recipient of notices: a webhook, generic or for Slack, or e-mail addresses. */
function recipientSchema() {
  const at = z.enum(['info', 'warning', 'error']).default('warning');
  const webhook = { url: secretReference, signingSecret: secretReference.optional(), at };
  return z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('webhook'), ...webhook }),
    z.strictObject({ kind: z.literal('slack'), ...webhook }),
    z.strictObject({
      kind: z.literal('email'),
      /** Holds the `smtps://` or `smtp://` URL of the server, its credentials in it. */
      server: secretReference,
      from: z.string().min(3),
      to: z.array(z.string().min(3)).min(1),
      /** Sends in clear text where the server offers nothing else. */
      allowPlain: z.boolean().default(false),
      at,
    }),
  ]);
}

/** A recipient of notices, by its kind. */
export type RecipientSettings = z.output<ReturnType<typeof recipientSchema>>;

/** The `scheduler` section where nothing is configured; durations in seconds. */
const SCHEDULER = {
  healthPort: 9464,
  healthAddress: '127.0.0.1',
  lease: 60,
  grace: 60,
  notify: {},
  keepDays: 400,
};

/** The `scheduler` section: how `jobs start` works. Its schema is built when a configuration has one. */
export const schedulerSchema = z
  .lazy(() =>
    z.strictObject({
      ledger: ledger().optional(),
      /** The port of the health and metrics pages, on the loopback address. */
      healthPort: z.number().int().min(0).max(65_535).default(SCHEDULER.healthPort),
      /** The address they are on; anything but loopback is for a container whose network is its own. */
      healthAddress: z.string().min(1).default(SCHEDULER.healthAddress),
      /** For how long a claim holds without being renewed. */
      lease: duration({ min: '1s', max: '1d' }).default(SCHEDULER.lease),
      /** How long runs in progress may take to end when the scheduler stops. */
      grace: duration({ max: '1d' }).default(SCHEDULER.grace),
      /** Who is told what happened, by a name. `at` is how grave it must be. */
      notify: z.record(z.string().min(1), recipientSchema()).default(SCHEDULER.notify),
      /** For how many days the history is kept. */
      keepDays: z.number().int().positive().max(36_500, 'must be at most 36500').default(SCHEDULER.keepDays),
    }),
  )
  .default(SCHEDULER);

/** The `scheduler` section, defaults filled in. */
export type SchedulerSettings = z.output<typeof schedulerSchema>;

const templateSchema = () =>
  z.strictObject({
    subject: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^\r\n]*$/, 'must be one line'),
    text: z.string().min(1).max(10_000),
  });

/** The `ownerNotices` section: mail to the owners of tokens. Its schema is built when a configuration has one. */
export const ownerNoticesSchema = z.lazy(() =>
  z.strictObject({
    /** Holds the `smtps://` or `smtp://` URL of the server, its credentials in it. */
    server: secretReference,
    from: z
      .string()
      .min(3)
      .regex(/^[^\r\n]*$/, 'must be one line'),
    /** Sends in clear text where the server offers nothing else. */
    allowPlain: z.boolean().default(false),
    /** Days before the expiry; none for no mail about that. */
    thresholds: z.array(days).default([30, 7, 1]),
    /** Whether owners are told what was revoked. */
    revoked: z.boolean().default(true),
    /** How far back revocations are looked for. */
    revokedWithin: duration({ min: '1m', max: '90d' }).default(7 * 86_400),
    /** The tokens that owners get no mail about. */
    optOut: z.array(exceptionSchema()).default([]),
    /** Domains that mail is sent to; all where not given. */
    domains: z.array(z.string().min(1)).default([]),
    /** How many mails one run sends. */
    atMost: z.number().int().min(1).max(100_000).default(500),
    template: templateSchema().optional(),
    /** Templates for members of organizations, by their names. The first that fits counts. */
    organizations: z.record(z.string().min(1), templateSchema()).default({}),
  }),
);

/** The `ownerNotices` section, defaults filled in. */
export type OwnerNoticesSettings = z.output<typeof ownerNoticesSchema>;
