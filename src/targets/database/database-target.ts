import type { Environment } from '@tokenctl/common/db/connection-sources.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { Rows } from '../../domain/rows.ts';
import type { Selector } from '../../domain/selector.ts';
import type { PlannedToken, Token } from '../../domain/token.ts';
import type {
  CreatedToken,
  Identified,
  MissingRight,
  Target,
  TargetDescription,
  TokenRequest,
} from '../../operations/ports/target.ts';
import type {
  ActivityStream,
  Applications,
  AuthorizationCodes,
  RefreshTokens,
  Sessions,
  Settings,
  TokenEnd,
  Transactions,
  Users,
} from '../../operations/ports/target-parts.ts';
import { lastChanges, listActivity } from './activity.ts';
import { deleteApplication, readApplication, readApplications, replaceClientSecret } from './applications.ts';
import { deleteAuthorizationCodes, listAuthorizationCodes } from './authorization-codes.ts';
import { type Connection, openConnection } from './connection.ts';
import { countTokens } from './counted-tokens.ts';
import { createPersonalToken } from './create-token.ts';
import { describeDatabase, findParts, type PartsWithRights } from './describe.ts';
import { listGroups, readUsersOfGroup } from './groups.ts';
import { readResourceIds } from './resource-ids.ts';
import { deleteRefreshTokens, revokeAccessTokens, revokeRefreshTokens } from './revocation.ts';
import { SessionCache, type SessionCacheOptions } from './session-cache.ts';
import { cacheProblem, endSessions, listSessions, type SessionStore } from './sessions.ts';
import { readSettings, writeSettings } from './settings.ts';
import { setTokenEnds } from './token-ends.ts';
import { identifyByHash, listRefreshTokens, listTokens, listTokensToPlan } from './tokens.ts';
import { openTransactions } from './transactions.ts';
import { identifiedUsers, listIdentities, listUsers, readContacts, setUserActive } from './users.ts';

export interface DatabaseTargetOptions {
  /** The context's name, for descriptions and the audit log. */
  readonly context: string;
  /** A `postgresql://` URL, or libpq's keywords (`service=NAME`, `host=… dbname=…`). */
  readonly connection: Secret;
  /** The source of PG* variables, services and passwords. By default the process's environment. */
  readonly environment?: Environment;
  /** A platform gateway's session cache. Without it, sessions are ended only in the database. */
  readonly sessionCache?: SessionCacheOptions | undefined;
  /** How long to retry rows that other transactions lock, in milliseconds. */
  readonly lockRetryMs?: number;
  /** How long to wait for other transactions to end, in milliseconds. */
  readonly transactionTimeoutMs?: number;
  /** The interrupting signal, once signals are caught. After it, no answer is awaited for longer than half a second. */
  readonly interruption?: (() => AbortSignal | undefined) | undefined;
}

/** Each concurrent revocation uses a connection. */
const CONNECTIONS = 6;
const STATEMENT_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 3_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;
const LOCK_RETRY_MS = 8_000;
const TRANSACTION_TIMEOUT_MS = 30_000;

/**
 * Opens the database of a controller, of a platform gateway or of the service as a target. It detects which
 * one it is by tables and columns.
 * @throws TokenctlError `configuration` for an invalid connection string, `credentials_refused`,
 * `target_unreachable`, and `unsupported` for a database with other tables.
 */
export async function openDatabaseTarget(options: DatabaseTargetOptions): Promise<Target> {
  const { connection: url, environment, context, lockRetryMs = LOCK_RETRY_MS } = options;
  const cache = options.sessionCache === undefined ? null : new SessionCache(options.sessionCache);
  const connection = await openConnection({
    url,
    environment,
    interruption: options.interruption,
    connections: CONNECTIONS,
    applicationName: 'tokenctl',
    statementTimeout: STATEMENT_TIMEOUT_MS,
    lockTimeout: LOCK_TIMEOUT_MS,
    idleInTransactionTimeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  });
  try {
    if (cache !== null && connection.layout !== 'gateway')
      throw new TokenctlError(
        'configuration',
        `The context has a session cache, but ${connection.address} is not a platform gateway's database`,
        { hint: 'Remove `cache` from the context.' },
      );
    const parts = await findParts(connection);
    const { transactionTimeoutMs = TRANSACTION_TIMEOUT_MS } = options;
    return new DatabaseTarget(connection, { cache, context, lockRetryMs, transactionTimeoutMs, parts });
  } catch (error) {
    await connection.database.close();
    throw error;
  }
}

