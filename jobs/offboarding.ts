import { planOffboarding } from '../src/operations/incident/plan-offboarding.ts';
import {
  type Job,
  type NameSource,
  revocationJobReport,
  type TargetJobContext,
} from '../src/operations/jobs/job.ts';
import { reconcile } from '../src/operations/journal/reconcile.ts';
import { revokeTokens } from '../src/operations/revocation/revoke-tokens.ts';

/** The parameters of an offboarding. */
export interface OffboardingParameters {
  /** Whether to offboard deactivated users. */
  readonly inactive: boolean;
  /** The list of present users: everyone else is offboarded. Null for no list. */
  readonly present: NameSource | null;
  /** Users to keep, each a name or a pattern. */
  readonly except: readonly string[];
  readonly stopAbovePercent: number;
}

/** Ends the tokens, refresh tokens and sessions of users who left. */
export const offboarding: Job<TargetJobContext, OffboardingParameters> = {
  name: 'offboarding',
  schedule: '15 * * * *',
  async run(context, { present: source, ...parameters }) {
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const present = source === null ? null : await context.files.names(source, context.signal);
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
    const report = revocationJobReport(
      await revokeTokens({ ...context, plan, reason: 'scheduled offboarding' }),
      counted,
    );
    const left = plan.staysAlive.map(({ what }) => what.replaceAll('_', ' '));
    const text = [
      `Users who left or are deactivated: ${users.length}. Users with tokens: ${owners.join(', ') || 'none'}.`,
      ...(left.length === 0 ? [] : [`Not ended by this job: ${left.join(', ')}.`]),
    ].join('\n');
    return { ...report, notices: [{ subject: report.message, text, severity: 'info' }] };
  },
};
