import { z } from 'zod';
import { auditLogSchema } from './audit-log-schema.ts';
import { contextSchema } from './context-schema.ts';
import { jobsSchema } from './jobs.ts';
import { policySchema } from './policy-schema.ts';
import { schedulerSchema } from './scheduler.ts';

/** What a context may be called: it is a key of the file, and part of a file's name. */
export const contextNamePattern = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** The configuration file's shape, and that of all layers merged. */
export const configurationSchema = z.strictObject({
  currentContext: z.string().min(1).optional(),
  contexts: z.record(
    z.string().regex(contextNamePattern, 'cannot name a context: use letters, digits, dots and dashes'),
    contextSchema,
  ),
  auditLog: auditLogSchema,
  policy: policySchema,
  jobs: jobsSchema.prefault({}),
  scheduler: schedulerSchema,
});

/** The settings of a run, after all layers were merged and checked. */
export type Settings = z.output<typeof configurationSchema>;
