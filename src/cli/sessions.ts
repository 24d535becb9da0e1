import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import {
  expireSessions,
  planSessionExpiry,
  type SessionExpiryPlan,
} from '../../operations/sessions/expire-sessions.ts';
import { countText } from '../../reports/counts.ts';
import type { Report } from '../../reports/result.ts';
import type { Confirmation } from '../consent.ts';
import type { ChangeFlags } from '../flags.ts';
import { sessionExpiryResult, sessionPlanResult, sessionPlanText } from './session-expiry-result.ts';

/** The flags that say whose sessions are meant. */
export interface SessionFlags {
  readonly user?: readonly string[] | undefined;
  readonly all?: boolean | undefined;
}

/** What sessions are asked to be ended with. */
export interface SessionExpiryRequest {
  readonly runtime: Runtime;
  readonly consent: Confirmation;
  readonly flags: ChangeFlags & SessionFlags;
}

/**
 * Makes sure that it was said whose sessions are meant: no flag does not mean everybody's.
 *
 * @throws TokenctlError `usage`
 */
export function requireSessions({ user, all }: SessionFlags): void {
  if (user !== undefined || all === true) return;
  throw new TokenctlError('usage', 'No sessions are selected', {
    hint: "Add --user NAME, or --all for everybody's",
  });
}

/**
 * Plans, shows, asks, ends and reports.
 *
 * @throws TokenctlError `not_confirmed`, and whatever the operations throw
 */
export async function sessionExpiryFlow(request: SessionExpiryRequest): Promise<Report> {
  const { runtime, consent, flags } = request;
  const plan = await planFor(runtime, flags.user);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  const { count } = plan.sessions;
  if (dryRun || count === 0) return sessionPlanResult(plan, { description, dryRun });
  await consent.confirm({
    plan: sessionPlanText(plan, description),
    act: `end ${countText(count, 'session')}`,
    type: String(count),
  });
  return sessionExpiryResult(await expireSessions({ ...(await runtime.change(flags)), plan }));
}

async function planFor(runtime: Runtime, users: readonly string[] | undefined): Promise<SessionExpiryPlan> {
  return await planSessionExpiry({
    target: await runtime.target(),
    ...(users !== undefined && { users }),
  });
}
