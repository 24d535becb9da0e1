import { createHash } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { Group } from '../../src/domain/groups.ts';
import type { Outcome } from '../../src/domain/plan.ts';
import { Rows } from '../../src/domain/rows.ts';
import type { Selector } from '../../src/domain/selector.ts';
import type {
  Activity,
  Application,
  AuthorizationCode,
  Token,
  User,
  UserReference,
} from '../../src/domain/token.ts';
import type {
  CreatedToken,
  Identified,
  Target,
  TargetDescription,
  TokenRequest,
} from '../../src/operations/ports/target.ts';
import type {
  ActivitySelector,
  ActivityStream,
  Applications,
  AuthenticationSettings,
  AuthorizationCodeSelector,
  AuthorizationCodes,
  Contact,
  Passwords,
  RefreshTokens,
  Roles,
  Sessions,
  TokenLifetimes,
  UserIdentities,
  UserSelector,
  Users,
} from '../../src/operations/ports/target-parts.ts';
import { type OptionalPart, partOf } from '../../src/operations/scope/target-parts.ts';
import { MemoryAccess } from './memory-access.ts';
import { MemoryRefreshTokens } from './memory-refresh-tokens.ts';
import { ACCESS_TOKEN, isMeantActivity, isMeantCode, isMeantToken } from './memory-selectors.ts';
import { MemorySessions } from './memory-sessions.ts';
import { token } from './tokens.ts';

/** The settings of a controller as it is installed. */
export const installed: AuthenticationSettings & { readonly OAUTH2_PROVIDER: TokenLifetimes } = {
  AUTH_BASIC_ENABLED: true,
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  SESSION_COOKIE_AGE: 1800,
  SESSIONS_PER_USER: -1,
  MAX_EXTRA_SESSIONS_PER_USER: null,
  DISABLE_LOCAL_AUTH: false,
  OAUTH2_PROVIDER: {
    ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
    REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  },
  LOGIN_REDIRECT_OVERRIDE: '',
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: false,
};

/**
 * A target that is a map: what operations are tried on, with a place to make each question fail. It is held
 * to the contract of all targets (`test/unit/targets/contract`), as a REST API or as a database, by its
 * description.
 */
export class MemoryTarget implements Target {
  readonly alive = new Map<number, Token>();
  readonly people: User[] = [user(1, 'admin'), user(2, 'alice'), user(3, 'bob')];
  readonly programs: Application[] = [];
  readonly stream: Activity[] = [];
  readonly refresh = new MemoryRefreshTokens();
  readonly logins = new MemorySessions();
  readonly codes = new Map<number, AuthorizationCode>();
  readonly access = new MemoryAccess(this);
  /** Its organizations and teams, with the names of their users. */
  readonly circles: (Group & { readonly users: readonly string[] })[] = [];
  /** Its clock. */
  now = () => new Date('2026-11-20T10:00:00Z');
  /** What it says of itself. */
  self: TargetDescription = description();
  /** Its own tokens. Once the last of them is gone, a target that authenticates with a token is refused. */
  own: number[] = [];
  values: AuthenticationSettings = installed;
  /** Called before each revocation; what it throws ends the batch, what it returns is the outcome. */
  onRevoke: (tokenId: number) => Outcome['result'] | undefined | Promise<undefined> = () => undefined;
  /** Criteria that are refused, as by a service that does not know the filter. */
  refused: readonly string[] = [];
  /** Whether what is written to the settings is lost. */
  forgetful = false;
  /** Whether it tells of each user whether active; it can be asked for those that are not in any case. */
  tellsActive = true;
  /** Token values by what they are. */
  readonly secrets = new Map<string, Pick<Identified, 'kind' | 'ids'>>();
  #lastId = 99;
  /** Called before each user is activated or deactivated; what it throws keeps the user as it is. */
  onUser: (userId: number) => void = () => undefined;
  /** Called before settings are written; what it throws keeps them as they are. */
  onSettings: (change: Partial<AuthenticationSettings>) => void = () => undefined;

