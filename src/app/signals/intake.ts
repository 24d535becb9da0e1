import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { TransmitterKeys } from '@tokenctl/common/security-events/transmitter-keys.ts';
import {
  signatureAlgorithms,
  unverifiedIssuer,
  verifyLogoutToken,
  verifyRevocationCaller,
  verifySecurityEvent,
} from '@tokenctl/common/security-events/verify-token.ts';
import { type ConditionalAction, decidingEvent } from '@tokenctl/common/signals/deciding-event.ts';
import {
  defaultActions,
  isStandardEvent,
  type SecurityEvent,
  type SignalAction,
  type SignalKind,
} from '@tokenctl/common/signals/signal-event.ts';
import { type RefusalCode, SignalRefusal } from '@tokenctl/common/signals/signal-refusal.ts';
import {
  narrowingMembers,
  revocationSubject,
  type SubjectIdentifier,
  tenantName,
} from '@tokenctl/common/signals/subject-identifier.ts';
import type { SignalsSettings, TransmitterSettings } from '../../config/signals.ts';
import type { Clock } from '../../operations/ports/clock.ts';
import type { NewSignal, Recorded, SignalRoute, SignalStore } from '../../operations/ports/signals.ts';
import type { RevocationAnswer, SignalIntake } from '../../signals/receiver.ts';

/** The reason for a signal about an unknown user. */
const NO_USER = 'No user matches the subject';
/** How long the number of waiting signals is cached, in milliseconds. */
const BACKLOG_AGE_MS = 1_000;

interface IntakeOptions {
  readonly settings: SignalsSettings;
  readonly store: SignalStore;
  readonly keys: TransmitterKeys;
  readonly clock: Clock;
  /** Whether a subject matches a user. `doubt`: a person must decide; `unknown`: no target responded in time. */
  readonly find: (
    subject: SubjectIdentifier,
    transmitter: string,
  ) => Promise<'user' | 'none' | 'doubt' | 'unknown'>;
  /** Called once a new signal is recorded as waiting. */
  readonly onWaiting: () => void;
}

/** Verifies incoming signals, and records them before the sender gets an answer. */
export class Intake implements SignalIntake {
  readonly #options: IntakeOptions;
  #backlog = { at: Number.NEGATIVE_INFINITY, count: Promise.resolve(0), since: 0 };

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  async securityEvent(name: string, token: string): Promise<void> {
    await this.#record(await this.#verified(name, token, 'push'));
  }

  /** Accepts a polled event, by the transmitter's id. Throws SignalRefusal, KeysUnavailable. */
  async polledEvent(name: string, id: string, token: string): Promise<Recorded['result']> {
    return (await this.#record(await this.#polled(name, id, token))).result;
  }

  /** Verifies a polled event without recording it. Throws as {@link Intake.polledEvent}. */
  async checkPolledEvent(name: string, id: string, token: string): Promise<void> {
    await this.#polled(name, id, token);
  }

  async #polled(name: string, id: string, token: string) {
    const signal = await this.#verified(name, token, 'poll');
    if (signal.jti === id) return signal;
    throw new SignalRefusal(
      'invalid_request',
      'The event has a different jti than the message that contained it',
    );
  }

