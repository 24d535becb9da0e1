import type { Outcome } from '../../domain/plan.ts';
import type { EntryDraft } from '../ports/audit-log.ts';
import type { Batch } from './batches.ts';

/**
 * What is done to a batch: access tokens are revoked (`batch`), refresh tokens are revoked, or the rows of
 * refresh tokens are deleted.
 */
export type BatchStep = 'batch' | 'refresh_tokens' | 'refresh_token_rows';

/** What the intent of a batch states: its ids, under their owners where these are known. */
export function batchIntent(step: BatchStep, batch: Batch): EntryDraft['data'] {
  const { ids, owners } = batch;
  return owners === undefined ? { step, ids } : { step, tokens: byOwner(ids, owners) };
}

/** The ids that the intent of a batch lists; none for data of another shape. */
export function intendedIds(data: EntryDraft['data']): number[] {
  const groups = Array.isArray(data['tokens']) ? (data['tokens'] as unknown[]) : [data];
  return groups.flatMap((group) =>
    typeof group === 'object' && group !== null && 'ids' in group && Array.isArray(group.ids)
      ? group.ids.filter((id): id is number => Number.isSafeInteger(id))
      : [],
  );
}

/**
 * What the outcome of a batch states: ids by result, and beside `revoked` (`deleted` for rows) what the
 * target told of each in the same order: `fingerprints`; and the refresh tokens that were revoked along. It
 * keeps that and not the outcomes themselves, of which there are thousands at a time.
 */
export class BatchOutcome {
  readonly #step: BatchStep;
  readonly #ids: readonly number[];
  readonly #done: number[] = [];
  readonly #unchanged: number[] = [];
  readonly #failed: { readonly id: number; readonly reason: string }[] = [];
  readonly #fingerprints: (string | null)[] = [];
  readonly #refreshTokens: number[] = [];
  readonly #refreshFingerprints: string[] = [];

  constructor(step: BatchStep, { ids }: Batch) {
    this.#step = step;
    this.#ids = ids;
  }

  add({ tokenId, result, reason, fingerprint, refreshToken }: Outcome): void {
    if (result === 'revoked') {
      this.#done.push(tokenId);
      this.#fingerprints.push(fingerprint ?? null);
    } else if (result === 'unchanged') this.#unchanged.push(tokenId);
    else this.#failed.push({ id: tokenId, reason: reason ?? '' });
    if (refreshToken !== undefined) {
      this.#refreshTokens.push(refreshToken.id);
      this.#refreshFingerprints.push(refreshToken.fingerprint);
    }
  }

  data(): EntryDraft['data'] {
    return {
      step: this.#step,
      [this.#step === 'refresh_token_rows' ? 'deleted' : 'revoked']: this.#done,
      ...(this.#fingerprints.some((each) => each !== null) && { fingerprints: this.#fingerprints }),
      ...(this.#refreshTokens.length > 0 && {
        refreshTokens: this.#refreshTokens,
        refreshFingerprints: this.#refreshFingerprints,
      }),
      unchanged: this.#unchanged,
      failed: this.#failed,
      notTried: this.#notTried(),
    };
  }

  #notTried(): number[] {
    const tried = [...this.#done, ...this.#unchanged, ...this.#failed.map(({ id }) => id)];
    if (tried.length === this.#ids.length) return [];
    const among = new Set(tried);
    return this.#ids.filter((id) => !among.has(id));
  }
}

/** `[{ user, ids }]`, in the order in which the owners appear. */
function byOwner(ids: readonly number[], owners: readonly string[]): { user: string; ids: number[] }[] {
  const groups = new Map<string, number[]>();
  ids.forEach((id, index) => {
    const user = owners[index] ?? '';
    const group = groups.get(user);
    if (group === undefined) groups.set(user, [id]);
    else group.push(id);
  });
  return Array.from(groups, ([user, group]) => ({ user, ids: group }));
}
