import { z } from 'zod';
import { exceptionSchema } from './policy.ts';
import { daysBefore, duration, MAX_AGE, secretReference, statePlace } from './value-schemas.ts';

/** What the configuration needs to know about a kind of job. */
export interface JobKind {
  readonly name: string;
  readonly dryRun: boolean;
  parameters(): z.ZodType;
}

/** The format of a job name, which also appears in the ledger and in metrics. */
const jobNamePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

const common = () => ({
  /** A cron expression. By default that of the kind. */
  schedule: z.string().min(1).optional(),
  /** A name in the IANA database. */
  timeZone: z.string().min(1).default('UTC'),
  /** The contexts, each with its own ticks. */
  contexts: z.array(z.string().min(1)).min(1).optional(),
  timeout: duration({ min: '1s', max: '7d' }).default(3600),
  jitter: duration({ max: '7d' }).default(0),
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
    // Kinds are our own words, so the message can list them all.
    error: ({ code }) =>
      code === 'invalid_union' ? `must be one of: ${kinds.map(({ name }) => name).join(', ')}` : undefined,
  });
}

/** The `jobs` section: jobs by name. Its schema is built only for a configuration that has one. */
export function jobsSchema(kinds: readonly JobKind[]) {
  return z.lazy(() =>
    z.record(
      z.string().regex(jobNamePattern, 'is not a valid job name: use lowercase letters, digits and dashes'),
      jobSchema(kinds),
    ),
  );
}

/** A configured job, including defaults. Its parameters have the shape of its kind. */
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
      /** Contains the server's `smtps://` or `smtp://` URL with its credentials. */
      server: secretReference,
      from: z.string().min(3),
      to: z.array(z.string().min(3)).min(1),
      /** Allows plain text if the server offers no encryption. */
      allowPlain: z.boolean().default(false),
      at,
    }),
  ]);
}

export type RecipientSettings = z.output<ReturnType<typeof recipientSchema>>;

/** The default `scheduler` section. Durations are in seconds. */
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

/** The `scheduler` section: how `jobs start` works. Its schema is built only for a configuration that has one. */
export const schedulerSchema = z
  .lazy(() =>
    z.strictObject({
      /** Where the ledger of ticks is kept: in a file for one machine, in PostgreSQL for several. */
      ledger: statePlace.optional(),
      /** The port of the health and metrics pages, on the loopback address. */
      healthPort: z.number().int().min(0).max(65_535).default(SCHEDULER.healthPort),
      /** The address of these pages. An address other than loopback is for a container with its own network. */
      healthAddress: z.string().min(1).default(SCHEDULER.healthAddress),
      /** How long a claim lasts without renewal. */
      lease: duration({ min: '1s', max: '1d' }).default(SCHEDULER.lease),
      /** How long running jobs may take to end when the scheduler stops. */
      grace: duration({ max: '1d' }).default(SCHEDULER.grace),
      /** The maximum number of one process's runs, in all contexts and in one. The most overdue goes first. */
      runsAtOnce: z.number().int().min(1).max(1000).default(SCHEDULER.runsAtOnce),
      runsPerContext: z.number().int().min(1).max(1000).default(SCHEDULER.runsPerContext),
      /** The recipients of notices, by name. `at` is their minimum severity. */
      notify: z.record(z.string().min(1), recipientSchema()).default(SCHEDULER.notify),
      keepDays: z.number().int().positive().max(36_500, 'must be at most 36500').default(SCHEDULER.keepDays),
    }),
  )
  .default(SCHEDULER);

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

/** The `ownerNotices` section: mail to the owners of tokens. Its schema is built only if there is one. */
export const ownerNoticesSchema = z.lazy(() =>
  z.strictObject({
    /** Contains the server's `smtps://` or `smtp://` URL with its credentials. */
    server: secretReference,
    from: z
      .string()
      .min(3)
      .regex(/^[^\r\n]*$/, 'must be a single line'),
    /** Allows plain text if the server offers no encryption. */
    allowPlain: z.boolean().default(false),
    /** Days before the expiry; empty for no mail about it. */
    thresholds: z.array(daysBefore).default([30, 7, 1]),
    /** Whether owners are notified about revoked tokens. */
    revoked: z.boolean().default(true),
    /** The period in which revocations are searched. */
    revokedWithin: duration({ min: '1m', max: '90d' }).default(7 * 86_400),
    /** The tokens whose owners get no mail. */
    optOut: z.array(exceptionSchema()).default([]),
    /** The allowed mail domains; empty for all. */
    domains: z.array(z.string().min(1)).default([]),
    /** The maximum number of mails in one run. */
    atMost: z.number().int().min(1).max(100_000).default(500),
    template: templateSchema().optional(),
    /** Templates for members of organizations, by organization name. The first match counts. */
    organizations: z.record(z.string().min(1), templateSchema()).default({}),
  }),
);

export type OwnerNoticesSettings = z.output<typeof ownerNoticesSchema>;
