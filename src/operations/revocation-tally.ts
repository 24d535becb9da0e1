import type { TokenctlError } from '../core/errors.ts';
import type { Outcome } from '../core/plan.ts';

/** How far a revocation is. */
export interface RevocationProgress {
  /** Tried so far: revoked, unchanged and failed together. */
  readonly done: number;
  readonly total: number;
  readonly revoked: number;
  readonly unchanged: number;
  readonly failed: number;
}

/** A token that was tried and not revoked. */
export interface FailedToken {
  readonly tokenId: number;
  readonly reason: string;
  /** Whether the account may not do it, so that trying again is of no use. */
  readonly refused?: true;
}

/** Progress is told once in so many tokens. */
const STRIDE = 32;

/** Counts what becomes of a revocation's tokens while several batches are under way. */
export class RevocationTally {
  /** Ids of all tokens that were tried, in the order of their outcomes. */
  readonly tried: number[] = [];
  readonly #failed: FailedToken[] = [];
  readonly #planned: number;
  readonly #onProgress: ((progress: RevocationProgress) => void) | undefined;
  #revoked = 0;
  #unchanged = 0;
  #stopped: TokenctlError | null = null;

  constructor(planned: number, onProgress?: (progress: RevocationProgress) => void) {
    this.#planned = planned;
    this.#onProgress = onProgress;
  }

  add(outcome: Outcome): void {
    this.tried.push(outcome.tokenId);
    if (outcome.result === 'revoked') this.#revoked += 1;
    else if (outcome.result === 'unchanged') this.#unchanged += 1;
    else this.#failed.push(failedToken(outcome));
    if (this.done % STRIDE === 0 || this.done === this.#planned) this.#tell();
  }

  /** Notes what keeps any further token from being tried. The first reason stays. */
  stop(reason: TokenctlError): void {
    this.#stopped ??= reason;
  }

  get stopped(): TokenctlError | null {
    return this.#stopped;
  }

  get done(): number {
    return this.tried.length;
  }

  get notTried(): number {
    return this.#planned - this.done;
  }

  counts() {
    return {
      planned: this.#planned,
      revoked: this.#revoked,
      unchanged: this.#unchanged,
      failed: this.#failed,
      notTried: this.notTried,
    };
  }

  #tell(): void {
    this.#onProgress?.({
      done: this.done,
      total: this.#planned,
      revoked: this.#revoked,
      unchanged: this.#unchanged,
      failed: this.#failed.length,
    });
  }
}

function failedToken({ tokenId, reason, refused }: Outcome): FailedToken {
  return { tokenId, reason: reason ?? 'no reason given', ...(refused && { refused }) };
}
