/** A poll request, with acknowledgements (RFC 8936, section 2.2). */
export interface PollRequest {
  /** The ids of events that are on stable storage. */
  readonly acknowledged: readonly string[];
  /** Permanently refused events, by id. */
  readonly refused: ReadonlyMap<string, { readonly err: string; readonly description: string }>;
  /** The maximum number of events to return; 0 to only report. */
  readonly maxEvents: number;
}

export interface PollAnswer {
  /** Security event tokens by the transmitter's id, their `jti`. */
  readonly sets: ReadonlyMap<string, string>;
  readonly hasMore: boolean;
}

/** The polling endpoint of a stream. */
export interface PollSource {
  /**
   * @throws TokenctlError `target_unreachable`, `credentials_refused`, `permission_refused`,
   * `target_misbehaved`, `interrupted`
   */
  poll(request: PollRequest, signal: AbortSignal): Promise<PollAnswer>;
}

/** What a transmitter publishes about itself (OpenID Shared Signals 1.0, section 7). */
export interface TransmitterMetadata {
  readonly issuer: string;
  readonly jwks: string | null;
  /** The delivery methods it supports: URIs of RFC 8935 and RFC 8936. */
  readonly deliveryMethods: readonly string[];
  /** Whether a new stream has no subjects until they are added: `default_subjects` is `NONE`. */
  readonly needsSubjects: boolean;
  /** The members of complex subjects that a receiver must process, or else discard the event. */
  readonly criticalMembers: readonly string[];
}

/** A stream of events as its transmitter describes it (OpenID Shared Signals 1.0, section 8.1.1). */
export interface EventStream {
  readonly id: string;
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly method: string;
  /** Where events are pushed or polled. */
  readonly endpoint: string | null;
  /** The event types that it will send; null if the transmitter does not say. */
  readonly delivered: readonly string[] | null;
}

export interface WantedStream {
  readonly method: string;
  /** The push endpoint; null for a polled stream. */
  readonly endpoint: string | null;
  /** The value of the Authorization header of each push. Secret; null for none. */
  readonly authorization: { reveal(): string } | null;
  readonly events: readonly string[];
}

/**
 * The management API of a transmitter (OpenID Shared Signals 1.0, section 8). Each method throws
 * `TokenctlError`: `target_unreachable`, `credentials_refused`, `permission_refused`, `target_misbehaved`,
 * `unsupported` if the transmitter has no such endpoint.
 */
export interface StreamManagement {
  metadata(): Promise<TransmitterMetadata>;
  /** The streams of this receiver. */
  streams(): Promise<readonly EventStream[]>;
  /** Throws `configuration`, naming the existing streams, if the transmitter allows no further one. */
  create(wanted: WantedStream): Promise<EventStream>;
  /** `enabled`, `paused`, `disabled`, or another status; null without such an endpoint. */
  status(id: string): Promise<string | null>;
  /** Requests a verification event with this state. */
  verify(id: string, state: string): Promise<void>;
  /** @returns Whether the stream existed. */
  delete(id: string): Promise<boolean>;
}

export const deliveryMethods = { push: 'urn:ietf:rfc:8935', poll: 'urn:ietf:rfc:8936' } as const;

/** The polled streams, opened for one run. */
export interface PolledStreams {
  readonly names: readonly string[];
  /** @throws TokenctlError `not_found`, `configuration` */
  source(name: string): PollSource;
  /** Records an event. Throws SignalRefusal, KeysUnavailable and TokenctlError. */
  take(name: string, id: string, token: string): Promise<'new' | 'known'>;
  /** Verifies an event without recording it. Throws as `take`. */
  check(name: string, id: string, token: string): Promise<void>;
  /** Processes waiting signals, and notifies about held ones. @returns The number of signals that ended. */
  carryOut(): Promise<number>;
  close(): Promise<void>;
}