  constructor(tokens = 0) {
    for (let id = 1; id <= tokens; id += 1) this.alive.set(id, token({ id }));
  }

  async describe(): Promise<TargetDescription> {
    await this.#authenticate();
    return this.self;
  }

  /** A page for each token: readers must not depend on how many a page has. */
  tokens(selector: Selector): Rows<Token> {
    return Rows.of(this.#tokens(selector));
  }

  async *#tokens(selector: Selector): AsyncIterable<Token> {
    await this.#authenticate();
    this.#refuse(selector);
    for (const each of sortedById(this.alive.values()))
      if (isMeantToken(each, selector)) {
        yield await Promise.resolve(
          this.self.capabilities.lastUsed ? each : { ...each, lastUsed: undefined },
        );
      }
  }

  /** How identity providers know the users, ascending by id. */
  identities: readonly UserIdentities[] = [];

  /** The addresses and organizations of users, by name. */
  addresses: ReadonlyMap<
    string,
    { readonly email: string | null; readonly organizations: readonly string[] }
  > = new Map();

  async ownTokenIds(): Promise<readonly number[]> {
    await this.#authenticate();
    return this.own;
  }

  async *revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean } = {},
  ): AsyncIterable<Outcome> {
    await this.#authenticate();
    const { withRefreshTokens = false } = options;
    if (withRefreshTokens) partOf(this, 'refreshTokens');
    for (const tokenId of tokenIds) {
      const forced = await this.onRevoke(tokenId);
      if (forced !== undefined) yield { tokenId, result: forced, reason: 'as told' };
      else yield this.#revoked(tokenId, withRefreshTokens);
    }
  }

  /** Parts that it lacks although its kind of target has them. */
  lacks: readonly OptionalPart[] = [];

  /** A database lists what a REST API does not, and the other way round. */
  #part<Part>(name: OptionalPart, part: Part): Part | undefined {
    const ofDatabase = name !== 'passwords' && name !== 'roles';
    return ofDatabase === this.#isDatabase && !this.lacks.includes(name) ? part : undefined;
  }

  readonly #refreshTokens: RefreshTokens = {
    list: (selector) => this.refresh.list(selector),
    revoke: (ids) => this.#revokeRefreshTokens(ids),
    delete: (ids) => this.#deleteRefreshTokens(ids),
  };

  get refreshTokens(): RefreshTokens | undefined {
    return this.#part('refreshTokens', this.#refreshTokens);
  }

  readonly #authorizationCodes: AuthorizationCodes = {
    list: (selector) => this.#listCodes(selector),
    delete: (ids) => this.#deleteCodes(ids),
  };

  get authorizationCodes(): AuthorizationCodes | undefined {
    return this.#part('authorizationCodes', this.#authorizationCodes);
  }

  readonly #sessions: Sessions = {
    list: (selector) => this.logins.list(selector),
    end: (selector) => this.logins.end(selector),
  };

  get sessions(): Sessions | undefined {
    return this.#part('sessions', this.#sessions);
  }

  get passwords(): Passwords | undefined {
    return this.#part('passwords', this.access.ofPasswords);
  }

  get roles(): Roles | undefined {
    return this.#part('roles', this.access.ofRoles);
  }

  get identifies(): Target['identifies'] {
    return this.#isDatabase ? 'by_hash' : 'by_trying';
  }

  users: Users = {
    list: (selector = {}) => this.#users(selector),
    contacts: (names, organizations) => this.#contacts(names, organizations),
    groups: async (kind) => {
      await this.#authenticate();
      return this.circles.filter((each) => each.kind === kind);
    },
    ofGroup: async ({ kind, id }) => {
      await this.#authenticate();
      const of = this.circles.find((each) => each.kind === kind && each.id === id)?.users ?? [];
      return this.people.filter(({ username }) => of.includes(username));
    },
    identities: () => this.#identities(),
    identified: async () => null,
    setActive: (userId, active) => this.#setActive(userId, active),
  };

  readonly applications: Applications = {
    list: async (names) => {
      await this.#authenticate();
      return this.programs.filter(({ name }) => names?.includes(name) ?? true);
    },
    find: (id) => this.access.application(id),
    delete: (id) => this.access.deleteApplication(id),
    replaceSecret: (id) => this.access.replaceClientSecret(id),
  };

  activity: ActivityStream = {
    list: (selector) => this.#activity(selector),
    lastChanges: (userIds) => this.#changesOf(userIds),
  };

  async createToken(request: TokenRequest): Promise<CreatedToken> {
    await this.#authenticate();
    const { identity } = this.self;
    const username = request.user ?? (this.#isDatabase ? undefined : identity.username);
    if (username === undefined) throw new TokenctlError('unsupported', 'A database role cannot own a token');
    if (!this.#isDatabase && username !== identity.username) {
      throw new TokenctlError('unsupported', `Only ${username} can create a token for ${username}`);
    }
    const owner = this.people.find((each) => each.username === username);
    if (owner === undefined) throw new TokenctlError('not_found', `No user named ${username}`);
    if (owner.externalAccount !== null && !this.values.ALLOW_OAUTH2_FOR_EXTERNAL_USERS) {
      throw new TokenctlError('permission_refused', 'External users may not have tokens here');
    }
    return this.#created({ id: owner.id, username }, request);
  }

  /** Called before ends are set; what it throws keeps them as they are. */
  onEnds: () => void = () => undefined;

  get ends(): Target['ends'] {
    if (!this.#isDatabase) return undefined;
    return {
      set: async (ends) => {
        this.onEnds();
        return ends.flatMap(({ id, from, to }) => {
          const found = this.alive.get(id);
          const isKnown = [...from, to].some((each) => each.getTime() === found?.expires.getTime());
          if (found === undefined || !isKnown) return [];
          this.alive.set(id, { ...found, expires: to });
          return [id];
        });
      },
    };
  }

  async *identify(values: readonly Secret[]): AsyncIterable<Identified> {
    await this.#authenticate();
    for (const [index, value] of values.entries()) {
      const secret = this.secrets.get(value.reveal());
      const found = secret && this.#behind(secret);
      if (secret && found) {
        yield { index, ...secret, ...found, fingerprint: fingerprintOf(value.reveal()), usedAt: null };
      }
    }
  }

  readonly settings = {
    read: async () => {
      await this.#authenticate();
      const { credential, identity } = this.self;
      const { isSuperuser, isSystemAuditor } = identity;
      if (credential === 'database_role' || isSuperuser || isSystemAuditor) return this.values;
      throw new TokenctlError('permission_refused', 'This account may not read the settings');
    },
    write: async (change: Partial<AuthenticationSettings>) => {
      this.onSettings(change);
      if (!this.forgetful) this.values = { ...this.values, ...change };
      return await Promise.resolve(this.values);
    },
  };

  async *#users(selector: UserSelector): AsyncIterable<User> {
    await this.#authenticate();
    this.#refuse(selector);
    for (const each of sortedById(this.people)) {
      const named =
        (selector.names?.includes(each.username) ?? true) && (selector.ids?.includes(each.id) ?? true);
      if (!named || (selector.inactive && each.isActive)) continue;
      yield await Promise.resolve(this.tellsActive ? each : { ...each, isActive: null });
    }
  }

  async *#activity(selector: ActivitySelector): AsyncIterable<Activity> {
    await this.#authenticate();
    this.#refuse(selector);
    for (const each of this.stream) if (isMeantActivity(each, selector)) yield await Promise.resolve(each);
  }

  async *#identities(): AsyncGenerator<UserIdentities> {
    await this.#authenticate();
    yield* this.identities;
  }

  async #contacts(names: readonly string[], organizations: readonly string[]): Promise<readonly Contact[]> {
    await this.#authenticate();
    return names.flatMap((username) => {
      const known = this.addresses.get(username);
      if (known === undefined) return [];
      const of = organizations.filter((name) => known.organizations.includes(name));
      return [{ id: names.indexOf(username) + 1, username, email: known.email, organizations: of }];
    });
  }

  async #changesOf(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    await this.#authenticate();
    const found = new Map<number, Date>();
    for (const { actor, at } of this.stream) {
      if (actor === null || !userIds.includes(actor.id)) continue;
      if (at > (found.get(actor.id) ?? new Date(0))) found.set(actor.id, at);
    }
    return found;
  }

  #setActive(userId: number, active: boolean): Promise<boolean> {
    const place = this.people.findIndex(({ id }) => id === userId);
    const found = this.people[place];
    if (found === undefined) return Promise.reject(new TokenctlError('not_found', 'There is no such user'));
    try {
      if (!this.self.capabilities.deactivateUsers) {
        throw new TokenctlError('unsupported', 'Users are not deactivated here');
      }
      this.onUser(userId);
    } catch (error) {
      return Promise.reject(error);
    }
    if (found.isActive === active) return Promise.resolve(false);
    this.people[place] = { ...found, isActive: active };
    this.#record('update', 'user', { is_active: [!active, active] });
    return Promise.resolve(true);
  }

  async *#revokeRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    for (const tokenId of ids) {
      const forced = await Promise.resolve(this.refresh.onChange(tokenId));
      const row = this.refresh.rows.get(tokenId);
      if (forced !== undefined) yield { tokenId, result: forced, reason: 'as told' };
      else if (row?.revoked !== null) yield { tokenId, result: 'unchanged' };
      else {
        this.refresh.revoke(row, this.now());
        if (row.accessTokenId !== null) this.#delete(row.accessTokenId);
        yield { tokenId, result: 'revoked', fingerprint: row.fingerprint ?? undefined };
      }
    }
  }

  async *#deleteRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    for (const id of ids) {
      const beside = this.alive.get(this.refresh.rows.get(id)?.accessTokenId ?? 0);
      yield* this.refresh.delete([id]);
      if (beside && !this.refresh.rows.has(id)) {
        this.alive.set(beside.id, { ...beside, hasRefreshToken: false });
      }
    }
  }

  async *#listCodes(selector: AuthorizationCodeSelector): AsyncIterable<AuthorizationCode> {
    for (const each of sortedById(this.codes.values())) {
      if (isMeantCode(each, selector, this.now())) yield await Promise.resolve(each);
    }
  }

  async *#deleteCodes(ids: readonly number[]): AsyncIterable<Outcome> {
    for (const tokenId of ids) {
      yield await Promise.resolve({ tokenId, result: this.codes.delete(tokenId) ? 'revoked' : 'unchanged' });
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get #isDatabase(): boolean {
    return this.self.credential === 'database_role';
  }

  /** An id that nothing has yet. */
  nextId(): number {
    this.#lastId = Math.max(this.#lastId, ...this.alive.keys(), ...this.refresh.rows.keys()) + 1;
    return this.#lastId;
  }

  #authenticate(): Promise<void> {
    const credential = this.self.credential === 'token' ? this.own.at(-1) : undefined;
    if (credential === undefined || this.alive.has(credential)) return Promise.resolve();
    return Promise.reject(new TokenctlError('credentials_refused', 'The token is refused'));
  }

  #created(user: UserReference, { scope, description, lifetime = 31_536_000 }: TokenRequest): CreatedToken {
    const id = this.nextId();
    const value = `secret-value-${id}`;
    const created = this.now();
    const made: Token = {
      id,
      user,
      scope,
      description,
      created,
      application: null,
      expires: new Date(created.getTime() + lifetime * 1000),
      lastUsed: this.self.capabilities.lastUsed ? null : undefined,
      hasRefreshToken: false,
      fingerprint: fingerprintOf(value),
    };
    this.alive.set(id, { ...made, lastUsed: null });
    this.secrets.set(value, { kind: 'access_token', ids: [id] });
    this.#record('create', ACCESS_TOKEN, { id, user: user.username, scope, description });
    return { token: made, value: new Secret(value) };
  }

  /** Whether a value is live, and whose it is; undefined where nothing is known of it any more. */
  #behind({ kind, ids }: Pick<Identified, 'kind' | 'ids'>): Pick<Identified, 'live' | 'user'> | undefined {
    const [id = 0] = ids;
    if (kind === 'access_token') {
      const found = this.alive.get(id);
      return found && { live: found.expires > this.now(), user: found.user };
    }
    const row = this.#isDatabase ? this.refresh.rows.get(id) : undefined;
    return row && { live: row.revoked === null, user: row.user };
  }

  #revoked(tokenId: number, withRefreshTokens: boolean): Outcome {
    const row = this.refresh.beside(tokenId);
    const fingerprint = this.alive.get(tokenId)?.fingerprint ?? undefined;
    if (!this.#delete(tokenId)) return { tokenId, result: 'unchanged' };
    if (row === undefined) return { tokenId, result: 'revoked', fingerprint };
    if (!withRefreshTokens) {
      this.refresh.rows.set(row.id, { ...row, accessTokenId: null });
      return { tokenId, result: 'revoked', fingerprint };
    }
    this.refresh.revoke(row, this.now());
    const along = { id: row.id, fingerprint: row.fingerprint ?? '' };
    return { tokenId, result: 'revoked', fingerprint, refreshToken: along };
  }

  #delete(tokenId: number): boolean {
    if (!this.alive.delete(tokenId)) return false;
    this.#record('delete', ACCESS_TOKEN, { id: tokenId });
    return true;
  }

  /** Adds to the activity stream. A role of a database is no user. */
  #record(operation: string, object: string, changes: Activity['changes']): void {
    const { id, username } = this.self.identity;
    const actor = id === null ? null : { id, username };
    const last = Math.max(0, ...this.stream.map((each) => each.id));
    this.stream.push({ id: last + 1, at: this.now(), operation, actor, object, changes });
  }

  #refuse(criteria: object): void {
    const refused = Object.keys(criteria).find((name) => this.refused.includes(name));
    if (refused !== undefined) throw new TokenctlError('unsupported', `There is no filter for ${refused}`);
  }
}

