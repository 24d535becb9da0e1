/** The origin of a tick: the schedule, or a manual run. */
export type TickKind = 'schedule' | 'manual';

/** A due time of a job. Job and time identify the tick in every replica. */
export interface TickName {
  readonly job: string;
  readonly due: Date;
}

/** The right to run a tick, as long as its lease is renewed. */
export interface Claim extends TickName {
  readonly kind: TickKind;
  /** The UUID of the run that this claim began. Every entry of the run in the audit log has it. */
  readonly run: string;
  /** 1 for the first run of the tick, then one more for each claim. Only the newest claim can renew or end. */
  readonly attempt: number;
  /** How many earlier runs of the tick failed. */
  readonly failures: number;
  /** How many earlier runs of the tick were lost: their lease expired. */
  readonly losses: number;
}

/** The process that claims, and its lease. */
export interface Claimant {
  /** The process in readable form: host and process id. */
  readonly holder: string;
  /** In milliseconds of the ledger's clock, which does not depend on the clocks of the replicas. */
  readonly lease: number;
  /** The scheduler's time, for the history. */
  readonly now: Date;
}

/** The open tick of a job: neither ended nor abandoned. A job has at most one. */
export interface OpenTick extends Pick<Claim, 'job' | 'due' | 'kind' | 'run'> {
  readonly holder: string;
  /** `running` under a lease, or `waiting` for a retry. */
  readonly state: 'running' | 'waiting';
  /** The remaining lease of a `running` tick in milliseconds; 0 or less if it expired. */
  readonly leaseLeft: number;
  /** The earliest retry of a `waiting` tick. */
  readonly retryAt: Date | null;
  /** How many runs of the tick were lost, not counting this one. */
  readonly losses: number;
}

/** The position of a job in its schedule. */
export interface TickState {
  /** Ticks after this instant are due: the newest claimed or skipped tick, or when the job was registered. */
  readonly position: Date;
  readonly open: OpenTick | null;
}

/** The state of a run. `lost` runs were killed, and another run took over their tick. */
export type RunState = 'running' | 'completed' | 'failed' | 'interrupted' | 'lost' | 'skipped';

/** The result of a run as plain JSON without secrets. The audit log has the details. */
export type RunSummary = Readonly<Record<string, unknown>>;

/** How a claim's run ends. */
export interface RunOutcome {
  readonly state: 'completed' | 'failed' | 'interrupted';
  /** The earliest retry of the tick; null after its last run. */
  readonly retryAt: Date | null;
  readonly summary: RunSummary;
  readonly now: Date;
}

/** A run in the history. A record with the state `skipped` is about one or more ticks, the last of them at `due`. */
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

/** What the ledger knows of the schedulers that share it. */
export interface SchedulerSighting {
  /** Whether one said within its time that it runs. Both times are the ledger's, whatever clocks the machines have. */
  readonly running: boolean;
  /** When one was last seen, by the ledger's clock; null for never. */
  readonly lastSeen: Date | null;
}

/**
 * The ledger of ticks: which are due, which replica runs them, and the results. All replicas share it, and it decides
 * every claim. Every method throws `TokenctlError` (`database_unreachable`) if it does not respond.
 */
export interface JobStore {
  /**
   * Registers jobs, whose ticks count from now on. A job whose schedule changed starts again, without the missed ticks
   * of the old schedule.
   */
  register(jobs: readonly { readonly name: string; readonly schedule: string }[], now: Date): Promise<void>;
  /**
   * The position and the open tick of a job. Ticks later than `now` do not count: after a clock was wrong, a job must
   * not stop until that time comes.
   */
  tickState(job: string, now: Date): Promise<TickState>;
  /** Claims a tick and begins its run; null if it was claimed before, or another tick of the job is open. */
  claim(tick: TickName & { readonly kind: TickKind }, claimant: Claimant): Promise<Claim | null>;
  /**
   * Claims the job's open tick again if its lease expired or its retry is due; with `early`, before the retry is due.
   *
   * @returns null without such a tick, or if another process was faster.
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
  /** The run with this UUID or unique prefix of one, or null. */
  run(id: string): Promise<RunRecord | null>;
  /** The last completion of each job. */
  lastSuccesses(): Promise<ReadonlyMap<string, Date>>;
  /** Records that this process runs jobs on schedule, for so many milliseconds from now; 0 where it ends. */
  beat(holder: string, aliveMs: number): Promise<void>;
  sighting(): Promise<SchedulerSighting>;
  /** Deletes runs and ended ticks from before an instant, but never a job's newest tick. */
  forget(before: Date): Promise<void>;
  close(): Promise<void>;
}
