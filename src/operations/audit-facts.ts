import { TokenctlError } from '../core/errors.ts';
import type { Policy, RuleName } from '../core/policy/policy.ts';
import { DAY, type Facts } from '../core/policy/rule.ts';
import type { Selector } from '../core/selector.ts';
import type { Target } from './ports.ts';

/** An enabled rule that could not be checked, and why. */
export interface NotChecked {
  readonly rule: RuleName;
  readonly why: string;
}

/** What facts are gathered for. */
export interface FactsWanted {
  readonly target: Target;
  readonly selector: Selector;
  readonly policy: Policy;
  readonly now: Date;
}

/**
 * Gathers what the policy's rules need to know besides the tokens, and nothing for rules that are
 * switched off.
 *
 * @throws Whatever the target throws, save for a criterion that it refuses: that rule is not checked.
 */
export async function gatherFacts(
  wanted: FactsWanted,
): Promise<{ facts: Facts; notChecked: readonly NotChecked[] }> {
  const { policy, now } = wanted;
  const notChecked: NotChecked[] = [];
  const unusedTokenIds = new Set<number>();
  const inactiveUserIds = new Set<number>();
  const externalUsers = new Map<number, string>();
  const gather = async (rule: RuleName, work: () => Promise<void>) => {
    if (!policy[rule].enabled) return;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof TokenctlError && error.code === 'unsupported')) throw error;
      notChecked.push({ rule, why: error.message });
    }
  };
  await gather('unused-for', async () => {
    for await (const { id, lastUsed } of wanted.target.tokens(unused(wanted))) {
      if (lastUsed !== undefined) return; // these tokens tell themselves
      unusedTokenIds.add(id);
    }
  });
  await gather('owner-inactive', async () => {
    for await (const user of wanted.target.users({ inactive: true })) inactiveUserIds.add(user.id);
  });
  await gather('owner-external', async () => {
    for await (const { id, externalAccount } of wanted.target.users()) {
      if (externalAccount !== null) externalUsers.set(id, externalAccount);
    }
  });
  return { facts: { now, unusedTokenIds, inactiveUserIds, externalUsers }, notChecked };
}

/** The audited tokens narrowed to those unused for the policy's days. */
function unused({ selector, policy, now }: FactsWanted): Selector {
  const { all: _all, ...criteria } = selector;
  const limit = now.getTime() - policy['unused-for'].days * DAY;
  return { ...criteria, unusedSince: new Date(Math.min(limit, selector.unusedSince?.getTime() ?? limit)) };
}
