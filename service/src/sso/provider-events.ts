import type { Queryable } from '@tokenctl/common/db/database.ts';
import { TransmitterKeys } from '@tokenctl/common/security-events/transmitter-keys.ts';
import {
  type Expected,
  signatureAlgorithms,
  unverifiedIssuer,
  verifyLogoutToken,
  verifyRevocationCaller,
  verifySecurityEvent,
} from '@tokenctl/common/security-events/verify-token.ts';
import { decidingEvent } from '@tokenctl/common/signals/deciding-event.ts';
import { defaultActions, type SignalKind } from '@tokenctl/common/signals/signal-event.ts';
import { KeysUnavailable, SignalRefusal } from '@tokenctl/common/signals/signal-refusal.ts';
import {
  identifiersOf,
  narrowingMembers,
  type SubjectIdentifier,
} from '@tokenctl/common/signals/subject-identifier.ts';
import type { ServiceContext } from '../context.ts';
import {
  type Ended,
  endAccess,
  endOpenIdSessions,
  recordEnding,
  recordEvent,
  usersOfSession,
} from '../store/provider-events.ts';
import { findLinkedUser, lockUsers } from '../store/users.ts';
import { ssoConfiguration } from './configuration.ts';
import { type OpenIdConfiguration, openIdUid } from './openid.ts';

export interface EventOutcome {
  readonly kind: SignalKind | null;
  readonly issuer: string;
  readonly id: string;
  /** `repeated` was handled before; `unknown` concerns no account here. */
  readonly result: 'ended' | 'repeated' | 'unknown' | 'nothing';
  readonly users: readonly number[];
  readonly ended: Ended;
}

/** How long an ended login is remembered, in milliseconds: longer than a previously confirmed login can take. */
const ENDING_MS = 900_000;
/** The maximum age of a pushed event, in seconds: providers resend unacknowledged ones. */
const MAX_EVENT_AGE_S = 7 * 86_400;
/** How long event ids are remembered, in milliseconds: longer than their tokens are accepted. */
const REMEMBERED_MS = { event: 8 * 86_400_000, call: 1_800_000 };
/** The wait after a failed discovery, in milliseconds: every forged token causes an attempt. */
const RETRY_MS = 2_000;

const NOTHING: Ended = { sessions: 0, tokens: 0, refreshTokens: 0, codes: 0 };

/**
 * Handles events of OpenID providers about their users: logout tokens, security events and calls of Global
 * Token Revocation. Each is verified with the provider's published keys, handled once, and answered after
 * that. Accounts are matched by issuer and subject, as at a login, never by an address.
 */
export class ProviderEvents {
  readonly #service: ServiceContext;
  readonly #keys = new TransmitterKeys();
  readonly #failed = new Map<string, number>();

  constructor(service: ServiceContext) {
    this.#service = service;
  }

