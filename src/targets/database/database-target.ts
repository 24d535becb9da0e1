import type { Environment } from '../../db/connection-sources.ts';
import { openPostgres } from '../../db/postgres.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Outcome, StaysAlive } from '../../domain/plan.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Selector } from '../../domain/selector.ts';
import type {
  Activity,
  Application,
  AuthorizationCode,
  PlannedToken,
  RefreshToken,
  Session,
  Token,
  User,
} from '../../domain/token.ts';
import type { AccessChanges } from '../../operations/ports/access-changes.ts';
import type {
  ActivitySelector,
  AuthenticationSettings,
  AuthorizationCodeSelector,
  Contact,
  CreatedToken,
  Identified,
  MissingRight,
  RefreshTokenSelector,
  RevocationFacts,
  SessionSelector,
  Target,
  TargetDescription,
  TokenRequest,
  UserSelector,
} from '../../operations/ports/target.ts';
import { lastChanges, listActivity } from './activity.ts';
import { deleteApplication, readApplication, readApplications, replaceClientSecret } from './applications.ts';
import { deleteAuthorizationCodes, listAuthorizationCodes } from './authorization-codes.ts';
import { Connection, databaseError } from './connection.ts';
import { createPersonalToken } from './create-token.ts';
import { describeDatabase, staysAlive } from './describe.ts';
import { recognizeLayout } from './layout.ts';
import { deleteRefreshTokens, revokeAccessTokens, revokeRefreshTokens } from './revocation.ts';
import { missingRights } from './rights.ts';
import { SessionCache, type SessionCacheOptions } from './session-cache.ts';
import { cacheProblem, endSessions, listSessions, type SessionStore } from './sessions.ts';
import { readSettings, writeSettings } from './settings.ts';
import { identifyByHash, listRefreshTokens, listTokens, listTokensToPlan } from './tokens.ts';
import { listUsers, readContacts, setUserActive } from './users.ts';

/** Which database, and how to reach it. */
export interface DatabaseTargetOptions {
  /** The context's name, for descriptions and the audit log. */
  readonly context: string;
  /** A `postgresql://` URL, or libpq's keywords (`service=NAME`, `host=… dbname=…`). */
  readonly connection: Secret;
  /** Where to look up the PG* variables, services and passwords. By default the environment of the process. */
  readonly environment?: Environment;
  /** Where a platform gateway caches sessions. Without it, sessions are ended in the database only. */
  readonly sessionCache?: SessionCacheOptions | undefined;
  /** How long to retry rows that other transactions lock, in milliseconds. */
  readonly lockRetryMs?: number;
  /** The signal that interrupts, once signals are caught: after it, no answer is awaited for longer than half a second. */
  readonly interruption?: () => AbortSignal | undefined;
}

/** Each concurrent revocation uses a connection. */
const CONNECTIONS = 6;
const STATEMENT_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 3_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;
const LOCK_RETRY_MS = 8_000;

/**
 * Opens the database of a controller, of a platform gateway or of the service as a target. It recognizes which one it is
 * by tables and columns.
 *
 * @throws TokenctlError `configuration` for an invalid connection string, `credentials_refused`, `target_unreachable`,
 * and `unsupported` for a database with other tables.
 */
export async function openDatabaseTarget(options: DatabaseTargetOptions): Promise<Target> {
  const { connection: url, environment, context, lockRetryMs = LOCK_RETRY_MS } = options;
  const cache = options.sessionCache === undefined ? null : new SessionCache(options.sessionCache);
  const database = await openPostgres({
    url,
    ...(environment !== undefined && { environment }),
    connections: CONNECTIONS,
    applicationName: 'tokenctl',
    statementTimeout: STATEMENT_TIMEOUT_MS,
    lockTimeout: LOCK_TIMEOUT_MS,
    idleInTransactionTimeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    // JIT compilation takes longer than these statements.
    settings: { jit: 'off' },
  }).catch((error: unknown) => {
    throw databaseError(error, 'The database');
  });
  try {
    const layout = await recognizeLayout(database, database.address);
    if (cache !== null && layout.layout !== 'gateway') throw cacheWithoutGateway(database.address);
    return new DatabaseTarget(new Connection(database, layout, options.interruption), {
      cache,
      context,
      lockRetryMs,
    });
  } catch (error) {
    await database.close();
    throw databaseError(error, database.address);
  }
}

function cacheWithoutGateway(address: string): TokenctlError {
  return new TokenctlError(
    'configuration',
    `The context has a session cache, but ${address} is not a platform gateway's database`,
    { hint: 'Remove `cache` from the context.' },
  );
}

function deactivateInstead(): TokenctlError {
  return new TokenctlError('unsupported', 'Passwords and roles are not changed in a database', {
    hint: 'Deactivate the user with --deactivate, which ends both.',
  });
}

class DatabaseTarget implements Target {
  readonly #connection: Connection;
  readonly #cache: SessionCache | null;
  #cacheProblem: Promise<string | null> | undefined;
  /** As of the last description. */
  #missingRights: readonly MissingRight[] | undefined;
  readonly #context: string;
  readonly #lockRetryMs: number;

