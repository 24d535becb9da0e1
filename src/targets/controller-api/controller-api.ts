import { TokenctlError } from '../../core/errors.ts';
import type { Outcome, StaysAlive } from '../../core/plan.ts';
import type { Secret } from '../../core/secret.ts';
import type { Selector } from '../../core/selector.ts';
import type { Activity, Application, RefreshToken, Session, Token, User } from '../../core/token.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';
import type { CreatedToken, Identified, Target, TokenRequest } from '../../operations/ports/target.ts';
import type { TargetDescription } from '../../operations/ports/target-description.ts';
import type { ActivitySelector, UserSelector } from '../../operations/ports/target-selectors.ts';
import { activityOf, lastChangesOf } from './activity.ts';
import { readApplication } from './application-body.ts';
import { readUser } from './bodies.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { createPersonalToken } from './create-token.ts';
import { describeController } from './describe.ts';
import { identifyByTrying } from './identify.ts';
import { noRefreshTokens, noSessions, refused } from './not-over-rest.ts';
import { ownTokenIds } from './own-tokens.ts';
import { type Listing, pagesOf } from './pages.ts';
import { applicationQueries, type Query, tokenQueries, userQueries } from './query.ts';
import { deleteTokens } from './revocation.ts';
import { fetchSettings, patchSettings } from './settings.ts';
import { staysAlive } from './stays-alive.ts';
import { readToken } from './token-body.ts';
import { patchUserActive } from './user-active.ts';

/** Which controller, and how to reach it. */
export interface ControllerApiOptions extends ConnectionOptions {
  /** The context's name, for descriptions and the audit log. */
  readonly context: string;
}

/**
 * Opens a target over a controller's REST API (`/api/v2/`). Nothing is sent before the first question.
 *
 * @throws TokenctlError `configuration` for an address, credential or CA file that cannot be used.
 */
export function openControllerApi(options: ControllerApiOptions): Target {
  return new ControllerApi(new Connection(options), options.context);
}

class ControllerApi implements Target {
  readonly #connection: Connection;
  readonly #context: string;

  constructor(connection: Connection, context: string) {
    this.#connection = connection;
    this.#context = context;
  }

  describe(): Promise<TargetDescription> {
    return describeController(this.#connection, this.#context);
  }

  tokens(selector: Selector): AsyncIterable<Token> {
    return this.#list(tokenQueries(selector), {
      path: '/api/v2/tokens/',
      what: 'the list of tokens',
      read: readToken,
    });
  }

  users(selector: UserSelector = {}): AsyncIterable<User> {
    return this.#list(userQueries(selector), {
      path: '/api/v2/users/',
      what: 'the list of users',
      read: readUser,
    });
  }

  async applications(names?: readonly string[]): Promise<readonly Application[]> {
    const listing = {
      path: '/api/v2/applications/',
      what: 'the list of applications',
      read: readApplication,
    };
    try {
      const found: Application[] = [];
      for await (const application of this.#list(applicationQueries(names), listing)) found.push(application);
      return found;
    } catch (error) {
      // A service without applications has none of these names.
      if (error instanceof TokenctlError && error.code === 'not_found') return [];
      throw error;
    }
  }

  activity(selector: ActivitySelector): AsyncIterable<Activity> {
    return activityOf(this.#connection, selector);
  }

  lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    return lastChangesOf(this.#connection, userIds);
  }

  ownTokenIds(): Promise<readonly number[]> {
    return ownTokenIds(this.#connection);
  }

  revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean } = {},
  ): AsyncIterable<Outcome> {
    if (options.withRefreshTokens === true) return refused(noRefreshTokens());
    return deleteTokens(this.#connection, tokenIds);
  }

  refreshTokens(): AsyncIterable<RefreshToken> {
    return refused(noRefreshTokens());
  }

  revokeRefreshTokens(): AsyncIterable<Outcome> {
    return refused(noRefreshTokens());
  }

  deleteRefreshTokens(): AsyncIterable<Outcome> {
    return refused(noRefreshTokens());
  }

  sessions(): AsyncIterable<Session> {
    return refused(noSessions());
  }

  endSessions(): AsyncIterable<Session> {
    return refused(noSessions());
  }

  staysAlive(facts: { readonly tokensWithRefreshToken: number }): Promise<readonly StaysAlive[]> {
    return staysAlive(facts, () => fetchSettings(this.#connection));
  }

  createToken(request: TokenRequest): Promise<CreatedToken> {
    return createPersonalToken(this.#connection, request);
  }

  identify(values: readonly Secret[]): AsyncIterable<Identified> {
    return identifyByTrying(this.#connection, values);
  }

  setUserActive(userId: number, active: boolean): Promise<boolean> {
    return patchUserActive(this.#connection, userId, active);
  }

  readonly settings = {
    read: (): Promise<AuthenticationSettings> => fetchSettings(this.#connection),
    write: (change: Partial<AuthenticationSettings>): Promise<AuthenticationSettings> =>
      patchSettings(this.#connection, change),
  };

  close(): Promise<void> {
    return this.#connection.close();
  }

  async *#list<Item extends { readonly id: number }>(
    queries: readonly Query[],
    listing: Omit<Listing<Item>, 'query'>,
  ): AsyncIterable<Item> {
    for (const query of queries) yield* pagesOf(this.#connection, { ...listing, query });
  }
}