  /**
   * OpenID Connect Back-Channel Logout 1.0: ends the session named by `sid`, or all that the user started
   * through the provider. Also ends the user's tokens if the setting or the token requires it.
   * @throws SignalRefusal, KeysUnavailable
   */
  async logout(token: string): Promise<EventOutcome> {
    const { configuration, read: logout } = await this.#verified(token, (expected, { clientId }) =>
      verifyLogoutToken(token, { ...expected, audiences: [clientId] }),
    );
    const { backend } = configuration;
    const { issuer, id, sub, sid } = logout;
    const uid = sub === null ? null : openIdUid(backend, { iss: configuration.issuer, sub });
    const ending = this.#ending(logout.issued);
    const { database } = this.#service;
    const { logoutRevokes } = await ssoConfiguration(this.#service, database);
    const revokes = logout.revokesOffline || logoutRevokes(backend);
    // Recorded before the sessions are searched, so that a login in progress finds it.
    if (sid !== null) await recordEnding(database, { backend, sid }, ending);
    if (uid !== null && (sid === null || revokes)) await recordEnding(database, { backend, uid }, ending);
    const event = { kind: 'backchannel-logout' as const, issuer, id, about: [sub, sid] };
    return this.#once(event, 'call', async (transaction) => {
      const linked = uid === null ? null : await findLinkedUser(transaction, { provider: backend, uid });
      if (uid !== null && linked === null) return null;
      const users =
        linked === null ? await usersOfSession(transaction, { backend, sid: sid ?? '' }) : [linked];
      await lockUsers(transaction, users);
      const sessions = await endOpenIdSessions(transaction, { backend, userId: linked, sid });
      const ended = revokes ? await this.#endAccess(transaction, users) : NOTHING;
      return { users, ended: { ...ended, sessions: sessions + ended.sessions } };
    });
  }

  /**
   * A pushed security event (RFC 8935). Events that withdraw an account, a session or a credential end the
   * user's sessions and tokens; a revoked session of one device or application ends only sessions. Other
   * events are acknowledged without effect.
   * @throws SignalRefusal, KeysUnavailable
   */
  async securityEvent(token: string): Promise<EventOutcome> {
    const { configuration, read: event } = await this.#verified(token, (expected) =>
      verifySecurityEvent(token, { ...expected, maxAge: MAX_EVENT_AGE_S }),
    );
    const { issuer, id, issued } = event;
    const deciding = decidingEvent(event.events, defaultActions);
    if (deciding === null || deciding.action === 'nothing')
      return { kind: deciding?.kind ?? null, issuer, id, result: 'nothing', users: [], ended: NOTHING };
    const { kind, subject, doubt } = deciding;
    // No person decides about it here, and the response tells the provider what was unclear.
    if (doubt !== null) throw new SignalRefusal('invalid_request', doubt);
    const isPart =
      subject.format === 'complex' && subject.members.some((name) => narrowingMembers.includes(name));
    const sessionsOnly = kind === 'session-revoked' && isPart;
    return this.#endBySubject({ kind, issuer, id, issued }, 'event', {
      ...{ configuration, subject, sessionsOnly },
    });
  }

  /** Global Token Revocation: ends the user's sessions and tokens. Throws SignalRefusal, KeysUnavailable. */
  async revocation(bearer: string, subject: SubjectIdentifier): Promise<EventOutcome> {
    const { configuration, read } = await this.#verified(bearer, (expected) =>
      verifyRevocationCaller(bearer, expected),
    );
    const event = { kind: 'global-token-revocation' as const, ...read };
    return this.#endBySubject(event, 'call', { configuration, subject });
  }

  #endBySubject(
    event: { kind: SignalKind; issuer: string; id: string; issued: Date },
    memory: keyof typeof REMEMBERED_MS,
    options: {
      configuration: OpenIdConfiguration;
      subject: SubjectIdentifier;
      /** Ends only the sessions that the user started through the provider, not the tokens. */
      sessionsOnly?: boolean;
    },
  ): Promise<EventOutcome> {
    const { configuration, subject, sessionsOnly = false } = options;
    const { backend } = configuration;
    const uids = accountIds(configuration, subject);
    const ending = this.#ending(event.issued);
    return this.#once(
      { ...event, about: uids },
      memory,
      async (transaction) => {
        const found = await Promise.all(
          uids.map((uid) => findLinkedUser(transaction, { provider: backend, uid })),
        );
        const users = [...new Set(found.filter((id) => id !== null))].sort((one, other) => one - other);
        if (users.length > 1)
          throw new SignalRefusal('access_denied', 'The subject matches several users here');
        const [userId] = users;
        if (userId === undefined) return null;
        await lockUsers(transaction, users);
        if (!sessionsOnly) return { users, ended: await this.#endAccess(transaction, users) };
        const sessions = await endOpenIdSessions(transaction, { backend, userId, sid: null });
        return { users, ended: { ...NOTHING, sessions } };
      },
      async () => {
        for (const uid of uids) await recordEnding(this.#service.database, { backend, uid }, ending);
      },
    );
  }

  /**
   * Handles an event unless it was handled before. `act` returns null if it concerns no user here. Throws
   * SignalRefusal if its `jti` was used for another user or kind: otherwise the provider would assume that
   * access was ended.
   */
  async #once(
    event: { kind: SignalKind; issuer: string; id: string; about: readonly unknown[] },
    memory: keyof typeof REMEMBERED_MS,
    act: (
      transaction: Queryable,
    ) => Promise<{ readonly users: readonly number[]; readonly ended: Ended } | null>,
    before: () => Promise<void> = async () => {},
  ): Promise<EventOutcome> {
    const { database, now } = this.#service;
    const { kind, issuer, id } = event;
    const about = [kind, ...event.about];
    await before();
    return database.transaction(async (transaction): Promise<EventOutcome> => {
      const nothing = { kind, issuer, id, users: [], ended: NOTHING };
      const expires = new Date(now().getTime() + REMEMBERED_MS[memory]);
      const recorded = await recordEvent(transaction, { issuer, id, about, expires });
      if (recorded === 'reused')
        throw new SignalRefusal('invalid_request', 'The jti was already used for a different event');
      if (recorded === 'repeated') return { ...nothing, result: 'repeated' };
      const done = await act(transaction);
      return done === null
        ? { ...nothing, result: 'unknown' }
        : { kind, issuer, id, result: 'ended', ...done };
    });
  }

  async #endAccess(transaction: Queryable, users: readonly number[]): Promise<Ended> {
    const { now, node } = this.#service;
    let total = NOTHING;
    for (const userId of users) {
      const ended = await endAccess(transaction, { userId, at: now(), node });
      total = {
        sessions: total.sessions + ended.sessions,
        tokens: total.tokens + ended.tokens,
        refreshTokens: total.refreshTokens + ended.refreshTokens,
        codes: total.codes + ended.codes,
      };
    }
    return total;
  }

  #ending(at: Date): { readonly at: Date; readonly expires: Date } {
    return { at, expires: new Date(this.#service.now().getTime() + ENDING_MS) };
  }

  /** Verifies a token with each provider of its issuer: there may be two. Throws SignalRefusal, KeysUnavailable. */
  async #verified<T>(
    token: string,
    verify: (expected: Expected, configuration: OpenIdConfiguration) => Promise<T>,
  ): Promise<{ readonly configuration: OpenIdConfiguration; readonly read: T }> {
    const issuer = unverifiedIssuer(token);
    const { backends } = await ssoConfiguration(this.#service, this.#service.database);
    let refusal = new SignalRefusal('invalid_issuer', 'The issuer is not a configured OpenID provider');
    for (const configuration of backends) {
      if (configuration.backend === 'github' || configuration.backend === 'saml') continue;
      // The issuer of several tenants is a template and signs for all of them.
      if (configuration.backend === 'azuread-oauth2' && configuration.severalTenants) continue;
      if (!isSameIssuer(issuer, configuration.issuer)) continue;
      try {
        const expected = await this.#expected(configuration, issuer);
        return { configuration, read: await verify(expected, configuration) };
      } catch (error) {
        if (!(error instanceof SignalRefusal) || error.code !== 'invalid_audience') throw error;
        refusal = error;
      }
    }
    throw refusal;
  }

  /** The requirements on a token. The audience is never from the Host header, which could name another receiver. */
  async #expected(configuration: OpenIdConfiguration, issuer: string): Promise<Expected> {
    const { publicUrl } = this.#service;
    const addresses =
      publicUrl === undefined
        ? []
        : [publicUrl, ...Object.values(EVENT_PATHS).map((path) => `${publicUrl}${path}`)];
    return {
      issuer,
      audiences: [configuration.clientId, ...addresses],
      algorithms: signatureAlgorithms,
      keys: this.#keys.at(await this.#keyAddress(configuration)),
      now: this.#service.now(),
    };
  }

  async #keyAddress(configuration: OpenIdConfiguration): Promise<string> {
    const { issuer } = configuration;
    if (performance.now() - (this.#failed.get(issuer) ?? Number.NEGATIVE_INFINITY) < RETRY_MS)
      throw new KeysUnavailable("Cannot read the provider's metadata");
    try {
      const { jwks_uri: address } = (await this.#service.discoveries.find(configuration)).serverMetadata();
      if (address === undefined) throw new Error('the metadata contains no keys');
      return address;
    } catch (cause) {
      this.#failed.set(issuer, performance.now());
      throw new KeysUnavailable("Cannot read the provider's metadata", { cause });
    }
  }
}

export const EVENT_PATHS = {
  logout: '/sso/backchannel-logout/',
  events: '/sso/events/',
  revocation: '/sso/global-token-revocation/',
} as const;

/** The accounts here that a subject matches: by issuer and subject, or by the subject alone. */
function accountIds(configuration: OpenIdConfiguration, subject: SubjectIdentifier): readonly string[] {
  const { backend, issuer: iss } = configuration;
  return identifiersOf(subject).flatMap((identifier) => {
    if (identifier.format === 'opaque') return [openIdUid(backend, { iss, sub: identifier.id })];
    if (identifier.format !== 'iss_sub' || !isSameIssuer(identifier.iss, iss)) return [];
    return [openIdUid(backend, { iss, sub: identifier.sub })];
  });
}

/** Google signs its events as `https://accounts.google.com/`, and its ID tokens without the slash. */
function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, '') === other.replace(/\/$/, '');
}
