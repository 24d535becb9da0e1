/** What was done, or is to be done, to the subject of an event. */
export type Act = 'delete' | 'create' | 'update' | 'enable' | 'disable' | 'log_off' | 'other';

/** How far it came. `intended` is before the act, `noted` is of what changes nothing. */
export type EventStatus = 'intended' | 'done' | 'unchanged' | 'failed' | 'not_tried' | 'unknown' | 'noted';

/** What an event is about. */
export interface EventSubject {
  readonly kind: 'access token' | 'refresh token' | 'session' | 'user' | 'settings' | 'operation';
  /** The controller's id; the fingerprint of a session, the run of an operation. */
  readonly id?: string;
  readonly name?: string;
  readonly fingerprint?: string;
  /** The user whose it is. */
  readonly owner?: string;
}

/** One thing that an entry states, in no format yet: an entry that names a thousand tokens states a thousand. */
export interface LogEvent {
  readonly act: Act;
  readonly status: EventStatus;
  readonly subject: EventSubject;
  /** A phrase for people. */
  readonly message: string;
  /** Why it failed, or what else has to be known. */
  readonly detail?: string;
  /** How many things it stands for, where these are not told one by one. */
  readonly count?: number;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}