  constructor(
    connection: Connection,
    options: { readonly cache: SessionCache | null; readonly context: string; readonly lockRetryMs: number },
  ) {
    this.#connection = connection;
    this.#cache = options.cache;
    this.#context = options.context;
    this.#lockRetryMs = options.lockRetryMs;
  }

  async describe(): Promise<TargetDescription> {
    const cache = this.#cache;
    const description = await describeDatabase(this.#connection, {
      context: this.#context,
      cache: cache && {
        addresses: cache.addresses,
        problem: (maySeeSessions) => (maySeeSessions ? this.#problemOf(cache) : cache.problem()),
      },
    });
    this.#missingRights = description.missingRights;
    return description;
  }

  tokens(selector: Selector): AsyncIterable<Token> {
    return listTokens(this.#connection, selector);
  }

  tokensToPlan(selector: Selector): AsyncIterable<readonly PlannedToken[]> {
    return listTokensToPlan(this.#connection, selector);
  }

  users(selector: UserSelector = {}): AsyncIterable<User> {
    return listUsers(this.#connection, selector);
  }

  applications(names?: readonly string[]): Promise<readonly Application[]> {
    const { layout } = this.#connection;
    return this.#connection.read((database) => readApplications(database, { layout, names: names ?? null }));
  }

  activity(selector: ActivitySelector): AsyncIterable<Activity> {
    return listActivity(this.#connection, selector);
  }

  contacts(names: readonly string[], organizations: readonly string[]): Promise<readonly Contact[]> {
    return readContacts(this.#connection, { names, organizations });
  }

  lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    return lastChanges(this.#connection, userIds);
  }

  /** A database role does not authenticate with a token. */
  ownTokenIds(): Promise<readonly number[]> {
    return Promise.resolve([]);
  }

  revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<Outcome> {
    return revokeAccessTokens(this.#connection, {
      ids: tokenIds,
      withRefreshTokens: options.withRefreshTokens === true,
      lockRetryMs: this.#lockRetryMs,
      signal: options.signal,
    });
  }

  staysAlive(facts: RevocationFacts): Promise<readonly StaysAlive[]> {
    const { recognized, layout } = this.#connection;
    return staysAlive(
      { ...facts, recognized, context: this.#context },
      {
        settings: () => readSettings(this.#connection),
        missingRights: async () =>
          this.#missingRights ?? (await this.#connection.read((database) => missingRights(database, layout))),
      },
    );
  }

  refreshTokens(selector: RefreshTokenSelector): AsyncIterable<RefreshToken> {
    return listRefreshTokens(this.#connection, selector);
  }

  revokeRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    return revokeRefreshTokens(this.#connection, { ids, lockRetryMs: this.#lockRetryMs });
  }

  deleteRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    return deleteRefreshTokens(this.#connection, { ids, lockRetryMs: this.#lockRetryMs });
  }

  authorizationCodes(selector: AuthorizationCodeSelector): AsyncIterable<AuthorizationCode> {
    return listAuthorizationCodes(this.#connection, selector);
  }

  deleteAuthorizationCodes(ids: readonly number[]): AsyncIterable<Outcome> {
    return deleteAuthorizationCodes(this.#connection, { ids, lockRetryMs: this.#lockRetryMs });
  }

  async *sessions(selector: SessionSelector): AsyncGenerator<Session, void> {
    yield* listSessions(await this.#sessionStore(), selector);
  }

  async *endSessions(selector: SessionSelector): AsyncGenerator<Session, void> {
    yield* endSessions(await this.#sessionStore(), selector, this.#lockRetryMs);
  }

  /** A cache that cannot be used is left out; the description says why. */
  async #sessionStore(): Promise<SessionStore> {
    const isUsable = this.#cache !== null && (await this.#problemOf(this.#cache)) === null;
    return { connection: this.#connection, cache: isUsable ? this.#cache : null };
  }

  #problemOf(cache: SessionCache): Promise<string | null> {
    this.#cacheProblem ??= cacheProblem(this.#connection, cache);
    return this.#cacheProblem;
  }

  createToken(request: TokenRequest): Promise<CreatedToken> {
    return createPersonalToken(this.#connection, request);
  }

  identify(values: readonly Secret[]): AsyncIterable<Identified> {
    return identifyByHash(this.#connection, values);
  }

  setUserActive(userId: number, active: boolean): Promise<boolean> {
    return setUserActive(this.#connection, userId, active);
  }

  readonly settings = {
    read: (): Promise<AuthenticationSettings> => readSettings(this.#connection),
    write: (change: Partial<AuthenticationSettings>): Promise<AuthenticationSettings> =>
      writeSettings(this.#connection, change),
  };

  readonly access: AccessChanges = {
    application: (id) => readApplication(this.#connection, id),
    deleteApplication: (id) => deleteApplication(this.#connection, id),
    replaceClientSecret: (id, controllerKey) => replaceClientSecret(this.#connection, id, controllerKey),
    setPassword: () => Promise.reject(deactivateInstead()),
    acceptsPassword: () => Promise.resolve(false),
    roles: () => Promise.reject(deactivateInstead()),
    setRole: () => Promise.reject(deactivateInstead()),
  };

  close(): Promise<void> {
    this.#cache?.close();
    return this.#connection.database.close();
  }
}
