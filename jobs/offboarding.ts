import { z } from 'zod';
import { percent } from '../src/config/value-schemas.ts';
import { pathNames } from '../src/domain/access.ts';
import { defineJob, revocationJobReport } from '../src/operations/jobs/job.ts';

/** Ends the tokens, refresh tokens and sessions of users who left. */
export const offboarding = defineJob({
  name: 'offboarding',
  on: 'target',
  schedule: '15 * * * *',
  dryRun: true,
  parameters: () =>
    z
      .strictObject({
        /** Whether to offboard deactivated users. */
        inactive: z.boolean().default(true),
        /** The list of present users: everyone else is offboarded. */
        present: z
          .union([
            z.strictObject({ file: z.string().min(1) }),
            z.strictObject({ command: z.array(z.string().min(1)).min(1) }),
          ])
          .optional(),
        /** Users to keep, each a name or a pattern. */
        except: z.array(z.string().min(1)).default([]),
        stopAbovePercent: percent.default(10),
      })
      .refine(
        ({ inactive, present }) => inactive || present !== undefined,
        'must name `inactive` or `present`',
      )
      .prefault({}),
  async run(context, { present: source, ...parameters }) {
    const { reconcile } = await import('../src/operations/journal/reconcile.ts');
    const { planOffboarding } = await import('../src/operations/incident/plan-offboarding.ts');
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const present = source === undefined ? null : await context.files.names(source, context.signal);
    const { plan, users, tokens } = await planOffboarding({ ...context, ...parameters, present });
    const counted = { users: users.length, tokens };
    if (plan === null) return { message: 'No user who left has access', summary: counted };
    const owners = plan.byUser.map(({ name }) => name);
    if (context.dryRun) {
      const summary = {
        ...counted,
        planned: plan.tokenIds.length,
        sessions: plan.sessions?.count ?? 0,
        owners,
      };
      return { message: `Would end the access of ${users.length} users who left`, summary };
    }
    const { revokeTokens } = await import('../src/operations/revocation/revoke-tokens.ts');
    const report = revocationJobReport(
      await revokeTokens({ ...context, plan, selector: { users }, reason: 'scheduled offboarding' }),
      counted,
    );
    const left = pathNames(plan.accessPaths);
    const text = [
      `Users who left or are deactivated: ${users.length}. Users with tokens: ${owners.join(', ') || 'none'}.`,
      ...(left === '' ? [] : [`Not ended by this job: ${left}.`]),
    ].join('\n');
    return { ...report, notices: [{ subject: report.message, text, severity: 'info' }] };
  },
});
