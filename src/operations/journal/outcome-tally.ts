import type { Outcome } from '../../domain/plan.ts';

/** A token that was tried and not revoked. */
export interface FailedToken {
  readonly tokenId: number;
  readonly reason: string;
  /** Whether the account may not do it, so that trying again is of no use. */
  readonly refused?: true;
}

/** What became of tokens of one kind, as far as they were tried. */
export interface OutcomeCounts {
  readonly planned: number;
  readonly revoked: number;
  /** Gone already when their turn came. */
  readonly unchanged: number;
  readonly failed: readonly FailedToken[];
  /** Planned, and not reached because the work ended before. */
  readonly notTried: number;
}

/** Who wants to be told while tokens are tried. */
export interface OutcomeListeners {
  readonly onOutcome?: (outcome: Outcome) => void;
  /** Called every few dozen tokens, and with the last. */
  readonly onProgress?: () => void;
}

/** Progress is told once in so many tokens. */
const STRIDE = 32;

/** Counts what becomes of tokens of one kind while several batches are under way. */
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
    else this.#failed.push(failedToken(outcome));
    if (outcome.refreshToken !== undefined) this.alongside.push(outcome.refreshToken.id);
    this.#listeners.onOutcome?.(outcome);
    if (this.done % STRIDE === 0 || this.done === this.#planned) this.#listeners.onProgress?.();
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

function failedToken({ tokenId, reason, refused }: Outcome): FailedToken {
  return { tokenId, reason: reason ?? 'no reason given', ...(refused && { refused }) };
}
