import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import type { Entry, EntryDraft } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadTarget, Target } from '../ports/target.ts';
import { Journal, type JournalOptions, outcomeUnrecorded } from './journal.ts';
import { reconcile } from './reconcile.ts';

/** The common options of every operation that makes changes in batches. */
export interface Change extends Omit<JournalOptions, 'operation'> {
  readonly target: Target;
  readonly clock: Clock;
  readonly openNames?: ReadTarget['openNames'];
  /** When aborted, work in flight is finished and recorded, and nothing new is started. */
  readonly signal?: AbortSignal | undefined;
  /** Keeps the only active superuser: set if no person named the users. */
  readonly spareLastSuperuser?: boolean | undefined;
}

/** The options that a read-only operation needs. */
export type Reading = Pick<Change, 'target' | 'description' | 'log' | 'clock' | 'openNames'>;

/** What stopped the work early at the target, for reports. */
export interface Stopped {
  readonly code: TokenctlErrorCode;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** How a run ended, for its report. */
export interface RunEnd {
  /** Whether a signal ended the work early. */
  readonly interrupted: boolean;
  /** What stopped the work early at the target; null otherwise. */
  readonly stopped: Stopped | null;
  readonly run: string;
}

/** The result of one step of a lockdown, a lift or an offboarding. */
export interface StepReport {
  /** Its name in the log. */
  readonly step: string;
  /** `unchanged`: everything was already as intended. `not_tried`: it was not reached. */
  readonly result: 'done' | 'unchanged' | 'partly' | 'failed' | 'not_tried';
  /** What it did, as a sentence. */
  readonly message: string;
}

/** The result of a step, and the data for its outcome. */
export interface StepResult extends Omit<StepReport, 'step'> {
  readonly data: EntryDraft['data'];
}

/** A step, to be run between its intent and its outcome. */
export interface Step {
  readonly name: string;
  /** Its name in messages that it was not tried or failed, as the beginning of a sentence. */
  readonly title: string;
  /** Data for both entries. */
  readonly common: EntryDraft['data'];
  readonly intent?: EntryDraft['data'];
  readonly act: () => Promise<StepResult>;
}

/** Errors after which the target can no longer be used. */
const ENDINGS: ReadonlySet<TokenctlErrorCode> = new Set(['credentials_refused', 'target_unreachable']);

/** Whether nothing more can be tried at the target after this error. */
export function endsRun(error: TokenctlError): boolean {
  return ENDINGS.has(error.code);
}

/** Errors of the log: nothing is done without it. */
const OF_THE_LOG: ReadonlySet<TokenctlErrorCode> = new Set([
  'audit_unavailable',
  'outcome_unrecorded',
  'log_broken',
]);

/** Errors that guarantee that nothing was done. */
const REFUSALS: ReadonlySet<TokenctlErrorCode> = new Set([
  'credentials_refused',
  'permission_refused',
  'unsupported',
  'not_found',
]);

/** Whether this error guarantees that nothing was done. */
export function isRefusal(error: TokenctlError): boolean {
  return REFUSALS.has(error.code);
}

/**
 * One run of an operation, from its first audit log entry to its last: where its parts act and record,
 * whether to continue, and its steps. Disposing releases its lock. Methods that act throw `audit_unavailable`
 * before anything was done, `outcome_unrecorded` after that, and what the target throws if nothing could be
 * tried.
 */
export class OperationRun implements Disposable {
  readonly change: Change;
  readonly journal: Journal;
  readonly steps: StepReport[] = [];
  readonly started: Date;
  #lock: Disposable | null = null;
  #opening: Entry | null = null;
  #stopped: TokenctlError | null = null;
  acted = false;

  /** @param operation In dotted form, named after its command. */
  constructor(change: Change, operation: string) {
    this.change = change;
    this.journal = new Journal({ ...change, operation });
    this.started = change.clock.now();
  }

  [Symbol.dispose](): void {
    this.#lock?.[Symbol.dispose]();
  }

  get target(): Target {
    return this.change.target;
  }

  /** Stops the run for this reason. The first reason is kept. */
  stop(reason: TokenctlError): void {
    this.#stopped ??= reason;
  }

  /** Why nothing more can be tried; null while the run can continue. */
  get stopped(): TokenctlError | null {
    return this.#stopped;
  }

  /** Whether a signal asked to start nothing new. */
  get interrupted(): boolean {
    return this.change.signal?.aborted === true;
  }