class DatabaseTarget implements Target {
  readonly #connection: Connection;
  readonly #cache: SessionCache | null;
  #cacheProblem: Promise<string | null> | undefined;
  /** From the last description. */
  #missingRights: readonly MissingRight[] | undefined;
  readonly #context: string;
  readonly #lockRetryMs: number;
  readonly refreshTokens?: RefreshTokens;
  readonly authorizationCodes?: AuthorizationCodes;
  readonly sessions?: Sessions;
  readonly transactions: Transactions;

  constructor(
    connection: Connection,
    options: {
      readonly cache: SessionCache | null;
      readonly context: string;
      readonly lockRetryMs: number;
      readonly transactionTimeoutMs: number;
      readonly parts: PartsWithRights;
    },
  ) {
    const { cache, context, lockRetryMs, parts } = options;
    this.#connection = connection;
    this.#cache = cache;
    this.#context = context;
    this.#lockRetryMs = lockRetryMs;
    this.transactions = {
      open: () => openTransactions(connection.reader),
      timeoutMs: options.transactionTimeoutMs,
    };
    if (parts.refreshTokens) {
      this.refreshTokens = {
        list: (selector) => listRefreshTokens(connection, selector),
        revoke: (ids) => revokeRefreshTokens(connection, { ids, lockRetryMs }),
        delete: (ids) => deleteRefreshTokens(connection, { ids, lockRetryMs }),
      };
    }
    if (parts.authorizationCodes) {
      this.authorizationCodes = {
        list: (selector) => listAuthorizationCodes(connection, selector),
        delete: (ids) => deleteAuthorizationCodes(connection, { ids, lockRetryMs }),
      };
    }
    if (parts.sessions) {
      const store = () => this.#sessionStore();
      this.sessions = {
        list: async function* (selector) {
          yield* listSessions(await store(), selector);
        },
        end: async function* (selector) {
          yield* endSessions(await store(), selector, lockRetryMs);
        },
      };
    }
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

  tokens(selector: Selector): Rows<Token> {
    return listTokens(this.#connection, selector);
  }

  tokensToPlan(selector: Selector): Rows<PlannedToken> {
    return listTokensToPlan(this.#connection, selector);
  }

  countTokens(...wanted: Parameters<NonNullable<Target['countTokens']>>): Promise<boolean> {
    return countTokens(this.#connection, ...wanted);
  }

  /** A database role does not authenticate with a token. */
  ownTokenIds(): Promise<readonly number[]> {
    return Promise.resolve([]);
  }

  revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean; readonly signal?: AbortSignal | undefined } = {},
  ): AsyncIterable<Outcome> {
    return revokeAccessTokens(this.#connection, {
      ids: tokenIds,
      withRefreshTokens: options.withRefreshTokens === true,
      lockRetryMs: this.#lockRetryMs,
      signal: options.signal,
    });
  }

  /** An unusable cache is left out; the description says why. */
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

  readonly ends = { set: (ends: readonly TokenEnd[]) => setTokenEnds(this.#connection, ends) };

  readonly identifies = 'by_hash';

  identify(values: readonly Secret[]): AsyncIterable<Identified> {
    return identifyByHash(this.#connection, values);
  }

  readonly users: Users = {
    list: (selector = {}) => listUsers(this.#connection, selector),
    contacts: (names, organizations) => readContacts(this.#connection, { names, organizations }),
    groups: (kind) => listGroups(this.#connection, kind),
    ofGroup: (group) => readUsersOfGroup(this.#connection, group),
    identities: () => listIdentities(this.#connection),
    identified: (by) => identifiedUsers(this.#connection, by),
    setActive: (userId, active, options) => setUserActive(this.#connection, { userId, active, ...options }),
    resourceIds: () => readResourceIds(this.#connection),
  };

  readonly applications: Applications = {
    list: (names) => {
      const { layout } = this.#connection;
      return readApplications(this.#connection.reader, { layout, names: names ?? null });
    },
    find: (id) => readApplication(this.#connection, id),
    delete: (id) => deleteApplication(this.#connection, id),
    replaceSecret: (id, controllerKey) => replaceClientSecret(this.#connection, id, controllerKey),
  };

  readonly activity: ActivityStream = {
    list: (selector) => listActivity(this.#connection, selector),
    lastChanges: (userIds) => lastChanges(this.#connection, userIds),
  };

  readonly settings: Settings = {
    read: () => readSettings(this.#connection),
    write: (change) => writeSettings(this.#connection, change),
  };

  close(): Promise<void> {
    this.#cache?.close();
    return this.#connection.database.close();
  }
}
