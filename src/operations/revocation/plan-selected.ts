import { TokenctlError } from '@tokenctl/common/errors.ts';
import { amountsOf, isNothing, type RevocationPlan } from '../../domain/plan.ts';
import type { Policy, RuleName } from '../../domain/policy/policy.ts';
import { isByGroup, type Selection, type Selector } from '../../domain/selector.ts';
import type { OpenLog } from '../directories/known-sources.ts';
import type { LinkedDatabase, TargetDescription } from '../ports/target.ts';
import { resolveSelection, resolveTokenIds } from '../scope/resolve-names.ts';
import { fullViewHint, requireFullView } from '../scope/visibility.ts';
import { type PlanRevocationOptions, planRevocation } from './plan-revocation.ts';
import { readLinked } from './read-linked.ts';
import { planFromSaved, type SavedPlan } from './saved-plan.ts';

export interface PlanSelectedOptions extends Omit<PlanRevocationOptions, 'selector' | 'words' | 'findings'> {
  readonly description: TargetDescription;
  /** The selection, or a saved plan to apply instead. */
  readonly selection: Selection | SavedPlan;
  /** For a saved plan: whether names must match those that the approver read. */
  readonly sameNames: boolean;
  /** Over REST: the database for data that the API does not list. */
  readonly linked?: LinkedDatabase | undefined;
  /** Only tokens that violate one of these rules. */
  readonly violating?:
    | { readonly rules: readonly RuleName[]; readonly policy: Policy; readonly openLog?: OpenLog }
    | undefined;
}

export interface SelectedPlan {
  readonly plan: RevocationPlan;
  readonly saved: SavedPlan | undefined;
  /** Selects the tokens again. Undefined for a saved plan and for findings: newer tokens do not count. */
  readonly selector: Selector | undefined;
}

/**
 * Plans a revocation as requested: resolves names, reads the tokens, and refuses a selection of which this
 * account sees nothing.
 * @throws TokenctlError `permission_refused` if no selected token is visible, and as {@link planRevocation}
 * and {@link planFromSaved}
 */
export async function planSelected(options: PlanSelectedOptions): Promise<SelectedPlan> {
  const selected = await planVisible(options);
  const { linked } = options;
  if (linked === undefined) return selected;
  const { plan, selector } = selected;
  const accessPaths = await readLinked(plan.accessPaths, linked, { plan, selector, isDone: false });
  return { ...selected, plan: { ...plan, accessPaths } };
}

async function planVisible(options: PlanSelectedOptions): Promise<SelectedPlan> {
  const { selection, sameNames, violating, linked: _, ...planning } = options;
  const { target, description } = planning;
  if ('format' in selection) {
    const plan = await planFromSaved({ ...planning, saved: selection, sameNames });
    requireVisible(plan, description);
    return { plan, saved: selection, selector: undefined };
  }
  // An invisible member of a group would silently keep their tokens.
  if (isByGroup(selection)) requireFullView(description, 'Revoking by organization or team');
  const selected = await resolveSelection(target, selection);
  const findings = violating && (await findingsOf(options, selected.selector, violating));
  const plan = await planRevocation({ ...planning, ...selected, findings });
  if (plan.notSeen === null || isEmpty(plan)) await resolveTokenIds(target, plan.absentIds);
  requireVisible(plan, description);
  return { plan, saved: undefined, selector: findings === undefined ? selected.selector : undefined };
}

function isEmpty(plan: RevocationPlan): boolean {
  return isNothing(amountsOf(plan)) && plan.kept.length === 0;
}

/** "Nothing to revoke" is only true for what the account sees. */
function requireVisible(plan: RevocationPlan, description: TargetDescription): void {
  if (plan.notSeen === null || !isEmpty(plan)) return;
  throw new TokenctlError(
    'permission_refused',
    `No selected token is visible to ${description.identity.username}`,
    { hint: `${plan.notSeen}. ${fullViewHint(description)}` },
  );
}

async function findingsOf(
  { target, clock }: PlanSelectedOptions,
  selector: Selector,
  { rules, policy, openLog }: NonNullable<PlanSelectedOptions['violating']>,
) {
  const { findingSelector } = await import('../token-audit/audit-tokens.ts');
  const ids = new Set<number>();
  for (const rule of rules) {
    for (const id of await findingSelector({ target, policy, rule, clock, selector, openLog })) ids.add(id);
  }
  return { rules, ids: [...ids] };
}
