/** The time, passed in so that tests can hold it. */
export interface Clock {
  now(): Date;
}

/** The time, and the wait for a later one, passed in so that tests can let years pass. */
export interface SchedulerClock extends Clock {
  /**
   * Waits for so many milliseconds of this clock's time, or until the signal is aborted: then it returns as
   * well, since whoever waits looks again at what there is to do.
   */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** What a tick comes from: the schedule, or somebody who asked for a run now. */
export type TickKind = 'schedule' | 'manual';

/** A due time of a job: the two name it, in every replica alike. */
export interface TickName {
  readonly job: string;
  readonly due: Date;
}

/** The right to work on a tick, as long as its lease is renewed. */
export interface Claim extends TickName {
  readonly kind: TickKind;
  /** The run that this claim began: a UUID, which every entry of the audit log carries that the run makes. */
  readonly run: string;
  /** 1 for the first run of the tick. It grows with each claim, and only the newest can renew or end. */
  readonly attempt: number;
  /** How many earlier runs of the tick failed. */
  readonly failures: number;
  /** How many earlier runs of the tick were lost: their lease ran out. */
  readonly losses: number;
}

/** Who wants to claim, and for how long a claim holds without being renewed. */
export interface Claimant {
  /** The process, as people recognize it: host and process number. */
  readonly holder: string;
  /** In milliseconds of the ledger's own time, which no replica's clock has a part in. */
  readonly lease: number;
  /** The scheduler's time, for the history. */
  readonly now: Date;
}

/** The tick of a job that is neither ended nor given up. There is one at the most. */
export interface OpenTick extends TickName {
  readonly kind: TickKind;
  readonly run: string;
  readonly holder: string;
  /** `running` under a lease, or `waiting` to be tried again. */
  readonly state: 'running' | 'waiting';
  /** For how long the lease still holds, in milliseconds; 0 or less where it ran out. Of `running`. */
  readonly leaseLeft: number;
  /** From when on it is tried again. Of `waiting`. */
  readonly retryAt: Date | null;
  /** How many runs of the tick were lost, not counting this one. */
  readonly losses: number;
}

/** Where a job stands. */
export interface TickState {
  /** Ticks after this instant count: the newest that was claimed or passed over, else when the job was first seen. */
  readonly position: Date;
  readonly open: OpenTick | null;
}

/** How a run ended, or that it did not: `lost` runs were killed, and their tick was taken over. */
export type RunState = 'running' | 'completed' | 'failed' | 'interrupted' | 'lost' | 'skipped';

/** What a run did, as plain JSON without secrets. What exactly it changed stands in the audit log. */
export type RunSummary = Readonly<Record<string, unknown>>;

/** How a claim's run ends. */
export interface RunOutcome {
  readonly state: 'completed' | 'failed' | 'interrupted';
  /** From when on the tick may be tried again; null where this was its last run. */
  readonly retryAt: Date | null;
  readonly summary: RunSummary;
  readonly now: Date;
}

/** One run, as the history shows it. `passed_over` stands for ticks that were skipped, the last of them being `due`. */
export interface RunRecord extends TickName {
  readonly run: string;
  readonly kind: TickKind;
  readonly attempt: number;
  readonly holder: string;
  readonly state: RunState;
  readonly began: Date;
  readonly ended: Date | null;
  readonly summary: RunSummary;
}

/** Which runs of the history are meant; the newest first. */
export interface HistorySelector {
  readonly job?: string;
  readonly states?: readonly RunState[];
  readonly limit: number;
}

/**
 * The ledger of ticks: what was due, who works on it, what came of it. Replicas share it, and it alone
 * decides. Every method throws `TokenctlError` (`database_unreachable`) where it does not answer.
 */
export interface JobStore {
  /**
   * Makes jobs known, so that their ticks count from now on. One whose schedule is another than before
   * starts anew: its missed ticks were those of a schedule that is gone.
   */
  register(jobs: readonly { readonly name: string; readonly schedule: string }[], now: Date): Promise<void>;
  /**
   * Where a job stands. Ticks later than `now` do not count: a clock that was wrong for a while must not
   * stop a job until that time comes.
   */
  tickState(job: string, now: Date): Promise<TickState>;
  /**
   * Claims a tick and begins its run.
   *
   * @returns null where the tick was claimed before, or another tick of the job is open.
   */
  claim(tick: TickName & { readonly kind: TickKind }, claimant: Claimant): Promise<Claim | null>;
  /**
   * Claims the job's open tick again, where its lease ran out or its time to be tried again has come; with
   * `early` also before that time.
   *
   * @returns null where there is none, or somebody else was faster.
   */
  takeOver(job: string, claimant: Claimant & { readonly early?: boolean }): Promise<Claim | null>;
  /** Ends the job's open tick without another run, where its lease ran out. Says whether it did. */
  abandon(tick: OpenTick, options: { readonly summary: RunSummary; readonly now: Date }): Promise<boolean>;
  /** Records that a tick, and those missed before it, are not run. */
  skip(tick: TickName, options: { readonly summary: RunSummary; readonly now: Date }): Promise<void>;
  /** Makes the lease whole again. False where the claim is lost to another, or ended. */
  renew(claim: Claim, lease: number): Promise<boolean>;
  /** Ends the claim's run. False where the claim is lost to another: then nothing is recorded. */
  end(claim: Claim, ending: RunOutcome): Promise<boolean>;
  history(selector: HistorySelector): Promise<readonly RunRecord[]>;
  /** One run by its UUID, or by the beginning of it where that is one run's only; null where there is none. */
  run(id: string): Promise<RunRecord | null>;
  /** When a run of each job last completed. */
  lastSuccesses(): Promise<ReadonlyMap<string, Date>>;
  /** Forgets runs and ended ticks from before an instant; never a job's newest tick. */
  forget(before: Date): Promise<void>;
  close(): Promise<void>;
}
