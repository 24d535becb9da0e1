import type { Environment } from '../../db/connection-sources.ts';
import { openPostgres } from '../../db/postgres.ts';
import type { Outcome, Reach, StaysAlive } from '../../domain/plan.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Selector } from '../../domain/selector.ts';
import type { Activity, Application, RefreshToken, Session, Token, User } from '../../domain/token.ts';
import type {
  ActivitySelector,
  AuthenticationSettings,
  CreatedToken,
  Identified,
  RefreshTokenSelector,
  SessionSelector,
  Target,
  TargetDescription,
  TokenRequest,
  UserSelector,
} from '../../operations/ports/target.ts';
import { listTokens } from './access-tokens.ts';
import { lastChanges, listActivity } from './activity.ts';
import { Connection } from './connection.ts';
import { createPersonalToken } from './create-token.ts';
import { describeDatabase } from './describe.ts';
import { databaseFailure } from './failures.ts';
import { identifyByHash } from './identify.ts';
import { recogniseLayout } from './layout.ts';
import { readApplications } from './queries/applications.ts';
import { listRefreshTokens } from './refresh-tokens.ts';
import { endRefreshTokens, removeRefreshTokens, revokeAccessTokens } from './revocation.ts';
import { endSessions, listSessions } from './sessions.ts';
import { readSettings, writeSettings } from './settings.ts';
import { staysAlive } from './stays-alive.ts';
import { changeUserActive } from './user-active.ts';
import { listUsers } from './users.ts';

/** Which database, and how to reach it. */
export interface DatabaseTargetOptions {
  /** The context's name, for descriptions and the audit log. */
  readonly context: string;
  /** A `postgresql://` URL, or libpq's keywords (`service=NAME`, `host=… dbname=…`). */
  readonly connection: Secret;
  /** Where the PG* variables, services and passwords are looked up; the process's own where not given. */
  readonly environment?: Environment;
  /** For how long rows that another transaction holds are tried again, in milliseconds. */
  readonly patience?: number;
}

/** Revocations that run at the same time have a connection each. */
const CONNECTIONS = 6;
const STATEMENT_TIMEOUT = 60_000;
const LOCK_TIMEOUT = 3_000;
const IDLE_IN_TRANSACTION_TIMEOUT = 30_000;
const PATIENCE = 8_000;

/**
 * Opens a target by way of the database itself: a controller's or the service's, which it recognises by
 * tables and columns.
 *
 * @throws TokenctlError `configuration` for a connection that cannot be meant, `credentials_refused`,
 * `target_unreachable`, and `unsupported` where the tables are none that it knows.
 */
export async function openDatabaseTarget(options: DatabaseTargetOptions): Promise<Target> {
  const { connection: url, environment, context, patience = PATIENCE } = options;
  const database = await openPostgres({
    url,
    ...(environment !== undefined && { environment }),
    connections: CONNECTIONS,
    applicationName: 'tokenctl',
    statementTimeout: STATEMENT_TIMEOUT,
    lockTimeout: LOCK_TIMEOUT,
    idleInTransactionTimeout: IDLE_IN_TRANSACTION_TIMEOUT,
    // Compiling these statements takes longer than running them.
    settings: { jit: 'off' },
  }).catch((error: unknown) => {
    throw databaseFailure(error, 'The database');
  });
  try {
    const layout = await recogniseLayout(database, database.address);
    return new DatabaseTarget(new Connection(database, layout), context, patience);
  } catch (error) {
    await database.close();
    throw databaseFailure(error, database.address);
  }
}

class DatabaseTarget implements Target {
  readonly #connection: Connection;
  readonly #context: string;
  readonly #patience: number;

  constructor(connection: Connection, context: string, patience: number) {
    this.#connection = connection;
    this.#context = context;
    this.#patience = patience;
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
    return this.#connection.ask('read', (database) =>
      readApplications(database, { layout, names: names ?? null }),
    );
  }

  activity(selector: ActivitySelector): AsyncIterable<Activity> {
    return listActivity(this.#connection, selector);
  }

  lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    return lastChanges(this.#connection, userIds);
  }

  /** A role of the database authenticates with no token. */
  ownTokenIds(): Promise<readonly number[]> {
    return Promise.resolve([]);
  }

  revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean } = {},
  ): AsyncIterable<Outcome> {
    return revokeAccessTokens(this.#connection, {
      ids: tokenIds,
      withRefreshTokens: options.withRefreshTokens === true,
      patience: this.#patience,
    });
  }

  staysAlive(facts: {
    readonly tokensWithRefreshToken: number;
    readonly reach: Reach;
  }): Promise<readonly StaysAlive[]> {
    const { recognised } = this.#connection;
    return staysAlive({ ...facts, recognised }, () => readSettings(this.#connection));
  }

  refreshTokens(selector: RefreshTokenSelector): AsyncIterable<RefreshToken> {
    return listRefreshTokens(this.#connection, selector);
  }

  revokeRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    return endRefreshTokens(this.#connection, { ids, patience: this.#patience });
  }

  deleteRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    return removeRefreshTokens(this.#connection, { ids, patience: this.#patience });
  }

  sessions(selector: SessionSelector): AsyncIterable<Session> {
    return listSessions(this.#connection, selector);
  }

  endSessions(selector: SessionSelector): AsyncIterable<Session> {
    return endSessions(this.#connection, selector, this.#patience);
  }

  createToken(request: TokenRequest): Promise<CreatedToken> {
    return createPersonalToken(this.#connection, request);
  }

  identify(values: readonly Secret[]): AsyncIterable<Identified> {
    return identifyByHash(this.#connection, values);
  }

  setUserActive(userId: number, active: boolean): Promise<boolean> {
    return changeUserActive(this.#connection, userId, active);
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