/** The fingerprint of a token's value. */
export function fingerprintOf(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 12);
}

function sortedById<Item extends { readonly id: number }>(items: Iterable<Item>): Item[] {
  return [...items].sort((a, b) => a.id - b.id);
}

/** The target as its own description, signed in as admin with a token. */
export function description(other: Partial<TargetDescription> = {}): TargetDescription {
  return {
    context: 'test',
    address: 'https://controller.example.org',
    dialect: 'controller',
    version: '24.6.1',
    installUuid: null,
    identity: { id: 1, username: 'admin', isSuperuser: true, isSystemAuditor: false },
    visibility: { kind: 'all' },
    credential: 'token',
    transport: 'https',
    clock: { aheadMs: 0, uncertaintyMs: 500 },
    capabilities: {
      lastUsed: false,
      settingsHold: 'at_once',
      deactivateUsers: true,
      changes: true,
      batchSize: 250,
    },
    missingRights: [],
    ...other,
  };
}

/** A controller's database as its own description, with the rights for everything. */
export function databaseDescription(): TargetDescription {
  const { capabilities } = description();
  return description({
    address: 'postgresql://database.example.org:5432/awx',
    version: null,
    identity: { id: null, username: 'tokenctl', isSuperuser: false, isSystemAuditor: false },
    credential: 'database_role',
    transport: 'tls',
    capabilities: { ...capabilities, lastUsed: true, batchSize: 5000 },
  });
}

/** A local user. */
export function user(id: number, username: string, other: Partial<User> = {}): User {
  const local = { isActive: true, isSuperuser: id === 1, isSystemAuditor: false };
  return { id, username, ...local, externalAccount: null, lastLogin: null, ...other };
}
