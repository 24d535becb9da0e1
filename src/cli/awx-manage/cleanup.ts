import type { Runtime } from '../../app/runtime.ts';
import { cleanupTokens } from '../../operations/cleanup/cleanup-tokens.ts';
import { type CleanupKind, cleanupKinds, planCleanup } from '../../operations/cleanup/plan-cleanup.ts';
import type { Report } from '../../reports/result.ts';
import { KEEP_REVOKED_FOR } from '../cleanup/cleanup-flow.ts';
import { cleanupPlanResult, cleanupResult } from '../cleanup/cleanup-result.ts';
import type { AccountFlags } from '../flags.ts';

/** What `cleanup_tokens` is asked for with. */
export interface ManagementCleanup {
  readonly runtime: Runtime;
  readonly flags: AccountFlags;
}

/**
 * Deletes tokens that are over as the controller's `cleanup_tokens` does, without asking, and prints its two
 * lines.
 *
 * @throws Whatever the operations throw
 */
export async function managementCleanup({ runtime, flags }: ManagementCleanup): Promise<Report> {
  const description = await runtime.description();
  const { capabilities } = description;
  const plan = await planCleanup({
    target: await runtime.target(),
    clock: runtime.clock,
    capabilities,
    keepRevokedFor: KEEP_REVOKED_FOR,
  });
  if (plan.total === 0) {
    return { ...cleanupPlanResult(plan, { description, dryRun: false }), text: () => linesFor(() => 0) };
  }
  const cleanup = await cleanupTokens({ ...(await runtime.change(flags)), plan });
  return { ...cleanupResult(cleanup), text: () => linesFor((kind) => cleanup.byKind[kind].deleted) };
}

function linesFor(deleted: (kind: CleanupKind) => number): string {
  const refresh = cleanupKinds.filter((kind) => kind !== 'expiredAccessTokens');
  const refreshTokens = refresh.reduce((total, kind) => total + deleted(kind), 0);
  return (
    `Expired OAuth 2 Access Tokens deleted: ${deleted('expiredAccessTokens')}\n` +
    `Expired OAuth 2 Refresh Tokens deleted: ${refreshTokens}\n`
  );
}
