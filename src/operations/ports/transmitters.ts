/** What a poll asks for and reports (RFC 8936, section 2.2). */
export interface PollRequest {
  /** The ids of events that are on stable storage. */
  readonly acknowledged: readonly string[];
  /** Events that are refused for good, by id. */
  readonly refused: ReadonlyMap<string, { readonly err: string; readonly description: string }>;
  /** How many events may be returned; 0 to report only. */
  readonly maxEvents: number;
}

export interface PollAnswer {
  /** Security event tokens by the id that the transmitter gives them, which is their `jti`. */
  readonly sets: ReadonlyMap<string, string>;
  readonly hasMore: boolean;
}

/** Where the events of a stream are asked for. */
export interface PollSource {
  /** @throws TokenctlError `target_unreachable`, `credentials_refused`, `permission_refused`, `target_misbehaved`, `interrupted` */
  poll(request: PollRequest, signal: AbortSignal): Promise<PollAnswer>;
}

/** What a transmitter publishes about itself (OpenID Shared Signals 1.0, section 7). */
export interface TransmitterMetadata {
  readonly issuer: string;
  readonly jwks: string | null;
  /** How it delivers: URIs of RFC 8935 and RFC 8936. */
  readonly deliveryMethods: readonly string[];
  /** Whether a new stream is about no one until subjects are added to it: `default_subjects` is `NONE`. */
  readonly needsSubjects: boolean;
  /** The members of complex subjects that a receiver has to process, or else discard the event. */
  readonly criticalMembers: readonly string[];
}

/** A stream of events as its transmitter describes it (OpenID Shared Signals 1.0, section 8.1.1). */
export interface EventStream {
  readonly id: string;
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly method: string;
  /** Where events are pushed to, or polled. */
  readonly endpoint: string | null;
  /** The event types that it will send; null where the transmitter does not say. */
  readonly delivered: readonly string[] | null;
}

export interface WantedStream {
  readonly method: string;
  /** Where to push; null for a stream that is polled. */
  readonly endpoint: string | null;
  /** The value of the Authorization header of each push. Secret; null for none. */
  readonly authorization: { reveal(): string } | null;
  readonly events: readonly string[];
}

/**
 * The management API of a transmitter (OpenID Shared Signals 1.0, section 8). Each method throws `TokenctlError`:
 * `target_unreachable`, `credentials_refused`, `permission_refused`, `target_misbehaved`, `unsupported` where the transmitter has
 * no such endpoint.
 */
export interface StreamManagement {
  metadata(): Promise<TransmitterMetadata>;
  /** The streams of this receiver. */
  streams(): Promise<readonly EventStream[]>;
  /** Throws `configuration`, naming the streams that there are, where the transmitter allows no further one. */
  create(wanted: WantedStream): Promise<EventStream>;
  /** `enabled`, `paused`, `disabled`, or what else it says; null without such an endpoint. */
  status(id: string): Promise<string | null>;
  /** Asks for a verification event with this state. */
  verify(id: string, state: string): Promise<void>;
  /** @returns whether the stream was there */
  delete(id: string): Promise<boolean>;
}

/** The delivery methods. */
export const deliveryMethods = { push: 'urn:ietf:rfc:8935', poll: 'urn:ietf:rfc:8936' } as const;

/** The streams that are polled, opened for one run. */
export interface PolledStreams {
  /** The transmitters whose events are asked for. */
  readonly names: readonly string[];
  /** @throws TokenctlError `not_found`, `configuration` */
  source(name: string): PollSource;
  /** Records an event. Throws SignalRefusal, KeysUnavailable and TokenctlError. */
  take(name: string, id: string, token: string): Promise<'new' | 'known'>;
  /** Verifies an event, and records nothing. Throws as `take`. */
  check(name: string, id: string, token: string): Promise<void>;
  /** Carries out what waits, and tells about what is held. @returns how many signals ended */
  carryOut(): Promise<number>;
  close(): Promise<void>;
}
