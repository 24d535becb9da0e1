import type { Runtime } from '../../app/runtime.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { Selector } from '../../domain/selector.ts';
import { planRevocation } from '../../operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../operations/revocation/revoke-tokens.ts';
import type { Report } from '../../reports/result.ts';
import type { Confirmation } from '../consent.ts';
import type { ChangeFlags } from '../flags.ts';
import { amountsOf, isNothing, questionFor } from './plan-amounts.ts';
import { planResult } from './plan-result.ts';
import { planText } from './plan-text.ts';
import { revocationResult } from './revocation-result.ts';

/** What a revocation is asked for with. */
export interface RevocationRequest {
  readonly runtime: Runtime;
  readonly selector: Selector;
  readonly consent: Confirmation;
  readonly flags: RevocationFlags;
}

/** The flags that a revocation obeys. */
interface RevocationFlags extends ChangeFlags {
  readonly 'at-most'?: number | undefined;
  readonly 'include-own'?: boolean | undefined;
  /** Leaves refresh tokens alive. */
  readonly 'access-only'?: boolean | undefined;
  readonly 'with-sessions'?: boolean | undefined;
  /** Names of rules: of the selected tokens only those that one of them finds. */
  readonly finding?: readonly string[] | undefined;
  /** The file with the policy to judge by, instead of the configuration's. */
  readonly policy?: string | undefined;
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
  const amounts = amountsOf(plan);
  if (dryRun || isNothing(amounts)) return planResult(plan, description, dryRun);
  await request.consent.confirm({ plan: planText(plan, description, true), ...questionFor(amounts) });
  const change = await runtime.change(flags);
  const progress = runtime.progress('Revoking');
  // What a rule finds is no selection that could be read again for tokens made since.
  const selected = flags.finding === undefined ? { selector: request.selector } : {};
  const report = await revokeTokens({ ...change, plan, ...selected, onProgress: progress.step }).finally(
    progress.end,
  );
  return revocationResult(report);
}

async function planFor(request: RevocationRequest): Promise<RevocationPlan> {
  const { runtime, selector, flags } = request;
  const { 'at-most': atMost, 'include-own': includeOwn } = flags;
  const { capabilities } = await runtime.description();
  return await planRevocation({
    target: await runtime.target(),
    selector,
    clock: runtime.clock,
    capabilities,
    accessOnly: flags['access-only'] === true,
    withSessions: flags['with-sessions'] === true,
    findings: await findingsFor(request),
    ...(includeOwn !== undefined && { includeOwn }),
    ...(atMost !== undefined && { atMost }),
  });
}

/** What the rules of `--finding` find among the selected tokens; undefined without the flag. */
async function findingsFor({ runtime, selector, flags }: RevocationRequest) {
  if (flags.finding === undefined) return undefined;
  const { policyOf } = await import('../token-audit/audit-flow.ts');
  const { ruleNamed } = await import('../token-audit/explanation.ts');
  const { findingSelector } = await import('../../operations/token-audit/audit-tokens.ts');
  const rules = [...new Set(flags.finding)].map(ruleNamed);
  const policy = policyOf(runtime, { policy: flags.policy });
  const { clock } = runtime;
  const target = await runtime.target();
  const ids = new Set<number>();
  for (const rule of rules) {
    for (const id of await findingSelector({ target, policy, rule, clock, selector })) ids.add(id);
  }
  return { rules, ids: [...ids] };
}
