import { TokenctlError } from '../../domain/errors.ts';
import type { Outcome, StaysAlive } from '../../domain/plan.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Selector } from '../../domain/selector.ts';
import type { Activity, Application, RefreshToken, Session, Token, User } from '../../domain/token.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';
import type { CreatedToken, Identified, Target, TokenRequest } from '../../operations/ports/target.ts';
import type { TargetDescription } from '../../operations/ports/target-description.ts';
import type { ActivitySelector, UserSelector } from '../../operations/ports/target-selectors.ts';
import { activityOf, lastChangesOf } from './activity.ts';
import type { Api } from './api.ts';
import { readApplication } from './application-body.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { createPersonalToken } from './create-token.ts';
import { describeApi } from './describe.ts';
import { identifyByTrying } from './identify.ts';
import { noRefreshTokens, noSessions, refused } from './not-over-rest.ts';
import { ownTokenIds } from './own-tokens.ts';
import { listed } from './pages.ts';
import { applicationQueries, tokenQueries, userQueries } from './query.ts';
import { type Component, recognize } from './recognize.ts';
import { deleteTokens } from './revocation.ts';
import { changeSettings, fetchSettings } from './settings.ts';
import { staysAlive } from './stays-alive.ts';
import { readToken } from './token-body.ts';
import { patchUserActive } from './user-active.ts';

/** Which controller or gateway, and how to reach it. */
export interface ControllerApiOptions extends ConnectionOptions {
  /** The context's name, for descriptions and the audit log. */
  readonly context: string;
  /** Which component of a platform: its gateway where one answers, unless the controller behind it is meant. */
  readonly component?: Component;
}

/** A target over a REST API. */
export interface ControllerApiTarget extends Target {
  /**
   * The components of the platform that keep tokens; none where no gateway answers. Takes one request at most, and
   * no credential that is accepted.
   */
  components(): Promise<readonly Component[]>;
}

/**
 * Opens a target over the REST API of a controller (`/api/v2/`), of a platform's gateway (`/api/gateway/v1/`) or
 * of the controller behind that (`/api/controller/v2/`). Nothing is sent before the first question; then it finds
 * out first which of them answers.
 *
 * @throws TokenctlError `configuration` for an address, credential or CA file that cannot be used.
 */
export function openControllerApi(options: ControllerApiOptions): ControllerApiTarget {
  return new ControllerApi(options);
}

class ControllerApi implements ControllerApiTarget {
  readonly #connection: Connection;
  readonly #component: Component | undefined;
  readonly #context: string;
  #recognized: Promise<Api> | null = null;

  constructor(options: ControllerApiOptions) {
    this.#connection = new Connection(options);
    this.#component = options.component;
    this.#context = options.context;
  }

  async components(): Promise<readonly Component[]> {
    return (await this.#api()).components ?? [];
  }

  async describe(): Promise<TargetDescription> {
    return await describeApi(await this.#api(), this.#context);
  }

  tokens(selector: Selector): AsyncIterable<Token> {
    const listing = { path: 'tokens/', what: 'the list of tokens', read: readToken };
    return this.#stream((api) => listed(api, tokenQueries(selector), listing));
  }

  async *users(selector: UserSelector = {}): AsyncIterable<User> {
    const api = await this.#api();
    const read = await api.dialect.userReader(api);
    yield* listed(api, userQueries(selector), { path: 'users/', what: 'the list of users', read });
  }

  async applications(names?: readonly string[]): Promise<readonly Application[]> {
    const api = await this.#api();
    const listing = { path: 'applications/', what: 'the list of applications', read: readApplication };
    try {
      const found: Application[] = [];
      for await (const application of listed(api, applicationQueries(names), listing))
        found.push(application);
      return found;
    } catch (error) {
      // A service without applications has none of these names.
      if (error instanceof TokenctlError && error.code === 'not_found') return [];
      throw error;
    }
  }

  activity(selector: ActivitySelector): AsyncIterable<Activity> {
    return this.#stream((api) => activityOf(api, selector));
  }

  async lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    return await lastChangesOf(await this.#api(), userIds);
  }

  async ownTokenIds(): Promise<readonly number[]> {
    return await ownTokenIds(await this.#api());
  }

  revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean } = {},
  ): AsyncIterable<Outcome> {
    if (options.withRefreshTokens === true) return this.#noRefreshTokens();
    return this.#stream((api) => deleteTokens(api, tokenIds));
  }

  refreshTokens(): AsyncIterable<RefreshToken> {
    return this.#noRefreshTokens();
  }

  revokeRefreshTokens(): AsyncIterable<Outcome> {
    return this.#noRefreshTokens();
  }

  deleteRefreshTokens(): AsyncIterable<Outcome> {
    return this.#noRefreshTokens();
  }

  sessions(): AsyncIterable<Session> {
    return this.#stream(({ dialect }) => refused(noSessions(dialect.name)));
  }

  endSessions(): AsyncIterable<Session> {
    return this.sessions();
  }

  async staysAlive(facts: { readonly tokensWithRefreshToken: number }): Promise<readonly StaysAlive[]> {
    const api = await this.#api();
    return await staysAlive({ ...facts, dialect: api.dialect.name }, () => fetchSettings(api));
  }

  async createToken(request: TokenRequest): Promise<CreatedToken> {
    return await createPersonalToken(await this.#api(), request);
  }

  identify(values: readonly Secret[]): AsyncIterable<Identified> {
    return this.#stream((api) => identifyByTrying(api, values));
  }

  async setUserActive(userId: number, active: boolean): Promise<boolean> {
    return await patchUserActive(await this.#api(), userId, active);
  }

  readonly settings = {
    read: async (): Promise<AuthenticationSettings> => await fetchSettings(await this.#api()),
    write: async (change: Partial<AuthenticationSettings>): Promise<AuthenticationSettings> =>
      await changeSettings(await this.#api(), change),
  };

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Who answers there, asked for once; again where that failed. */
  #api(): Promise<Api> {
    this.#recognized ??= recognize(this.#connection, this.#component).catch((error: unknown) => {
      this.#recognized = null;
      throw error;
    });
    return this.#recognized;
  }

  async *#stream<Item>(of: (api: Api) => AsyncIterable<Item>): AsyncIterable<Item> {
    yield* of(await this.#api());
  }

  #noRefreshTokens(): AsyncIterable<never> {
    return this.#stream(({ dialect }) => refused(noRefreshTokens(dialect.name)));
  }
}
