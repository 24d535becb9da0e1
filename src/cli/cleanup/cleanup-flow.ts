import type { Runtime } from '../../app/runtime.ts';
import { cleanupTokens } from '../../operations/cleanup/cleanup-tokens.ts';
import { type CleanupPlan, planCleanup } from '../../operations/cleanup/plan-cleanup.ts';
import { countText } from '../../reports/counts.ts';
import type { Report } from '../../reports/result.ts';
import type { Consent } from '../consent.ts';
import type { ChangeFlags } from '../flags.ts';
import { cleanupPlanResult, cleanupPlanText, cleanupResult } from './cleanup-result.ts';

/** How long revoked refresh tokens are kept unless said otherwise, in milliseconds. */
export const KEEP_REVOKED_FOR = 30 * 86_400_000;

/** What a clean-up is asked for with. */
export interface CleanupRequest {
  readonly runtime: Runtime;
  readonly consent: Consent;
  readonly flags: ChangeFlags & {
    /** In milliseconds. */
    readonly 'keep-revoked-for'?: number | undefined;
    readonly limit?: number | undefined;
  };
}

/**
 * Plans, shows, asks, deletes and reports.
 *
 * @throws TokenctlError `not_confirmed`, and whatever the operations throw
 */
export async function cleanupFlow({ runtime, consent, flags }: CleanupRequest): Promise<Report> {
  const plan = await planFor(runtime, flags);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  if (dryRun || plan.total === 0) return cleanupPlanResult(plan, { description, dryRun });
  await consent.confirm({
    plan: cleanupPlanText(plan, description),
    act: `delete ${countText(plan.total, 'row')}`,
    type: String(plan.total),
  });
  return cleanupResult(await cleanupTokens({ ...(await runtime.change(flags)), plan }));
}

async function planFor(runtime: Runtime, flags: CleanupRequest['flags']): Promise<CleanupPlan> {
  const { 'keep-revoked-for': keepRevokedFor, limit } = flags;
  const { capabilities } = await runtime.description();
  return await planCleanup({
    target: await runtime.target(),
    clock: runtime.clock,
    capabilities,
    keepRevokedFor: keepRevokedFor ?? KEEP_REVOKED_FOR,
    ...(limit !== undefined && { limit }),
  });
}
