import { IdSet } from '../../domain/compact-collections.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { Selector } from '../../domain/selector.ts';
import type { Work } from '../journal/operation-run.ts';
import type { RefreshTokenSelector, Target } from '../ports/target.ts';
import { refreshTokensMeant } from './refresh-tokens-meant.ts';

/** What a selector names by now and the plan did not. */
export interface MadeSince {
  readonly accessTokens: number;
  readonly refreshTokens: number;
}

/**
 * Counts what the selector names after the work and the plan did not know. Whoever refreshes while a plan is
 * shown, confirmed and carried out has a new pair; and a refresh token whose access token somebody else
 * deleted meanwhile is alive without it.
 *
 * @returns Null where nobody looked: where the work ended early, where refresh tokens are left alive anyhow,
 * and with criteria that a new token cannot meet or only by chance.
 */
export async function countMadeSince(
  work: Work,
  { plan, selector }: { readonly plan: RevocationPlan; readonly selector: Selector | undefined },
): Promise<MadeSince | null> {
  if (selector === undefined || !plan.reach.refreshTokens || work.over) return null;
  const meant = refreshTokensMeant(selector);
  if (meant === null) return null;
  try {
    return await count(work.target, { plan, selector, meant });
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    work.stop(error);
    return null;
  }
}

async function count(
  target: Target,
  options: {
    readonly plan: RevocationPlan;
    readonly selector: Selector;
    readonly meant: RefreshTokenSelector;
  },
): Promise<MadeSince> {
  const { plan, selector, meant } = options;
  const known = setOf(plan.tokenIds);
  for (const { tokenId } of plan.kept) known.add(tokenId);
  const alone = setOf(plan.refreshTokenIds);
  let [accessTokens, refreshTokens] = [0, 0];
  for await (const { id } of target.tokens(selector)) if (!known.has(id)) accessTokens += 1;
  for await (const { id, accessTokenId } of target.refreshTokens(meant)) {
    const planned = alone.has(id) || (accessTokenId !== null && known.has(accessTokenId));
    if (!planned) refreshTokens += 1;
  }
  return { accessTokens, refreshTokens };
}

function setOf(ids: readonly number[]): IdSet {
  const set = new IdSet();
  for (const id of ids) set.add(id);
  return set;
}
