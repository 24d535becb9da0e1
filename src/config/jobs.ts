import { z } from 'zod';
import { duration } from './duration.ts';
import { jobParameters } from './job-parameters.ts';

/** What a job may be called: it stands in the ledger, in metrics and before `@` and the context. */
const jobNamePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** What every job can be told besides its parameters. */
const common = {
  /** A cron expression; that of the kind of job where not given. */
  schedule: z.string().min(1).optional(),
  /** As in the IANA database. */
  timeZone: z.string().min(1).default('UTC'),
  /** Where it runs: each context has ticks of its own. */
  contexts: z.array(z.string().min(1)).min(1).optional(),
  timeout: duration.default(3600),
  jitter: duration.default(0),
  /** What becomes of ticks that nobody ran in time. */
  missed: z
    .strictObject({
      run: z.enum(['all', 'last', 'none']).default('last'),
      within: duration.default(7 * 86_400),
    })
    .default({ run: 'last', within: 7 * 86_400 }),
  onFailure: z
    .strictObject({
      retries: z.number().int().min(0).max(20).default(3),
      retryAfter: duration.default(60),
      notify: z.boolean().default(true),
    })
    .default({ retries: 3, retryAfter: 60, notify: true }),
};

const dryRunUntilTrusted = { ...common, dryRun: z.boolean().default(true) };
const nothingToTrust = { ...common, dryRun: z.boolean().default(false) };

/** One job of the configuration. What changes a controller is a dry run until somebody says otherwise. */
const jobSchema = z.discriminatedUnion('job', [
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
    job: z.literal('incident-lift'),
    ...dryRunUntilTrusted,
    parameters: jobParameters['incident-lift'].prefault({}),
  }),
  z.strictObject({
    job: z.literal('log-checkpoint'),
    ...nothingToTrust,
    parameters: jobParameters['log-checkpoint'],
  }),
]);

/** The `jobs` section: jobs by name. */
export const jobsSchema = z.record(
  z.string().regex(jobNamePattern, 'cannot name a job: use lower-case letters, digits and dashes'),
  jobSchema,
);

/** A job of the configuration, defaults filled in. */
export type JobSettings = z.output<typeof jobSchema>;
