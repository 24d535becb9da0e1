import type { Environment } from '../../db/connection-sources.ts';
import { openPostgres } from '../../db/postgres.ts';
import type { Outcome, StaysAlive } from '../../domain/plan.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Selector } from '../../domain/selector.ts';
import type {
  Activity,
  Application,
  AuthorizationCode,
  RefreshToken,
  Session,
  Token,
  User,
} from '../../domain/token.ts';
import type {
  ActivitySelector,
  AuthenticationSettings,
  AuthorizationCodeSelector,
  CreatedToken,
  Identified,
  RefreshTokenSelector,
  RevocationFacts,
  SessionSelector,
  Target,
  TargetDescription,
  TokenRequest,
  UserSelector,
} from '../../operations/ports/target.ts';
import { lastChanges, listActivity } from './activity.ts';
import { deleteAuthorizationCodes, listAuthorizationCodes } from './authorization-codes.ts';
import { Connection, databaseError } from './connection.ts';
import { createPersonalToken } from './create-token.ts';
import { describeDatabase, staysAlive } from './describe.ts';
import { recognizeLayout } from './layout.ts';
import { readApplications } from './references.ts';
import { deleteRefreshTokens, revokeAccessTokens, revokeRefreshTokens } from './revocation.ts';
import { endSessions, listSessions } from './sessions.ts';
import { readSettings, writeSettings } from './settings.ts';
import { identifyByHash, listRefreshTokens, listTokens } from './tokens.ts';
import { listUsers, setUserActive } from './users.ts';

/** Which database, and how to reach it. */
export interface DatabaseTargetOptions {
  /** The context's name, for descriptions and the audit log. */
  readonly context: string;
  /** A `postgresql://` URL, or libpq's keywords (`service=NAME`, `host=… dbname=…`). */
  readonly connection: Secret;
  /** Where to look up the PG* variables, services and passwords. By default the environment of the process. */
  readonly environment?: Environment;
  /** How long to retry rows that other transactions lock, in milliseconds. */
  readonly lockRetryMs?: number;
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
    return new DatabaseTarget(new Connection(database, layout), context, lockRetryMs);
  } catch (error) {
    await database.close();
    throw databaseError(error, database.address);
  }
}

class DatabaseTarget implements Target {
  readonly #connection: Connection;
  readonly #context: string;
  readonly #lockRetryMs: number;

  constructor(connection: Connection, context: string, lockRetryMs: number) {
    this.#connection = connection;
    this.#context = context;
    this.#lockRetryMs = lockRetryMs;
  }

  describe(): Promise<TargetDescription> {
    return describeDatabase(this.#connection, this.#context);
  }

  tokens(selector: Selector): AsyncIterable<Token> {
    return listTokens(this.#connection, selector);
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
    const { recognized } = this.#connection;
    return staysAlive({ ...facts, recognized, context: this.#context }, () => readSettings(this.#connection));
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

  sessions(selector: SessionSelector): AsyncIterable<Session> {
    return listSessions(this.#connection, selector);
  }

  endSessions(selector: SessionSelector): AsyncIterable<Session> {
    return endSessions(this.#connection, selector, this.#lockRetryMs);
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

  close(): Promise<void> {
    return this.#connection.database.close();
  }
}
