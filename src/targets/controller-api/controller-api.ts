import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { z } from 'zod';
import type { Outcome } from '../../domain/plan.ts';
import { Rows } from '../../domain/rows.ts';
import { keptOf, type Selector } from '../../domain/selector.ts';
import type { Token, User } from '../../domain/token.ts';
import { controllerClock, machineClock } from '../../operations/ports/clock.ts';
import type {
  CreatedToken,
  Identified,
  IdentifyOptions,
  Target,
  TargetDescription,
  TokenRequest,
} from '../../operations/ports/target.ts';
import type {
  ActivityStream,
  Applications,
  AuthenticationSettings,
  Passwords,
  Patience,
  Roles,
  Settings,
  UserSelector,
  Users,
} from '../../operations/ports/target-parts.ts';
import { partMissing } from '../../operations/scope/target-parts.ts';
import { describeApi, setUserActive } from './account.ts';
import { Api } from './api.ts';
import { deleteApplication, listApplications, readApplication } from './applications.ts';
import { isAskedForToken, isAskedForUser, onlyAskedFor } from './asked-for.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { controllerDialect } from './controller-dialect.ts';
import { gatewayDialect } from './gateway-dialect.ts';
import { listGroups, readUsersOfGroup } from './groups.ts';
import { identifyBySending } from './identify.ts';
import { ownTokenIds } from './last-use.ts';
import { lastChanges, listActivity, listItems } from './listing.ts';
import { tokenQueries, userQueries } from './queries.ts';
import { notAControllerError, parseJson } from './responses.ts';
import { readSettings, writeSettings } from './settings.ts';
import { createPersonalToken, DeletionLimit, deleteTokens, TOKEN_LISTING } from './tokens.ts';
import {
  acceptsPassword,
  identifiedUsers,
  listIdentities,
  listRoles,
  readContacts,
  setPassword,
  setRole,
} from './users.ts';

/** A part of a platform that stores tokens. */
type Component = 'gateway' | 'controller';

export interface ControllerApiOptions extends ConnectionOptions {
  /** The context's name, for descriptions and the audit log. */
  readonly context: string;
  /** By default the gateway if one responds, otherwise the controller. */
  readonly component?: Component | undefined;
  /** The configured context for the same controller's database, for use in hints. */
  readonly databaseContext?: string | undefined;
}

export interface ControllerApiTarget extends Target {
  /** The components that store tokens; empty without a gateway. At most one request; no valid credential needed. */
  components(): Promise<readonly Component[]>;
  /** The number of unanswered requests. */
  requestsInFlight(): number;
}

/**
 * Opens a target over the REST API of a controller (`/api/v2/`), of a platform gateway (`/api/gateway/v1/`)
 * or of the controller behind a gateway (`/api/controller/v2/`). The first request detects which of them
 * responds; nothing is sent before.
 * @throws TokenctlError `configuration` for an invalid address or credential or an unreadable CA file.
 */
export function openControllerApi(options: ControllerApiOptions): ControllerApiTarget {
  return new ControllerApi(options);
}

class ControllerApi implements ControllerApiTarget {
  readonly #connection: Connection;
  readonly #component: Component | undefined;
  readonly #context: string;
  readonly #databaseContext: string | undefined;
  readonly #limit = new DeletionLimit();
  #recognized: Promise<Api> | null = null;
  #ownTokenIds: readonly number[] | undefined;
  #settingsMissed: TokenctlError | undefined;

  constructor(options: ControllerApiOptions) {
    this.#connection = new Connection(options);
    this.#component = options.component;
    this.#context = options.context;
    this.#databaseContext = options.databaseContext;
  }

