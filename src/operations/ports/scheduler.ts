/** The origin of a tick: the schedule, or a manual run. */
export type TickKind = 'schedule' | 'manual';

/** A due time of a job. Job and time identify the tick on every replica. */
export interface TickName {
  readonly job: string;
  readonly due: Date;
}

/** The right to run a tick while its lease is renewed. */
export interface Claim extends TickName {
  readonly kind: TickKind;
  /** The UUID of the run that this claim started, recorded in each of its audit log entries. */
  readonly run: string;
  /** 1 for the first run of the tick, plus 1 for each further claim. Only the newest can renew or end. */
  readonly attempt: number;
  /** Number of earlier runs of the tick that failed. */
  readonly failures: number;
  /** Number of earlier runs of the tick that were lost: their lease expired. */
  readonly losses: number;
}

/** The claiming process, and its lease. */
export interface Claimant {
  /** The process in readable form: host and process id. */
  readonly holder: string;
  /** In milliseconds of the ledger's clock, which is independent of the replicas' clocks. */
  readonly lease: number;
  /** The scheduler's time, for the history. */
  readonly now: Date;
}

/** A job's open tick, neither ended nor abandoned. A job has at most one. */
export interface OpenTick extends Pick<Claim, 'job' | 'due' | 'kind' | 'run'> {
  readonly holder: string;
  /** `running` under a lease, or `waiting` for a retry. */
  readonly state: 'running' | 'waiting';
  /** The remaining lease of a `running` tick in milliseconds; 0 or less if it expired. */
  readonly leaseLeft: number;
  /** The earliest retry of a `waiting` tick. */
  readonly retryAt: Date | null;
  /** Number of lost runs of the tick, not counting this one. */
  readonly losses: number;
}

export interface TickState {
  /** Ticks after this instant are due: the newest claimed or skipped tick, or when the job was registered. */
  readonly position: Date;
  readonly open: OpenTick | null;
}

/** The state of a run. `lost` runs were killed, and another run took over their tick. */
export type RunState = 'running' | 'completed' | 'failed' | 'interrupted' | 'lost' | 'skipped';

/** The result of a run as plain JSON without secrets. The audit log has the details. */
export type RunSummary = Readonly<Record<string, unknown>>;

export interface RunOutcome {
  readonly state: 'completed' | 'failed' | 'interrupted';
  /** The earliest retry of the tick; null after its last run. */
  readonly retryAt: Date | null;
  readonly summary: RunSummary;
  readonly now: Date;
}

/** A run in the history. One with the state `skipped` is about one or more ticks, the last at `due`. */
export interface RunRecord extends Pick<Claim, 'job' | 'due' | 'run' | 'kind' | 'attempt'> {
  readonly holder: string;
  readonly state: RunState;
  readonly began: Date;
  readonly ended: Date | null;
  readonly summary: RunSummary;
}

/** Selects runs of the history, newest first. */
export interface HistorySelector {
  readonly job?: string | undefined;
  readonly states?: readonly RunState[] | undefined;
  readonly limit: number;
}

/** What the ledger knows about the schedulers that share it. */
export interface SchedulerSighting {
  /** Whether a scheduler recently reported that it runs. Both times are by the ledger's clock. */
  readonly running: boolean;
  /** When a scheduler was last seen, by the ledger's clock; null for never. */
  readonly lastSeen: Date | null;
}

/**
 * The ledger of ticks: which are due, which replica runs them, and the results. All replicas share it, and it
 * decides every claim. Every method throws `TokenctlError` (`database_unreachable`) if it does not respond.
 */
export interface JobStore {
  /** Registers jobs; their ticks count from now on. With a changed schedule, missed ticks are dropped. */
  register(jobs: readonly { readonly name: string; readonly schedule: string }[], now: Date): Promise<void>;
  /** The position and open tick of a job. Ignores ticks after `now`, which a clock error may have left. */
  tickState(job: string, now: Date): Promise<TickState>;
  /** Claims a tick and begins its run; null if it was claimed before, or another tick of the job is open. */
  claim(tick: TickName & { readonly kind: TickKind }, claimant: Claimant): Promise<Claim | null>;
  /**
   * Claims the job's open tick again if its lease expired or its retry is due; with `early`, before the retry
   * is due.
   * @returns Null if there is no such tick, or if another process was faster.
   */
  takeOver(job: string, claimant: Claimant & { readonly early?: boolean }): Promise<Claim | null>;
  /** Ends the job's open tick without another run, if its lease expired. Returns whether it did. */
  abandon(tick: OpenTick, options: { readonly summary: RunSummary; readonly now: Date }): Promise<boolean>;
  /** Records that a tick, and the missed ticks before it, are skipped. */
  skip(tick: TickName, options: { readonly summary: RunSummary; readonly now: Date }): Promise<void>;
  /** Renews the lease. False if the claim was lost or has ended. */
  renew(claim: Claim, lease: number): Promise<boolean>;
  /** Ends the claim's run. False if the claim was lost: then nothing is recorded. */
  end(claim: Claim, ending: RunOutcome): Promise<boolean>;
  history(selector: HistorySelector): Promise<readonly RunRecord[]>;
  /** The run with this UUID or unique prefix, or null. */
  run(id: string): Promise<RunRecord | null>;
  /** The last completion of each job. */
  lastSuccesses(): Promise<ReadonlyMap<string, Date>>;
  /** Records that this process runs scheduled jobs, valid for this many milliseconds; 0 when it ends. */
  beat(holder: string, aliveMs: number): Promise<void>;
  sighting(): Promise<SchedulerSighting>;
  /** Deletes runs and ended ticks older than an instant, but never a job's newest tick. */
  forget(before: Date): Promise<void>;
  close(): Promise<void>;
}
