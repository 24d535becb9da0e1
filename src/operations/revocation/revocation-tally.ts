import type { Outcome, RevocationPlan } from '../../domain/plan.ts';
import { OutcomeTally } from '../journal/batches.ts';

/** How far a revocation is: access tokens, and refresh tokens without one of these. */
export interface RevocationProgress {
  /** Tried so far: revoked, unchanged and failed together. */
  readonly done: number;
  readonly total: number;
  readonly revoked: number;
  readonly unchanged: number;
  readonly failed: number;
}

/** Who wants to be told what while a revocation works. */
export interface RevocationListeners {
  /** Called every few dozen tokens. */
  readonly onProgress?: (progress: RevocationProgress) => void;
  /** Called with what became of each token; `refresh_token` for those that are planned by themselves. */
  readonly onOutcome?: (outcome: Outcome, kind: 'access_token' | 'refresh_token') => void;
}

/** Counts what becomes of a revocation's tokens, by kind. */
export class RevocationTally {
  readonly access: OutcomeTally;
  /** Those that are planned by themselves; those beside access tokens are in `access.alongside`. */
  readonly refresh: OutcomeTally;

  constructor(plan: RevocationPlan, { onProgress, onOutcome }: RevocationListeners = {}) {
    const tell = onProgress === undefined ? {} : { onProgress: () => onProgress(this.#progress()) };
    const each = (kind: 'access_token' | 'refresh_token') =>
      onOutcome === undefined ? {} : { onOutcome: (outcome: Outcome) => onOutcome(outcome, kind) };
    this.access = new OutcomeTally(plan.tokenIds.length, { ...tell, ...each('access_token') });
    this.refresh = new OutcomeTally(plan.refreshTokenIds.length, { ...tell, ...each('refresh_token') });
  }

  #progress(): RevocationProgress {
    const [access, refresh] = [this.access.counts(), this.refresh.counts()];
    return {
      done: this.access.done + this.refresh.done,
      total: access.planned + refresh.planned,
      revoked: access.revoked + refresh.revoked,
      unchanged: access.unchanged + refresh.unchanged,
      failed: access.failed.length + refresh.failed.length,
    };
  }
}
