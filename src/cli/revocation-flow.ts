import type { RevocationPlan } from '../core/plan.ts';
import type { Selector } from '../core/selector.ts';
import { planRevocation } from '../operations/plan-revocation.ts';
import { revokeTokens } from '../operations/revoke-tokens.ts';
import type { Runtime } from '../runtime.ts';
import type { Consent } from './consent.ts';
import { countText } from './counts.ts';
import type { ChangeFlags } from './flags.ts';
import { planResult } from './plan-result.ts';
import { planText } from './plan-text.ts';
import { progressLine } from './progress.ts';
import type { Report } from './result.ts';
import { revocationResult } from './revocation-result.ts';

/** What a revocation is asked for with. */
export interface RevocationRequest {
  readonly runtime: Runtime;
  readonly selector: Selector;
  readonly consent: Consent;
  readonly flags: RevocationFlags;
}

/** The flags that a revocation obeys. */
interface RevocationFlags extends ChangeFlags {
  readonly 'at-most'?: number | undefined;
  readonly 'include-own'?: boolean | undefined;
}

/**
 * Plans, shows, asks, revokes and reports: the dialogue of every command that revokes tokens.
 *
 * @throws TokenctlError `not_confirmed`, `plan_too_large`, and whatever the operations throw
 */
export async function revocationFlow(request: RevocationRequest): Promise<Report> {
  const { runtime, flags } = request;
  const plan = await planFor(request);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  if (dryRun || plan.tokenIds.length === 0) return planResult(plan, description, dryRun);
  await request.consent.confirm({
    plan: planText(plan, description, true),
    act: `revoke ${countText(plan.tokenIds.length, 'token')}`,
    type: String(plan.tokenIds.length),
  });
  const change = await runtime.change(flags);
  const progress = progressLine('Revoking');
  const report = await revokeTokens({ ...change, plan, onProgress: progress.step }).finally(progress.end);
  return revocationResult(report, 'Run the same command again: it goes on with what is left.');
}

async function planFor({ runtime, selector, flags }: RevocationRequest): Promise<RevocationPlan> {
  const { 'at-most': atMost, 'include-own': includeOwn } = flags;
  return await planRevocation({
    target: await runtime.target(),
    selector,
    clock: runtime.clock,
    ...(includeOwn !== undefined && { includeOwn }),
    ...(atMost !== undefined && { atMost }),
  });
}
