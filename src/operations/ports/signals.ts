import type { SignalAction, SignalKind } from '@tokenctl/common/signals/signal-event.ts';
import type { SubjectIdentifier } from '@tokenctl/common/signals/subject-identifier.ts';

/** How a signal arrived. */
export type SignalRoute = 'push' | 'poll' | 'revocation' | 'logout';

/**
 * States of a signal: `waiting` to be processed, `acting`, `done`, `held` until a person decides, `ignored`
 * if it is mapped to no action or has nothing to act on, `dismissed` by a person.
 */
export const signalStates = ['waiting', 'acting', 'done', 'held', 'ignored', 'dismissed'] as const;

export type SignalState = (typeof signalStates)[number];

/** A signal as recorded before its sender gets a response. */
export interface NewSignal {
  /** The `iss` of its token. */
  readonly issuer: string;
  /** The `jti`. Issuer and `jti` identify the signal, however often it is sent. */
  readonly jti: string;
  /** The transmitter's name in the configuration. */
  readonly transmitter: string;
  readonly route: SignalRoute;
  /** The events by kind; by type if unknown. */
  readonly kinds: readonly string[];
  /** Null for a signal about the stream, or of an unknown type. */
  readonly subject: SubjectIdentifier | null;
  readonly kind: SignalKind | null;
  readonly action: SignalAction;
  readonly issued: Date;
  readonly received: Date;
  /** `waiting`, or its immediate result. */
  readonly state: Extract<SignalState, 'waiting' | 'held' | 'ignored'>;
  /** The reason of an immediate result; later the result, or why it is held; null before. */
  readonly reason: string | null;
}

export interface Signal extends Omit<NewSignal, 'state'> {
  /** The SHA-256 of issuer and `jti`, in hex; commands use it as the id. */
  readonly id: string;
  readonly state: SignalState;
  /** The names of the matched users; empty before. */
  readonly users: readonly string[];
  readonly attempts: number;
  readonly changed: Date;
  /** When its effect was verified, or it was held or ignored; null before. */
  readonly ended: Date | null;
  /** The runs in the audit log that processed it. */
  readonly runs: readonly string[];
  /** Who released it from the held state, and for which user; null if not released. */
  readonly released: SignalRelease | null;
}

/** A person's release of a held signal. */
export interface SignalRelease {
  readonly by: string;
  readonly reason: string | null;
  /** The user that the person chose; null to match again. */
  readonly user: string | null;
}

/** The right to process a signal while the lease lasts. */
export interface SignalClaim {
  readonly signal: Signal;
  readonly attempt: number;
}

export interface ClaimOptions {
  readonly holder: string;
  /** In milliseconds. */
  readonly lease: number;
  readonly limit: number;
  readonly now: Date;
}

/** The result of processing a signal. */
export interface SignalOutcome {
  readonly state: Extract<SignalState, 'waiting' | 'done' | 'held' | 'ignored'>;
  /** A sentence for readers. */
  readonly reason: string | null;
  readonly users?: readonly string[];
  readonly runs?: readonly string[];
  /** With `waiting`: when to retry. */
  readonly retryAt?: Date;
}

export type Recorded =
  /** New, and on stable storage. */
  | { readonly result: 'new'; readonly id: string }
  /** Already recorded: sent again, or replayed by someone. */
  | { readonly result: 'known'; readonly signal: Signal };

/** The maximum number of users to act on within a period, in milliseconds. */
export interface AdmissionLimit {
  /** The counter: users are counted separately for each of these. */
  readonly countedAs: string;
  readonly limit: number;
  readonly withinMs: number;
}

/** A verification event requested from a transmitter (OpenID Shared Signals 1.0, section 8.1.4). */
export interface ExpectedVerification {
  readonly transmitter: string;
  readonly stream: string;
  readonly state: string;
}

/** Selects signals, newest first. */
export interface SignalSelector {
  readonly states?: readonly SignalState[] | undefined;
  readonly transmitter?: string | undefined;
  readonly limit: number;
}

/**
 * The durable queue of signals, shared by all replicas. What a method wrote is on stable storage when it
 * returns. Every method throws `TokenctlError` (`database_unreachable`) if it does not respond.
 */
export interface SignalStore {
  /** Records a signal unless it is known. */
  record(signal: NewSignal): Promise<Recorded>;
  /** Claims waiting signals, oldest first, and those whose lease (in milliseconds) expired. */
  claim(options: ClaimOptions): Promise<readonly SignalClaim[]>;
  renew(claims: readonly SignalClaim[], lease: number): Promise<void>;
  /**
   * Counts users of signals against a limit, before anything is done for them. All replicas count together,
   * by the store's clock.
   * @returns The newly counted users; a user counted within the period is not counted again. Null if more
   * than `limit` users would be counted: none of them is then.
   */
  admit(users: readonly string[], limit: AdmissionLimit): Promise<readonly string[] | null>;
  /** Reverts {@link admit} because nothing was done for these users. */
  uncount(users: readonly string[], limit: Pick<AdmissionLimit, 'countedAs'>): Promise<void>;
  /** Ends claims with the same outcome. Returns those that were not lost; lost ones are not recorded. */
  settle(claims: readonly SignalClaim[], outcome: SignalOutcome, now: Date): Promise<readonly SignalClaim[]>;
  /** Ends the leases of dead holders, so that no one waits for them to expire. */
  giveBack(isDead: (holder: string) => boolean): Promise<void>;
  list(selector: SignalSelector): Promise<readonly Signal[]>;
  /** The signals whose id starts with this prefix; at most two. */
  find(prefix: string): Promise<readonly Signal[]>;
  /** Number of signals that are waiting or being processed; counts up to `most`. */
  backlog(most: number): Promise<number>;
  counts(): Promise<Readonly<Record<SignalState, number>>>;
  /** Releases a held signal for processing. False if it is no longer held. */
  release(id: string, release: SignalRelease, now: Date): Promise<boolean>;
  /** Ends a held signal without an action. False if it is no longer held. */
  dismiss(id: string, release: SignalRelease, now: Date): Promise<boolean>;
  /** Held signals for which no notice was delivered yet. */
  untold(limit: number): Promise<readonly Signal[]>;
  /** Records that a notice about these signals was delivered. */
  markTold(ids: readonly string[]): Promise<void>;
  /** Deletes signals that ended before an instant. */
  forget(before: Date): Promise<void>;
  /** Stores a requested verification event. */
  expect(verification: ExpectedVerification, now: Date): Promise<void>;
  /** The verification events requested from a transmitter, newest first. */
  expected(transmitter: string): Promise<readonly ExpectedVerification[]>;
  close(): Promise<void>;
}
