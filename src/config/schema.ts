import { z } from 'zod';
import { auditLogSchema } from './audit-log-schema.ts';
import { contextNamePattern, contextSchema } from './context-schema.ts';
import { groupsSchema } from './groups.ts';
import { jobsSchema } from './jobs.ts';
import { policySchema } from './policy-schema.ts';
import { schedulerSchema } from './scheduler.ts';

/** The configuration file's shape, and that of all layers merged. */
export const configurationSchema = z.strictObject({
  currentContext: z.string().min(1).optional(),
  contexts: z.record(
    z.string().regex(contextNamePattern, 'cannot name a context: use letters, digits, dots and dashes'),
    contextSchema,
  ),
  groups: groupsSchema.prefault({}),
  auditLog: auditLogSchema,
  policy: policySchema,
  jobs: jobsSchema.prefault({}),
  scheduler: schedulerSchema,
});

/** The settings of a run, after all layers were merged and checked. */
export type Settings = z.output<typeof configurationSchema>;
