import type { Runtime } from '../../app/runtime.ts';
import { expireSessions, planSessionExpiry } from '../../operations/sessions/expire-sessions.ts';
import type { Report } from '../../reports/result.ts';
import type { AccountFlags } from '../flags.ts';
import { sessionExpiryResult, sessionPlanResult } from '../sessions/session-expiry-result.ts';
import { inManagementWords } from './error.ts';

/** What `expire_sessions` is asked for with. */
export interface ManagementExpiry {
  readonly runtime: Runtime;
  readonly flags: AccountFlags & { readonly user?: string | undefined };
}

/**
 * Ends sessions as the controller's `expire_sessions` does, without asking and without a word: those of one
 * user, or of everybody.
 *
 * @throws ManagementError where there is no such user, and whatever the operations throw
 */
export async function managementExpiry({ runtime, flags }: ManagementExpiry): Promise<Report> {
  const description = await runtime.description();
  const { user } = flags;
  const plan = await inManagementWords(
    planSessionExpiry({ target: await runtime.target(), ...(user !== undefined && { users: [user] }) }),
    { code: 'not_found', message: 'The user does not exist.' },
  );
  const report =
    plan.sessions.count === 0
      ? sessionPlanResult(plan, { description, dryRun: false })
      : sessionExpiryResult(await expireSessions({ ...(await runtime.change(flags)), plan }));
  return { ...report, text: () => '' };
}