  async #verified(name: string, token: string, route: SignalRoute) {
    const { settings } = this.#options;
    const transmitter = settings.transmitters[name];
    if (transmitter === undefined) throw new SignalRefusal('access_denied', 'No such stream');
    const event = await verifySecurityEvent(token, {
      ...this.#expected(transmitter, transmitter.audience ?? []),
      maxAge: transmitter.maxAge,
    });
    const foreign = await this.#foreignStream(event, name);
    const actions = actionsOf(settings, transmitter);
    return securitySignal(event, { name, route, transmitter, actions, foreign });
  }

  /**
   * The stream of an event if it is not this transmitter's stream; null if it is, or no stream is known.
   * @throws SignalRefusal `invalid_state` for a verification that was not requested here, which is known if
   * tokenctl manages the stream (Shared Signals 1.0, section 8.1.4.1).
   */
  async #foreignStream({ events }: SecurityEvent, name: string): Promise<string | null> {
    const about = events.find(({ kind }) => kind === 'verification' || kind === 'stream-updated');
    if (about === undefined) return null;
    const { store, settings } = this.#options;
    const expected = await store.expected(name);
    const { kind, stream, state } = about;
    if (stream !== undefined && expected.length > 0 && !expected.some((each) => each.stream === stream))
      return stream;
    const isOurs = (digest: string) => expected.some((each) => each.state === digest);
    const isManaged = settings.transmitters[name]?.management !== undefined;
    if (kind === 'verification' && isManaged && state !== undefined && !isOurs(stateDigest(state)))
      throw new SignalRefusal('invalid_state', 'No verification was requested with this state');
    return null;
  }

  async logout(token: string): Promise<void> {
    const { name, transmitter, audience } = this.#transmitterOf(token, ({ logout }) => logout?.audience);
    const { issuer, id, issued, sub } = await verifyLogoutToken(token, {
      ...this.#expected(transmitter, audience),
      withoutExpiry: transmitter.logout?.withoutExpiry ?? false,
    });
    const subject =
      sub === null
        ? ({ format: 'complex', user: null, members: ['session'] } as const)
        : ({ format: 'iss_sub', iss: issuer, sub } as const);
    const kind = 'backchannel-logout';
    await this.#record(
      this.#single({ name, transmitter, kind, subject, issuer, jti: id, issued, route: 'logout' }),
    );
  }

  async revocation(bearer: string, body: unknown): Promise<RevocationAnswer> {
    const { name, transmitter, audience } = this.#transmitterOf(
      bearer,
      ({ revocation }) => revocation?.audience,
    );
    const caller = await verifyRevocationCaller(bearer, this.#expected(transmitter, audience)).catch(
      unauthenticated,
    );
    const subject = revocationSubject(body);
    const { issuer, id: jti, issued } = caller;
    const found = await this.#options.find(subject, name);
    const signal = this.#single({
      ...{ name, transmitter, subject, issuer, jti, issued },
      kind: 'global-token-revocation',
      route: 'revocation',
    });
    const recorded = await this.#record(
      found === 'none' ? { ...signal, state: 'ignored', reason: NO_USER } : signal,
      'authentication_failed',
    );
    const before = recorded.result === 'known' ? recorded.signal : null;
    // If the first use of the token had no effect, this one has none either.
    if (found === 'none' || before?.reason === NO_USER) return 'unknown_user';
    if (signal.state === 'ignored') return 'not_acted_on';
    return found === 'doubt' || (before ?? signal).state === 'held' ? 'held' : 'accepted';
  }

  /** The transmitter of this token, if its configuration accepts such tokens. */
  #transmitterOf(
    token: string,
    audienceOf: (transmitter: TransmitterSettings) => readonly string[] | undefined,
  ) {
    const issuer = unverifiedIssuer(token);
    for (const [name, transmitter] of Object.entries(this.#options.settings.transmitters)) {
      const audience = audienceOf(transmitter);
      if (transmitter.issuer === issuer && audience !== undefined) return { name, transmitter, audience };
    }
    throw new SignalRefusal(
      'invalid_issuer',
      'No transmitter with this issuer is configured for such tokens',
    );
  }

  #expected({ issuer, jwks }: TransmitterSettings, audiences: readonly string[]) {
    const { keys, clock } = this.#options;
    return { issuer, audiences, algorithms: signatureAlgorithms, keys: keys.at(jwks), now: clock.now() };
  }

  #single({
    name,
    transmitter,
    kind,
    ...rest
  }: Pick<NewSignal, 'issuer' | 'jti' | 'issued' | 'route' | 'subject'> & {
    name: string;
    transmitter: TransmitterSettings;
    kind: SignalKind;
  }): Omit<NewSignal, 'received'> {
    const mapping = actionsOf(this.#options.settings, transmitter)[kind];
    // No member of an event narrows these kinds.
    const action = typeof mapping === 'string' ? mapping : mapping.action;
    return {
      ...rest,
      transmitter: name,
      kind,
      kinds: [kind],
      ...begin(action, rest.subject, { ...transmitter, kind }),
    };
  }

  /**
   * @throws SignalRefusal with `code` if the `jti` was used for something else: this event would be lost unnoticed.
   * @throws TokenctlError `busy`
   */
  async #record(signal: Omit<NewSignal, 'received'>, code: RefusalCode = 'invalid_request') {
    const { store, clock, onWaiting } = this.#options;
    await this.#requireRoom();
    const recorded = await store.record({ ...signal, received: clock.now() });
    if (recorded.result === 'known') {
      const { kinds, subject } = recorded.signal;
      if (!isDeepStrictEqual([kinds, subject], [signal.kinds, signal.subject]))
        throw new SignalRefusal(code, 'The jti was already used for a different event');
    } else if (signal.state === 'waiting') {
      onWaiting();
    }
    return recorded;
  }

  /** Refuses new signals while too many wait. Counts once a second, plus those accepted since. */
  async #requireRoom(): Promise<void> {
    const { store, settings } = this.#options;
    const now = performance.now();
    if (now - this.#backlog.at > BACKLOG_AGE_MS)
      this.#backlog = { at: now, count: store.backlog(settings.maxWaiting), since: 0 };
    const backlog = this.#backlog;
    const waiting = await backlog.count.catch((error: unknown) => {
      backlog.at = Number.NEGATIVE_INFINITY;
      throw error;
    });
    if (waiting + backlog.since < settings.maxWaiting) {
      backlog.since += 1;
      return;
    }
    throw new TokenctlError('busy', `${settings.maxWaiting} events are pending`, {
      hint: 'The sender was asked to try again later. List pending events with `tokenctl signals list --state waiting`.',
    });
  }
}

type Mappings = Readonly<Record<SignalKind, SignalAction | ConditionalAction>>;

