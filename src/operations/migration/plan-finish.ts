import { isSameInstant } from '../../domain/leased-token.ts';
import type { ReadTarget } from '../ports/target.ts';
import { lastUses } from '../sunset/sunset.ts';
import { newTokens, requireSides, type Sides } from './plan-migration.ts';
import type { MigratedToken } from './recorded-migrations.ts';

/**
 * Why an old token stays. `new_unused`: the new one was not used yet. `old_used`: the old one was used
 * recently, or this is unknown. `new_gone`: the new one is not listed, or its last use is unknown.
 */
export type WaitsFor = 'new_unused' | 'old_used' | 'new_gone';

/** A token of the controller whose new token was delivered. */
export interface FinishingToken {
  readonly old: number;
  readonly owner: string;
  readonly token: number;
  /** Null for never; undefined if unknown. */
  readonly oldLastUsed: Date | null | undefined;
  readonly newLastUsed: Date | null | undefined;
  /** Null if the old token can be revoked. */
  readonly waitsFor: WaitsFor | null;
}

/**
 * Determines which old tokens can be revoked: the new one was used, and the old one was not used since an
 * instant. Reads only; tokens that no longer exist on the controller are omitted.
 * @throws TokenctlError as the targets, `usage` and `permission_refused` as {@link requireSides}.
 */
export async function planFinish(
  { from, to }: Sides,
  { migrated, quietSince }: { migrated: readonly MigratedToken[]; quietSince: Date },
): Promise<readonly FinishingToken[]> {
  requireSides(from.description, to.description);
  if (migrated.length === 0) return [];
  // The newest record of an old token counts.
  const recorded = new Map(migrated.map((each) => [each.old.id, each]));
  const listed = await Array.fromAsync(from.target.tokens({ ids: [...recorded.keys()] }));
  const oldOnes = listed.filter(({ id, created }) =>
    isSameInstant(recorded.get(id)?.old.created ?? '', created),
  );
  const newOnes = await newTokens(to.target, [...recorded.values()]);
  const usesOf = async ({ target, clock }: ReadTarget, tokens: typeof oldOnes) =>
    await lastUses(target, { tokens, now: clock.now() });
  const oldUses = await usesOf(from, oldOnes);
  const newUses = await usesOf(to, [...newOnes.values()]);
  return oldOnes.flatMap(({ id, user }) => {
    const token = recorded.get(id)?.token;
    if (token === undefined) return [];
    const uses = { oldLastUsed: oldUses.get(id), newLastUsed: newUses.get(token) };
    return [{ old: id, owner: user?.username ?? '', token, ...uses, waitsFor: waitsFor(uses, quietSince) }];
  });
}

function waitsFor(
  { oldLastUsed, newLastUsed }: Pick<FinishingToken, 'oldLastUsed' | 'newLastUsed'>,
  quietSince: Date,
): WaitsFor | null {
  if (newLastUsed === undefined) return 'new_gone';
  if (newLastUsed === null) return 'new_unused';
  return oldLastUsed === undefined || (oldLastUsed !== null && oldLastUsed >= quietSince) ? 'old_used' : null;
}