  /** Whether to start nothing new. */
  get shouldStop(): boolean {
    return this.interrupted || this.#stopped !== null;
  }

  /** `stopped` in the form that reports use. */
  get stopReason(): Stopped | null {
    if (this.#stopped === null) return null;
    const { code, message, hint } = this.#stopped;
    return { code, message, hint };
  }

  /** Whether every step was done or found nothing to do. */
  get isWhole(): boolean {
    return this.steps.every(({ result }) => result === 'done' || result === 'unchanged');
  }

  /** The elapsed time, in seconds. */
  get seconds(): number {
    return (this.change.clock.now().getTime() - this.started.getTime()) / 1000;
  }

  /** The ending, for the run's report. */
  ending(isWhole = this.isWhole) {
    return { interrupted: this.interrupted && !isWhole, stopped: this.stopReason, run: this.journal.run };
  }

  /**
   * Closes what killed runs left open, and locks this run, so that no other process closes its intents while
   * it runs.
   * @throws TokenctlError as {@link reconcile}.
   */
  async begin(): Promise<void> {
    await reconcile(this.change);
    this.#lock = await this.journal.lock();
  }

  /** Begins the run if necessary, and records what is intended. Throws as {@link Journal.intent}. */
  async open(data: EntryDraft['data']): Promise<void> {
    if (this.#lock === null) await this.begin();
    this.#opening = await this.journal.opening({ step: 'operation', ...data });
  }

  /**
   * Records the result of the whole run. Throws as {@link Journal.outcome}; the stop reason if none began.
   */
  async close(data: EntryDraft['data']): Promise<void> {
    if (this.#opening === null) throw new Error('A run that was not opened is closed');
    await this.journal.outcome(this.#opening, { step: 'operation', ...data });
    if (this.#stopped !== null && !this.acted) throw this.#stopped;
  }

  /** The steps in the form of the run's outcome. */
  get stepsRecorded() {
    return this.steps.map(({ step, result }) => ({ step, result }));
  }

  /**
   * Runs a part of the work. If the log fails after anything was tried, the run itself has no outcome.
   * @param details For the error: what was done so far.
   * @throws TokenctlError `audit_unavailable` before anything was tried, `outcome_unrecorded` after that, and
   * whatever else the part throws.
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

  /**
   * Runs one step, recorded before and after. A refusal by the target is reported, and the next step still
   * runs; if the target is unreachable, the run stops.
   * @throws TokenctlError as {@link part} does.
   */
  async step({ name, title, common, intent: stated, act }: Step): Promise<StepReport> {
    if (this.shouldStop) return { step: name, result: 'not_tried', message: `${title}: not tried.` };
    let report: StepReport = { step: name, result: 'not_tried', message: '' };
    await this.part(async () => {
      const intent = await this.journal.intent({ step: name, ...common, ...stated });
      try {
        const { data, ...result } = await act();
        this.acted = true;
        report = { step: name, ...result };
        await this.journal.outcome(intent, { step: name, ...common, result: result.result, ...data });
      } catch (error) {
        const message = this.#refused(error);
        const result = isRefusal(error as TokenctlError) ? 'refused' : 'unknown';
        report = { step: name, result: 'failed', message: `${title}: ${message}.` };
        await this.journal.outcome(intent, { step: name, ...common, result, reason: message });
      }
    });
    return report;
  }

  /**
   * Runs a stage of several steps, including the reads before them. A refusal by the target is reported, and
   * the next stage still starts; if the target is unreachable, the run stops.
   * @throws TokenctlError as {@link part} does.
   */
  async stage(
    { name, title }: Pick<Step, 'name' | 'title'>,
    act: () => Promise<readonly (StepReport | null)[]>,
  ): Promise<readonly StepReport[]> {
    if (this.shouldStop) return [{ step: name, result: 'not_tried', message: `${title}: not tried.` }];
    try {
      return (await act()).filter((step) => step !== null);
    } catch (error) {
      return [{ step: name, result: 'failed', message: `${title}: ${this.#refused(error)}.` }];
    }
  }

  /** Runs a stage as {@link stage} does, and keeps its steps. */
  async take(...stage: Parameters<OperationRun['stage']>): Promise<void> {
    this.steps.push(...(await this.stage(...stage)));
  }

  /** The message of a refusal by the target. Stops the run if necessary. Throws all other errors. */
  #refused(error: unknown): string {
    if (!(error instanceof TokenctlError) || OF_THE_LOG.has(error.code)) throw error;
    if (endsRun(error)) this.stop(error);
    return error.message;
  }
}
