import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { EntryDraft } from '../ports/audit-log.ts';
import type { OperationRun } from './operation-run.ts';

interface Batch {
  readonly ids: readonly number[];
  /** The owner of `ids[i]`; absent if owners are unknown. */
  readonly owners?: readonly string[];
  /** The ids of owners, by their names at that time. */
  readonly ownerIds?: Readonly<Record<string, number>>;
}

/** Splits ids into batches, lazily. */
export function* batchesOf(
  all: Batch,
  stretch: { readonly from: number; readonly to: number; readonly size: number },
): Generator<Batch, undefined> {
  for (let start = stretch.from; start < stretch.to; start += stretch.size) {
    const end = Math.min(start + stretch.size, stretch.to);
    const owners = all.owners?.slice(start, end);
    yield { ...all, ids: all.ids.slice(start, end), ...(owners !== undefined && { owners }) };
  }
}

interface BatchRun {
  readonly batches: Iterable<Batch>;
  /** The number of concurrent batches: one waits for the disk while another acts. */
  readonly concurrency: number;
  readonly step: BatchStep;
  readonly act: (ids: readonly number[]) => AsyncIterable<Outcome>;
  readonly tally: OutcomeTally;
}

/**
 * Runs batch after batch, several at a time, until all are done, the signal is aborted, or the target says
 * that no further token can be tried (then in `work.stopped`).
 * @throws TokenctlError `audit_unavailable` if the log fails before anything was tried, and
 * `outcome_unrecorded` if it fails later; either after the batches in flight have ended.
 */
export async function runBatches(work: OperationRun, run: BatchRun): Promise<void> {
  const waiting = run.batches[Symbol.iterator]();
  let failure: { readonly error: unknown } | null = null;
  const worker = async () => {
    while (failure === null && !work.shouldStop) {
      const next = waiting.next();
      if (next.done === true) return;
      try {
        await runBatch(next.value, { work, ...run });
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await work.part(
    async () => {
      await Promise.all(Array.from({ length: run.concurrency }, worker));
      if (failure !== null) throw failure.error;
    },
    () => {
      const { failed, ...counts } = run.tally.counts();
      return { ...counts, failed: failed.length };
    },
  );
}

async function runBatch(batch: Batch, run: BatchRun & { readonly work: OperationRun }): Promise<void> {
  const { work, step, tally } = run;
  const intent = await work.journal.intent(batchIntent(step, batch));
  const outcome = new BatchOutcome(step, batch);
  let bug: { readonly error: unknown } | null = null;
  try {
    for await (const each of run.act(batch.ids)) {
      work.acted = true;
      outcome.add(each);
      tally.add(each);
    }
  } catch (error) {
    if (error instanceof TokenctlError) work.stop(error);
    else bug = { error };
  }
  await work.journal.outcome(intent, outcome.data());
  if (bug !== null) throw bug.error;
}

/**
 * The action on a batch: access tokens are revoked (`batch`), refresh tokens are revoked, or the rows of
 * refresh tokens or authorization codes are deleted.
 */
export type BatchStep = 'batch' | 'refresh_tokens' | 'refresh_token_rows' | 'authorization_codes';

const DELETES: ReadonlySet<BatchStep> = new Set(['refresh_token_rows', 'authorization_codes']);

/** The data of a batch's intent: its ids, grouped by owner if known. */
function batchIntent(step: BatchStep, batch: Batch): EntryDraft['data'] {
  const { ids, owners } = batch;
  return owners === undefined ? { step, ids } : { step, tokens: byOwner({ ...batch, owners }) };
}

/**
 * A batch's outcome for the audit log: ids by result, the fingerprints of the revoked tokens in the order of
 * `revoked` (`deleted` for rows), and the refresh tokens revoked with them. Keeps only these, not thousands
 * of outcomes.
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
      [DELETES.has(this.#step) ? 'deleted' : 'revoked']: this.#done,
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

interface OwnedTokens {
  readonly user: string;
  readonly userId?: number;
  readonly ids: readonly number[];
}

/** Groups ids by owner, in order of appearance. */
export function byOwner({
  ids,
  owners,
  ownerIds,
}: Required<Pick<Batch, 'ids' | 'owners'>> & Batch): OwnedTokens[] {
  const groups = new Map<string, number[]>();
  ids.forEach((id, index) => {
    const user = owners[index] ?? '';
    const group = groups.get(user);
    if (group === undefined) groups.set(user, [id]);
    else group.push(id);
  });
  return Array.from(groups, ([user, group]) => {
    const userId = ownerIds !== undefined && Object.hasOwn(ownerIds, user) ? ownerIds[user] : undefined;
    return { user, ...(userId !== undefined && { userId }), ids: group };
  });
}

export interface FailedToken {
  readonly tokenId: number;
  readonly reason: string;
  /** Whether the account lacks the right, so that a retry is pointless. */
  readonly refused?: true;
}

/** Results of tokens of one kind, as far as they were tried. */
export interface OutcomeCounts {
  readonly planned: number;
  readonly revoked: number;
  /** Already gone when they were tried. */
  readonly unchanged: number;
  readonly failed: readonly FailedToken[];
  /** Planned but not reached, because the run ended early. */
  readonly notTried: number;
}

interface OutcomeListeners {
  readonly onOutcome?: (outcome: Outcome) => void;
  /** Called every few dozen tokens, and after the last. */
  readonly onProgress?: () => void;
}

/** The number of tokens between two progress reports. */
const PROGRESS_INTERVAL = 32;

/** Counts the results of tokens of one kind across concurrent batches. */
export class OutcomeTally {
  /** Ids of all tokens that were tried, in the order of their outcomes. */
  readonly tried: number[] = [];
  /** Ids of the refresh tokens that were revoked with them. */
  readonly alongside: number[] = [];
  readonly #failed: FailedToken[] = [];
  readonly #planned: number;
  readonly #listeners: OutcomeListeners;
  #revoked = 0;
  #unchanged = 0;

  constructor(planned: number, listeners: OutcomeListeners = {}) {
    this.#planned = planned;
    this.#listeners = listeners;
  }

  add(outcome: Outcome): void {
    this.tried.push(outcome.tokenId);
    if (outcome.result === 'revoked') this.#revoked += 1;
    else if (outcome.result === 'unchanged') this.#unchanged += 1;
    else {
      const { tokenId, reason = 'no reason given', refused } = outcome;
      this.#failed.push({ tokenId, reason, ...(refused && { refused }) });
    }
    if (outcome.refreshToken !== undefined) this.alongside.push(outcome.refreshToken.id);
    this.#listeners.onOutcome?.(outcome);
    if (this.done % PROGRESS_INTERVAL === 0 || this.done === this.#planned) this.#listeners.onProgress?.();
  }

  get done(): number {
    return this.tried.length;
  }

  get notTried(): number {
    return this.#planned - this.done;
  }

  counts(): OutcomeCounts {
    return {
      planned: this.#planned,
      revoked: this.#revoked,
      unchanged: this.#unchanged,
      failed: this.#failed,
      notTried: this.notTried,
    };
  }
}
