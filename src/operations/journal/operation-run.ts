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
  /** When aborted, what is in flight is finished and recorded, and nothing further is begun. */
  readonly signal?: AbortSignal | undefined;
  /** Leaves the only active superuser alone: set where no person named the users. */
  readonly spareLastSuperuser?: boolean | undefined;
}

/** What an operation that only reads needs of it. */
export type Reading = Pick<Change, 'target' | 'description' | 'log' | 'clock' | 'openNames'>;

/** What ended work early, where the target did, as reports state it. */
export interface Stopped {
  readonly code: TokenctlErrorCode;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** How the run of an operation ended, as its report states it. */
export interface RunEnd {
  /** Whether a signal ended the work early. */
  readonly interrupted: boolean;
  /** What ended the work early, where the target did; null otherwise. */
  readonly stopped: Stopped | null;
  /** The run's UUID in the audit log. */
  readonly run: string;
}

/** What became of one step of a lockdown, a lift or an offboarding. */
export interface StepReport {
  /** As the log calls it. */
  readonly step: string;
  /** `unchanged` found everything as it was to be; `not_tried` was not reached. */
  readonly result: 'done' | 'unchanged' | 'partly' | 'failed' | 'not_tried';
  /** What it did, as a sentence. */
  readonly message: string;
}

/** What a step came to, and what its outcome states. */
export interface StepResult extends Omit<StepReport, 'step'> {
  readonly data: EntryDraft['data'];
}

/** A step between its intent and its outcome. */
export interface Step {
  readonly name: string;
  /** What it is called where it was not tried or failed, as the beginning of a sentence. */
  readonly title: string;
  /** What both entries state. */
  readonly common: EntryDraft['data'];
  readonly intent?: EntryDraft['data'];
  readonly act: () => Promise<StepResult>;
}

/** Errors after which the target cannot be used any more. */
const ENDINGS: ReadonlySet<TokenctlErrorCode> = new Set(['credentials_refused', 'target_unreachable']);

/** Whether nothing further can be tried at the target after this. */
export function endsRun(error: TokenctlError): boolean {
  return ENDINGS.has(error.code);
}

/** These are about the log: nothing is done without it. */
const OF_THE_LOG: ReadonlySet<TokenctlErrorCode> = new Set([
  'audit_unavailable',
  'outcome_unrecorded',
  'log_broken',
]);

/** After these it is certain that nothing was done. */
const REFUSALS: ReadonlySet<TokenctlErrorCode> = new Set([
  'credentials_refused',
  'permission_refused',
  'unsupported',
  'not_found',
]);

/** Whether it is certain that nothing was done where this was thrown. */
export function isRefusal(error: TokenctlError): boolean {
  return REFUSALS.has(error.code);
}

/**
 * One run of an operation, from its first entry in the audit log to its last: where its parts act and record, whether to go on, and
 * the steps that were taken. Its lock is released when it is disposed of. What does one throws `audit_unavailable` before anything
 * was done, `outcome_unrecorded` after something was, and what the target throws where nothing could be tried.
 */
export class OperationRun implements Disposable {
  readonly change: Change;
  readonly journal: Journal;
  /** The steps that were taken until now. */
  readonly steps: StepReport[] = [];
  /** When it began. */
  readonly started: Date;
  #lock: Disposable | null = null;
  #opening: Entry | null = null;
  #stopped: TokenctlError | null = null;
  /** Whether anything was tried at the target. */
  acted = false;

  /** @param operation In dotted form, as its command. */
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

  /** Notes what keeps anything further from being tried. The first reason stays. */
  stop(reason: TokenctlError): void {
    this.#stopped ??= reason;
  }

  /** What keeps anything further from being tried; null while nothing does. */
  get stopped(): TokenctlError | null {
    return this.#stopped;
  }

  /** Whether a signal asked to begin nothing further. */
  get interrupted(): boolean {
    return this.change.signal?.aborted === true;
  }

  /** Whether nothing further is to be begun. */
  get shouldStop(): boolean {
    return this.interrupted || this.#stopped !== null;
  }

  /** `stopped` as a report states it. */
  get stopReason(): Stopped | null {
    if (this.#stopped === null) return null;
    const { code, message, hint } = this.#stopped;
    return { code, message, hint };
  }

  /** Whether each step found or left everything as it was to be. */
  get isWhole(): boolean {
    return this.steps.every(({ result }) => result === 'done' || result === 'unchanged');
  }

  /** For how many seconds it has worked. */
  get seconds(): number {
    return (this.change.clock.now().getTime() - this.started.getTime()) / 1000;
  }

  /** How it went, as its report states it. */
  ending(isWhole = this.isWhole) {
    return { interrupted: this.interrupted && !isWhole, stopped: this.stopReason, run: this.journal.run };
  }

  /**
   * Closes what killed runs left open, and locks this one, so that no other process closes its intents while it lives.
   *
   * @throws TokenctlError as {@link reconcile}.
   */
  async begin(): Promise<void> {
    await reconcile(this.change);
    this.#lock = await this.journal.lock();
  }

  /** Begins the run, if it has not, and records what is to be done. Throws as {@link Journal.intent}. */
  async open(data: EntryDraft['data']): Promise<void> {
    if (this.#lock === null) await this.begin();
    this.#opening = await this.journal.opening({ step: 'operation', ...data });
  }

  /** Records what the whole run did. Throws as {@link Journal.outcome}; what stopped it, if nothing began. */
  async close(data: EntryDraft['data']): Promise<void> {
    if (this.#opening === null) throw new Error('A run that was not opened is closed');
    await this.journal.outcome(this.#opening, { step: 'operation', ...data });
    if (this.#stopped !== null && !this.acted) throw this.#stopped;
  }

  /** The steps as the outcome of the run states them. */
  get stepsRecorded() {
    return this.steps.map(({ step, result }) => ({ step, result }));
  }

  /**
   * Does a part of the work. A log that fails once anything was tried leaves the run itself without an
   * outcome.
   * @param details For the error: what was done until then.
   * @throws TokenctlError `audit_unavailable` before anything was tried and `outcome_unrecorded` after that,
   * and whatever else the part throws.
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
   * Takes one step, recorded before and after. One that the target refuses is reported, so that the next is
   * taken nevertheless; where it cannot be reached, the run stops.
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
   * Does a stage of several steps, and of the questions before them. What the target refuses is reported, so
   * that the next stage is begun nevertheless; where it cannot be reached, the run stops.
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

  /** Does a stage as {@link stage} does, and keeps its steps. */
  async take(...stage: Parameters<OperationRun['stage']>): Promise<void> {
    this.steps.push(...(await this.stage(...stage)));
  }

  /** Why the target refused something, after which the next is tried unless the run has to stop. Throws all other errors. */
  #refused(error: unknown): string {
    if (!(error instanceof TokenctlError) || OF_THE_LOG.has(error.code)) throw error;
    if (endsRun(error)) this.stop(error);
    return error.message;
  }
}
