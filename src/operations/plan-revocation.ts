import { TokenctlError } from '../core/errors.ts';
import type { RevocationPlan } from '../core/plan.ts';
import { PlanBuilder } from '../core/plan-builder.ts';
import { describeSelector, requireMeaning, type Selector } from '../core/selector.ts';
import { requireNamed } from './named.ts';
import type { Clock, Target } from './ports.ts';

/** What to plan. */
export interface PlanRevocationOptions {
  readonly target: Target;
  readonly selector: Selector;
  readonly clock: Clock;
  /** Plans the caller's own credential as well, last; left out and told of by default. */
  readonly includeOwn?: boolean;
  /** Refuses a plan of more tokens than this. */
  readonly atMost?: number;
}

/**
 * Computes what a revocation of the selected tokens would do. Reads only.
 *
 * @throws TokenctlError `usage` for a selector without meaning, `not_found` for a user or application
 * that does not exist, `plan_too_large` for a plan above `atMost`, and whatever the target throws.
 */
export async function planRevocation(options: PlanRevocationOptions): Promise<RevocationPlan> {
  const { target, selector } = options;
  requireMeaning(selector);
  await requireNamed(target, selector);
  const builder = new PlanBuilder({
    selection: describeSelector(selector),
    ownTokenIds: await target.ownTokenIds(),
    includeOwn: options.includeOwn === true,
  });
  const absent = new Set(selector.ids);
  for await (const token of target.tokens(selector)) {
    builder.add(token);
    absent.delete(token.id);
  }
  const { tokensWithRefreshToken } = builder;
  const plan = builder.build({
    staysAlive: await target.staysAlive({ tokensWithRefreshToken }),
    absentIds: [...absent],
  });
  refuseTooLarge(plan.tokenIds.length, options.atMost);
  return plan;
}

function refuseTooLarge(planned: number, atMost: number | undefined): void {
  if (atMost === undefined || planned <= atMost) return;
  throw new TokenctlError(
    'plan_too_large',
    `The plan is to revoke ${planned} tokens, and at most ${atMost} are allowed`,
    {
      hint: 'Narrow the selection, or allow more.',
      details: { planned, atMost },
    },
  );
}
