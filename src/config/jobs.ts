import { z } from 'zod';
import { exceptionSchema } from './policy.ts';
import { daysBefore, duration, MAX_AGE, secretReference, statePlace } from './value-schemas.ts';

/** A kind of job, as far as the configuration has to know it. */
export interface JobKind {
  readonly name: string;
  /** Whether it is a dry run by default. */
  readonly dryRun: boolean;
  parameters(): z.ZodType;
}

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

function jobSchema(kinds: readonly JobKind[]) {
  const schemas = kinds.map(({ name, dryRun, parameters }) =>
    z.strictObject({
      job: z.literal(name),
      ...common(),
      dryRun: z.boolean().default(dryRun),
      parameters: z.lazy(parameters),
    }),
  );
  type Schema = (typeof schemas)[number];
  return z.discriminatedUnion('job', schemas as [Schema, ...Schema[]], {
    // A kind is a word of ours, so that the message can list all.
    error: ({ code }) =>
      code === 'invalid_union' ? `must be one of: ${kinds.map(({ name }) => name).join(', ')}` : undefined,
  });
}

/** The `jobs` section: jobs by name. Its schema is built when a configuration has one, as that of the policy is. */
export function jobsSchema(kinds: readonly JobKind[]) {
  return z.lazy(() =>
    z.record(
      z.string().regex(jobNamePattern, 'is not a valid job name: use lowercase letters, digits and dashes'),
      jobSchema(kinds),
    ),
  );
}

/** A job of the configuration, defaults filled in. Its parameters have the shape of its kind. */
export type JobSettings = z.output<ReturnType<typeof jobSchema>>;

/** A recipient of notices: a webhook, generic or for Slack, or email addresses. */
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
  runsAtOnce: 32,
  runsPerContext: 4,
  notify: {},
  keepDays: 400,
};

/** The `scheduler` section: how `jobs start` works. Its schema is built when a configuration has one. */
export const schedulerSchema = z
  .lazy(() =>
    z.strictObject({
      /** Where the ledger of ticks is kept: in a file for one machine, in PostgreSQL for several. */
      ledger: statePlace.optional(),
      /** The port of the health and metrics pages, on the loopback address. */
      healthPort: z.number().int().min(0).max(65_535).default(SCHEDULER.healthPort),
      /** The address they are on; anything but loopback is for a container whose network is its own. */
      healthAddress: z.string().min(1).default(SCHEDULER.healthAddress),
      /** For how long a claim holds without being renewed. */
      lease: duration({ min: '1s', max: '1d' }).default(SCHEDULER.lease),
      /** How long runs in progress may take to end when the scheduler stops. */
      grace: duration({ max: '1d' }).default(SCHEDULER.grace),
      /** How many runs one process has in progress at most, in all contexts and in one. Others wait, the most overdue first. */
      runsAtOnce: z.number().int().min(1).max(1000).default(SCHEDULER.runsAtOnce),
      runsPerContext: z.number().int().min(1).max(1000).default(SCHEDULER.runsPerContext),
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
      .regex(/^[^\r\n]*$/, 'must be a single line'),
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
      .regex(/^[^\r\n]*$/, 'must be a single line'),
    /** Sends in clear text where the server offers nothing else. */
    allowPlain: z.boolean().default(false),
    /** Days before the expiry; none for no mail about that. */
    thresholds: z.array(daysBefore).default([30, 7, 1]),
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