/** The action for each kind: the defaults, overridden by the section and by the transmitter. */
function actionsOf(
  { actions }: Pick<SignalsSettings, 'actions'>,
  transmitter: Pick<TransmitterSettings, 'actions'>,
): Mappings {
  return { ...defaultActions, ...actions, ...transmitter.actions };
}

function securitySignal(
  { issuer, id, issued, events }: SecurityEvent,
  {
    name,
    route,
    transmitter,
    actions,
    foreign,
  }: {
    name: string;
    route: SignalRoute;
    transmitter: Pick<TransmitterSettings, 'tenants' | 'criticalMembers'>;
    actions: Mappings;
    /** A stream other than the transmitter's; null if there is none. */
    foreign: string | null;
  },
): Omit<NewSignal, 'received'> {
  const shared = {
    ...{ issuer, jti: id, transmitter: name, route, issued },
    kinds: events.map(({ kind, uri }) => kind ?? uri),
  };
  const deciding = decidingEvent(events, actions);
  if (deciding !== null) {
    const { kind, action, subject, unmet, doubt } = deciding;
    const begun = begin(action, subject, { ...transmitter, kind });
    const event = { ...shared, kind, subject, ...begun };
    if (unmet !== null) return { ...event, reason: unmet };
    return doubt !== null && begun.state === 'waiting' ? { ...event, state: 'held', reason: doubt } : event;
  }
  const stream = events.find(({ kind }) => kind === 'stream-updated' || kind === 'verification');
  const nothing = { ...shared, kind: null, subject: null, action: 'nothing' } as const;
  if (stream === undefined) {
    const state = events.some(({ uri }) => isStandardEvent(uri)) ? 'held' : 'ignored';
    return { ...nothing, state, reason: 'Unknown event type' };
  }
  const { kind, state = '' } = stream;
  const shown = printable(state);
  if (foreign !== null)
    return {
      ...nothing,
      state: 'ignored',
      reason: `The event is about a different stream: ${printable(foreign)}`,
    };
  if (kind === 'verification') return { ...nothing, state: 'ignored', reason: verificationReason(state) };
  // A stopped stream delivers no further events, so a person has to know.
  if (state === 'paused' || state === 'disabled')
    return { ...nothing, state: 'held', reason: `The transmitter reports the stream as ${shown}` };
  return { ...nothing, state: 'ignored', reason: `The transmitter reports the stream as ${shown}` };
}

function printable(text: string): string {
  return /^[\x20-\x7e]{1,100}$/.test(text) ? text : 'nothing';
}

/** The recorded reason of a verification event. */
export function verificationReason(state: string): string {
  return `Stream verification, state ${stateDigest(state)}`;
}

/** The state of a verification is its requester's secret, so only its digest is stored. */
export function stateDigest(state: string): string {
  return createHash('sha256').update(state).digest('hex').slice(0, 12);
}

/** The members of a complex subject that are compared, or that a person reviews. */
const PROCESSED = ['user', 'tenant', ...narrowingMembers];

/** The initial state of a signal: waiting, or pending for a person if the subject is narrower than the action. */
function begin(
  action: SignalAction,
  subject: SubjectIdentifier | null,
  {
    kind,
    tenants,
    criticalMembers,
  }: Pick<TransmitterSettings, 'tenants' | 'criticalMembers'> & { kind: SignalKind },
): Pick<NewSignal, 'action' | 'state' | 'reason'> {
  // As for a paused stream: a person who relies on the events has to know.
  if (action === 'nothing' && kind === 'opt-out-effective')
    return { action, state: 'held', reason: 'The transmitter sends no more events about this user' };
  if (action === 'nothing') return { action, state: 'ignored', reason: 'Mapped to no action' };
  if (subject?.format !== 'complex') return { action, state: 'waiting', reason: null };
  const { user, members } = subject;
  // Shared Signals 1.0, section 3.6: an event with an unprocessed critical member is discarded.
  const critical = members.find((name) => criticalMembers.includes(name) && !PROCESSED.includes(name));
  if (critical !== undefined)
    return { action, state: 'ignored', reason: `The subject's critical member ${critical} is not supported` };
  const held = (reason: string) => ({ action, state: 'held' as const, reason });
  const named = members.length === 0 ? '' : `, only: ${members.join(', ')}`;
  if (user === null) return held(`The subject identifies no user${named}`);
  if (members.includes('tenant') && !tenants.includes(tenantName(subject) ?? ''))
    return held("The event is about a tenant that is not in the transmitter's `tenants`");
  const narrows = (name: string) => kind === 'session-revoked' || criticalMembers.includes(name);
  const part = members.find((name) => narrowingMembers.includes(name) && narrows(name));
  if (part !== undefined && action !== 'end-sessions')
    return held(`The event is about one ${part} of the user`);
  return { action, state: 'waiting', reason: null };
}

/** A caller whose token is refused is not authenticated, whatever is wrong with the token. */
function unauthenticated(error: unknown): never {
  if (error instanceof SignalRefusal) throw new SignalRefusal('authentication_failed', error.message);
  throw error;
}
