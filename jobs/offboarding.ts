import { planOffboarding } from '../src/operations/incident/offboard-user.ts';
import { type Job, revocationJobReport, type TargetJobContext } from '../src/operations/jobs/job.ts';
import { reconcile } from '../src/operations/journal/reconcile.ts';
import type { NameSource } from '../src/operations/ports/job-files.ts';
import { revokeTokens } from '../src/operations/revocation/revoke-tokens.ts';

/** What an offboarding is told. */
export interface OffboardingParameters {
  /** Deactivated users lose their access. */
  readonly inactive: boolean;
  /** So do users that are not named there; null where nobody keeps such a list. */
  readonly present: NameSource | null;
  /** Users that keep it, each a name or a pattern. */
  readonly except: readonly string[];
  readonly stopAbovePercent: number;
}

/** Ends the tokens, refresh tokens and sessions of users that are gone. */
export const offboarding: Job<TargetJobContext, OffboardingParameters> = {
  name: 'offboarding',
  schedule: '15 * * * *',
  async run(context, { present: source, ...parameters }) {
    // A killed run may have left nothing to do, and an intent without an outcome.
    await reconcile(context);
    const present = source === null ? null : await context.files.names(source, context.signal);
    const { plan, users, tokens } = await planOffboarding({ ...context, ...parameters, present });
    const counted = { users: users.length, tokens };
    if (plan === null) return { message: 'Nobody who is gone has access left', summary: counted };
    const owners = plan.byUser.map(({ name }) => name);
    if (context.dryRun) {
      const summary = {
        ...counted,
        planned: plan.tokenIds.length,
        sessions: plan.sessions?.count ?? 0,
        owners,
      };
      return { message: `Would end the access of ${users.length} users who are gone`, summary };
    }
    const report = revocationJobReport(
      await revokeTokens({ ...context, plan, reason: 'scheduled offboarding' }),
      counted,
    );
    const text = `Access was ended that users had who are gone or deactivated. With tokens: ${owners.join(', ') || 'none'}.`;
    return { ...report, notices: [{ subject: report.message, text, severity: 'info' }] };
  },
};
