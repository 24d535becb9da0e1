import { TokenctlError, type TokenctlErrorCode } from '../../domain/errors.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { type Journal, outcomeUnrecorded, type RecordedApproval } from './journal.ts';

/** The common options of every operation that makes changes in batches. */
export interface Change {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: AuditLog;
  readonly clock: Clock;
  /** Who asked: the user of the operating system and the host, and the user at the target. */
  readonly actor: Readonly<Record<string, string>>;
  readonly reason?: string;
  readonly ticket?: string;
  readonly approval?: RecordedApproval;
  /** When aborted, what is in flight is finished and recorded, and nothing further is begun. */
  readonly signal?: AbortSignal;
}

/** What ended work early, where the target did, as reports state it. */
export interface Stopped {
  readonly code: TokenctlErrorCode;
  readonly message: string;
  readonly hint?: string;
}

/** What the parts of one run share: where they act and record, and whether to go on. */
export class OperationRun {
  readonly target: Target;
  readonly journal: Journal;
  readonly #signal: AbortSignal | undefined;
  #stopped: TokenctlError | null = null;
  /** Whether anything was tried at the target. */
  acted = false;

  constructor(options: {
    readonly target: Target;
    readonly journal: Journal;
    readonly signal?: AbortSignal | undefined;
  }) {
    this.target = options.target;
    this.journal = options.journal;
    this.#signal = options.signal;
  }

  /** Notes what keeps anything further from being tried. The first reason stays. */
  stop(reason: TokenctlError): void {
    this.#stopped ??= reason;
  }

  /** What keeps anything further from being tried; null while nothing does. */
  get stopped(): TokenctlError | null {
    return this.#stopped;
  }

  /** For what works in batches, to begin nothing further; an empty object without a signal. */
  get until(): { readonly signal?: AbortSignal } {
    return this.#signal === undefined ? {} : { signal: this.#signal };
  }

  /** Whether a signal asked to begin nothing further. */
  get interrupted(): boolean {
    return this.#signal?.aborted === true;
  }

  /** Whether nothing further is to be begun. */
  get shouldStop(): boolean {
    return this.interrupted || this.#stopped !== null;
  }

  /** `stopped` as a report states it. */
  get stopReason(): Stopped | null {
    if (this.#stopped === null) return null;
    const { code, message, hint } = this.#stopped;
    return { code, message, ...(hint === undefined ? {} : { hint }) };
  }

  /**
   * Does a part of the work. A log that fails once anything was tried leaves the run itself without an
   * outcome.
   *
   * @param details For the error: what was done until then.
   * @throws TokenctlError `audit_unavailable` before anything was tried and `outcome_unrecorded` after
   * that, and whatever else the part throws.
   */
  async part(
    act: () => Promise<void>,
    details: () => Readonly<Record<string, unknown>> = () => ({}),
  ): Promise<void> {
    try {
      await act();
    } catch (error) {
      const late = this.acted && error instanceof TokenctlError && error.code === 'audit_unavailable';
      throw late ? outcomeUnrecorded(error, { run: this.journal.run, ...details() }) : error;
    }
  }
}
