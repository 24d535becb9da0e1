import type { SignalAction, SignalKind } from '@tokenctl/common/signals/signal-event.ts';
import type { SubjectIdentifier } from '@tokenctl/common/signals/subject-identifier.ts';

/** How a signal arrived. */
export type SignalRoute = 'push' | 'poll' | 'revocation' | 'logout';

/**
 * What becomes of a signal: `waiting` to be carried out, `acting`, `done`, `held` until a person decides, `ignored` as it is
 * mapped to nothing or has nothing to act on, `dismissed` by a person.
 */
export const signalStates = ['waiting', 'acting', 'done', 'held', 'ignored', 'dismissed'] as const;

export type SignalState = (typeof signalStates)[number];

/** A signal as it is recorded before its sender is answered. */
export interface NewSignal {
  /** Of whom it is: the `iss` of its token. */
  readonly issuer: string;
  /** The `jti`. Issuer and `jti` identify it, however often it is sent. */
  readonly jti: string;
  /** The transmitter's name in the configuration. */
  readonly transmitter: string;
  readonly route: SignalRoute;
  /** The events, by their kinds, or by their types where they are unknown. */
  readonly kinds: readonly string[];
  /** Null for one about the stream, or of an unknown type. */
  readonly subject: SubjectIdentifier | null;
  readonly kind: SignalKind | null;
  readonly action: SignalAction;
  readonly issued: Date;
  readonly received: Date;
  /** `waiting`, or how it ends at once. */
  readonly state: Extract<SignalState, 'waiting' | 'held' | 'ignored'>;
  /** Why it ended at once; later what came of it, or why it is held; null before. */
  readonly reason: string | null;
}

/** A recorded signal. */
export interface Signal extends Omit<NewSignal, 'state'> {
  /** The SHA-256 of issuer and `jti`, in hex: how commands name it. */
  readonly id: string;
  readonly state: SignalState;
  /** The users that it was matched to, by name; empty before. */
  readonly users: readonly string[];
  /** How often it was tried. */
  readonly attempts: number;
  /** When it was last changed. */
  readonly changed: Date;
  /** When its effect had been verified, or it was held or ignored; null before. */
  readonly ended: Date | null;
  /** The runs in the audit log that carried it out. */
  readonly runs: readonly string[];
  /** Who released it after it was held, and for which user; null for no one. */
  readonly released: SignalRelease | null;
}

/** That a person looked at a held signal and released it. */
export interface SignalRelease {
  readonly by: string;
  readonly reason: string | null;
  /** The user whom it is about, where a person chose; null to match again. */
  readonly user: string | null;
}

/** The right to carry out a signal, as long as the lease lasts. */
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

/** How carrying out a signal ended. */
export interface SignalOutcome {
  readonly state: Extract<SignalState, 'waiting' | 'done' | 'held' | 'ignored'>;
  /** One sentence for people. */
  readonly reason: string | null;
  readonly users?: readonly string[];
  readonly runs?: readonly string[];
  /** With `waiting`: when to try again. */
  readonly retryAt?: Date;
}

export type Recorded =
  /** It is new, and on stable storage. */
  | { readonly result: 'new'; readonly id: string }
  /** It was there already: sent again, or repeated by someone. */
  | { readonly result: 'known'; readonly signal: Signal };

/** How many users may be acted on within a time, in milliseconds. */
export interface AdmissionLimit {
  /** Users are counted apart for each of these. */
  readonly countedAs: string;
  readonly limit: number;
  readonly withinMs: number;
}

/** A verification event that a transmitter is asked for (OpenID Shared Signals 1.0, section 8.1.4). */
export interface ExpectedVerification {
  readonly transmitter: string;
  /** The id of the stream. */
  readonly stream: string;
  /** The digest of the state. */
  readonly state: string;
}

/** Selects signals, newest first. */
export interface SignalSelector {
  readonly states?: readonly SignalState[] | undefined;
  readonly transmitter?: string | undefined;
  readonly limit: number;
}

/**
 * The durable queue of signals, shared by all replicas. What a method wrote is on stable storage when it returns. Every method
 * throws `TokenctlError` (`database_unreachable`) if it does not respond.
 */
export interface SignalStore {
  /** Records a signal unless it is known. */
  record(signal: NewSignal): Promise<Recorded>;
  /** Claims signals that wait, oldest first, and those whose lease (in milliseconds) expired. */
  claim(options: ClaimOptions): Promise<readonly SignalClaim[]>;
  renew(claims: readonly SignalClaim[], lease: number): Promise<void>;
  /**
   * Counts users whom signals are about against a limit, before anything is done for them. All replicas count
   * together, by the store's clock.
   * @returns those who are counted now; who was counted within this time is not counted again. Null if, with
   * them, more than `limit` users were counted: none is then.
   */
  admit(users: readonly string[], limit: AdmissionLimit): Promise<readonly string[] | null>;
  /** Takes back what {@link admit} counted, as nothing was done for these users. */
  uncount(users: readonly string[], limit: Pick<AdmissionLimit, 'countedAs'>): Promise<void>;
  /** Ends claims with the same outcome; returns those that were not lost: the others are not recorded. */
  settle(claims: readonly SignalClaim[], outcome: SignalOutcome, now: Date): Promise<readonly SignalClaim[]>;
  /** Ends the leases of holders that are known to be dead, so that no one waits for them to expire. */
  giveBack(isDead: (holder: string) => boolean): Promise<void>;
  list(selector: SignalSelector): Promise<readonly Signal[]>;
  /** The signals whose id begins with this; at most two. */
  find(prefix: string): Promise<readonly Signal[]>;
  /** How many signals wait or are acted on; counts up to `most`. */
  backlog(most: number): Promise<number>;
  /** How many signals there are by state. */
  counts(): Promise<Readonly<Record<SignalState, number>>>;
  /** Has a held signal carried out. False if it is not held any more. */
  release(id: string, release: SignalRelease, now: Date): Promise<boolean>;
  /** Ends a held signal without an act. False if it is not held any more. */
  dismiss(id: string, release: SignalRelease, now: Date): Promise<boolean>;
  /** Held signals about which no notice was delivered yet. */
  untold(limit: number): Promise<readonly Signal[]>;
  /** Records that a notice about them was delivered. */
  markTold(ids: readonly string[]): Promise<void>;
  /** Deletes signals that ended before an instant. */
  forget(before: Date): Promise<void>;
  /** Remembers that a verification event is asked for. */
  expect(verification: ExpectedVerification, now: Date): Promise<void>;
  /** The verification events that a transmitter was asked for, newest first. */
  expected(transmitter: string): Promise<readonly ExpectedVerification[]>;
  close(): Promise<void>;
}