  async components(): Promise<readonly Component[]> {
    return (await this.#api()).components ?? [];
  }

  requestsInFlight(): number {
    return this.#connection.requestsInFlight;
  }

  async describe(): Promise<TargetDescription> {
    const description = await describeApi(await this.#api(), this.#context);
    const databaseContext = this.#databaseContext;
    const clock = this.#connection.clock.difference;
    return { ...description, databaseContext, clock };
  }

  tokens(selector: Selector): Rows<Token> {
    const isAskedFor = isAskedForToken(selector);
    const { what } = TOKEN_LISTING;
    let listed: Rows<Token> | undefined;
    return new Rows(async () => {
      const api = await this.#api();
      listed ??= listItems(api, tokenQueries(selector), TOKEN_LISTING)
        .map(onlyAskedFor({ from: api, what, isAskedFor }))
        .map((page) => keptOf(page, selector));
      return await listed.next();
    });
  }

  /**
   * A single token is searched only once: the search takes seconds, and the credential stays the same. If the
   * user's other tokens are in constant use, every search finds it among several.
   */
  async ownTokenIds(): Promise<readonly number[]> {
    const before = this.#ownTokenIds;
    if (before?.length === 1) return before;
    const ids = await ownTokenIds(await this.#api());
    const again = ids.filter((id) => before?.includes(id));
    this.#ownTokenIds = again.length > 0 ? again : ids;
    return this.#ownTokenIds;
  }

  revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean; readonly signal?: AbortSignal | undefined } = {},
  ): AsyncIterable<Outcome> {
    if (options.withRefreshTokens === true) return failingStream(partMissing(this, 'refreshTokens'));
    const { signal } = options;
    return this.#stream((api) => deleteTokens(api, tokenIds, { limit: this.#limit, signal }));
  }

  async createToken(request: TokenRequest): Promise<CreatedToken> {
    const api = await this.#api();
    const now = () => controllerClock(machineClock, { clock: this.#connection.clock.difference }).now();
    return await createPersonalToken(api, { ...request, now });
  }

  readonly identifies = 'by_trying';

  identify(values: readonly Secret[], options?: IdentifyOptions): AsyncIterable<Identified> {
    return this.#stream((api) => identifyBySending(api, values, options));
  }

  readonly users: Users = {
    list: (selector = {}) => this.#stream((api) => listUsers(api, selector)),
    contacts: async (names, organizations) => await readContacts(await this.#api(), { names, organizations }),
    groups: async (kind) => await listGroups(await this.#api(), kind),
    ofGroup: async (group) => await readUsersOfGroup(await this.#api(), group),
    identities: () => this.#stream((api) => listIdentities(api)),
    identified: async (by) => await identifiedUsers(await this.#api(), by),
    setActive: async (userId, active) => await setUserActive(await this.#api(), userId, active),
  };

  /**
   * No client secret can be replaced: a controller 24.6.1 answers such a change with 200 and keeps the old
   * secret, which stays valid; a gateway's API also lists the secret as read-only [seen].
   */
  readonly applications: Applications = {
    list: async (names) => await listApplications(await this.#api(), names),
    find: async (id) => await readApplication(await this.#api(), id),
    delete: async (id) => await deleteApplication(await this.#api(), id),
  };

  readonly activity: ActivityStream = {
    list: (selector) => this.#stream((api) => listActivity(api, selector)),
    lastChanges: async (userIds) => await lastChanges(await this.#api(), userIds),
  };

  readonly settings: Settings = {
    read: (patience) => this.#readSettings(patience),
    write: async (change) => await writeSettings(await this.#api(), change),
  };

  readonly passwords: Passwords = {
    set: async (userId, password) => await setPassword(await this.#api(), userId, password),
    accepts: async (user, password) => await acceptsPassword(await this.#api(), user, password),
  };

  readonly roles: Roles = {
    list: async (userId) => await listRoles(await this.#api(), userId),
    set: async (userId, role, held) => await setRole(await this.#api(), { userId, role, held }),
  };

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** The API that responds, detected once, and again after a failure. */
  #api(): Promise<Api> {
    this.#recognized ??= recognizeApi(this.#connection, this.#component).catch((error: unknown) => {
      this.#recognized = null;
      throw error;
    });
    return this.#recognized;
  }

  /** Remarks query the settings only once: a proxy that swallows the request would delay each step of a revocation. */
  async #readSettings(patience?: Patience): Promise<AuthenticationSettings> {
    if (patience !== undefined && this.#settingsMissed !== undefined) throw this.#settingsMissed;
    try {
      return await readSettings(await this.#api(), patience);
    } catch (error) {
      if (error instanceof TokenctlError && error.code === 'target_unreachable') this.#settingsMissed = error;
      throw error;
    }
  }

  async *#stream<Item>(open: (api: Api) => AsyncIterable<Item>): AsyncIterable<Item> {
    yield* open(await this.#api());
  }
}

const COMPONENTS: readonly Component[] = ['gateway', 'controller'];

const apiRoot = z.object({
  current_version: z.string().optional(),
  apis: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Detects what responds: a standalone controller, or the gateway of a platform, which forwards requests to
 * its controller. `/api/` shows either a controller's own version or the list of a platform's APIs.
 * @param component By default the gateway if one responds, otherwise the controller.
 * @throws TokenctlError `unsupported` if there is no such component, `target_misbehaved` if neither responds,
 * and as requests do.
 */
async function recognizeApi(connection: Connection, component?: Component): Promise<Api> {
  const what = 'the list of its APIs';
  const response = await connection.send({ method: 'GET', path: '/api/' });
  if (response.status === 404) throw notAControllerError(connection, what);
  const { data } = apiRoot.safeParse(parseJson(response, connection, what));
  if (data?.apis !== undefined) return platformApi(connection, Object.keys(data.apis), component);
  if (data?.current_version === undefined) {
    throw new TokenctlError(
      'target_misbehaved',
      `${connection.address} does not respond like a controller or gateway`,
      { hint: "Check the address's host, port and path." },
    );
  }
  if (component === 'gateway') throw missingComponentError(connection, component);
  return new Api({ connection, dialect: controllerDialect, prefix: '', root: '/api/v2/' });
}

/** A connection whose first request detects what responds. Sends nothing before. Throws `configuration`. */
export function openApi(options: ConnectionOptions, component?: Component) {
  const connection = new Connection(options);
  let recognized: Promise<Api> | undefined;
  const open = () => {
    recognized ??= recognizeApi(connection, component);
    return recognized;
  };
  return { open, close: () => connection.close() };
}

function platformApi(connection: Connection, apis: readonly string[], component?: Component): Api {
  const components = COMPONENTS.filter((name) => apis.includes(name));
  const wanted = component ?? components[0] ?? 'gateway';
  if (!components.includes(wanted)) throw missingComponentError(connection, wanted);
  const gateway = new Api({
    connection,
    components,
    dialect: gatewayDialect,
    prefix: '',
    root: '/api/gateway/v1/',
  });
  if (wanted === 'gateway') return gateway;
  return new Api({
    connection,
    components,
    dialect: controllerDialect,
    prefix: '/api/controller',
    root: '/api/controller/v2/',
    ...(components.includes('gateway') && { gateway }),
  });
}

function missingComponentError({ address }: Connection, component: Component): TokenctlError {
  return new TokenctlError('unsupported', `There is no ${component} at ${address}`, {
    hint:
      component === 'gateway'
        ? 'Check the address, or do not select the gateway.'
        : 'The platform gateway lists no controller there, so only the gateway has tokens.',
  });
}

function failingStream(error: TokenctlError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

async function* listUsers(api: Api, selector: UserSelector): AsyncIterable<User> {
  const read = await api.dialect.createUserReader(api);
  const what = 'the list of users';
  const listed = listItems(api, userQueries(selector), { path: 'users/', what, read });
  yield* listed.map(onlyAskedFor<User>({ from: api, what, isAskedFor: isAskedForUser(selector) }));
}
