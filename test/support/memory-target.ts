import { TokenctlError } from '../../src/domain/errors.ts';
import type { Outcome, Reach } from '../../src/domain/plan.ts';
import { Secret } from '../../src/domain/secret.ts';
import type { Selector } from '../../src/domain/selector.ts';
import type {
  Activity,
  Application,
  AuthorizationCode,
  RefreshToken,
  Session,
  Token,
  User,
} from '../../src/domain/token.ts';
import type {
  ActivitySelector,
  AuthenticationSettings,
  AuthorizationCodeSelector,
  Identified,
  RefreshTokenSelector,
  SessionSelector,
  Target,
  TargetDescription,
  TokenLifetimes,
  TokenRequest,
  UserSelector,
} from '../../src/operations/ports/target.ts';
import { MemoryRefreshTokens } from './memory-refresh-tokens.ts';
import { MemorySessions } from './memory-sessions.ts';
import { token } from './tokens.ts';

/** The settings of a controller as it is installed. */
export const installed: AuthenticationSettings & { readonly OAUTH2_PROVIDER: TokenLifetimes } = {
  AUTH_BASIC_ENABLED: true,
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  SESSION_COOKIE_AGE: 1800,
  SESSIONS_PER_USER: -1,
  DISABLE_LOCAL_AUTH: false,
  OAUTH2_PROVIDER: {
    ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
    REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  },
  LOGIN_REDIRECT_OVERRIDE: '',
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: false,
};

/** A target that is a map: what operations are tried on, with a place to make each question fail. */
export class MemoryTarget implements Target {
  readonly alive = new Map<number, Token>();
  readonly people: User[] = [user(1, 'admin'), user(2, 'alice'), user(3, 'bob')];
  readonly programs: Application[] = [];
  readonly stream: Activity[] = [];
  readonly refresh = new MemoryRefreshTokens();
  readonly logins = new MemorySessions();
  readonly codes = new Map<number, AuthorizationCode>();
  /** Codes that expire later are live. */
  codesNow = new Date('2026-11-20T10:00:00Z');
  /** What it says of itself. */
  self: TargetDescription = description();
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
  /** Called before each user is activated or deactivated; what it throws keeps the user as it is. */
  onUser: (userId: number) => void = () => undefined;
  /** Called before settings are written; what it throws keeps them as they are. */
  onSettings: (change: Partial<AuthenticationSettings>) => void = () => undefined;

  constructor(tokens = 0) {
    for (let id = 1; id <= tokens; id += 1) this.alive.set(id, token({ id }));
  }

  describe(): Promise<TargetDescription> {
    return Promise.resolve(this.self);
  }

  async *tokens(selector: Selector): AsyncIterable<Token> {
    this.#refuse(selector);
    for (const each of [...this.alive.values()])
      if (matches(each, selector)) yield await Promise.resolve(each);
  }

  async *users(selector: UserSelector = {}): AsyncIterable<User> {
    this.#refuse(selector);
    for (const each of this.people) {
      const named = selector.names?.includes(each.username) ?? true;
      if (!named || (selector.inactive && each.isActive)) continue;
      yield await Promise.resolve(this.tellsActive ? each : { ...each, isActive: undefined });
    }
  }

  applications(names?: readonly string[]): Promise<readonly Application[]> {
    return Promise.resolve(this.programs.filter(({ name }) => names?.includes(name) ?? true));
  }

  async *activity(selector: ActivitySelector): AsyncIterable<Activity> {
    this.#refuse(selector);
    for (const each of this.stream) if (isMeant(each, selector)) yield await Promise.resolve(each);
  }

  lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    const found = new Map<number, Date>();
    for (const { actor, at } of this.stream) {
      if (actor !== null && userIds.includes(actor.id)) found.set(actor.id, at);
    }
    return Promise.resolve(found);
  }

  ownTokenIds(): Promise<readonly number[]> {
    return Promise.resolve(this.own);
  }

  async *revoke(
    tokenIds: readonly number[],
    options: { readonly withRefreshTokens?: boolean } = {},
  ): AsyncIterable<Outcome> {
    for (const tokenId of tokenIds) {
      const forced = await this.onRevoke(tokenId);
      if (forced !== undefined) yield { tokenId, result: forced, reason: 'as told' };
      else yield this.#revoked(tokenId, options.withRefreshTokens === true);
    }
  }

  async *refreshTokens(selector: RefreshTokenSelector): AsyncIterable<RefreshToken> {
    if (!this.self.capabilities.refreshTokens) throw new TokenctlError('unsupported', 'No refresh tokens');
    yield* this.refresh.list(selector);
  }

  async *revokeRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    for (const tokenId of ids) {
      const forced = await Promise.resolve(this.refresh.onChange(tokenId));
      const row = this.refresh.rows.get(tokenId);
      if (forced !== undefined) yield { tokenId, result: forced, reason: 'as told' };
      else if (row?.revoked !== null) yield { tokenId, result: 'unchanged' };
      else {
        this.refresh.revoke(row);
        if (row.accessTokenId !== null) this.alive.delete(row.accessTokenId);
        yield { tokenId, result: 'revoked', fingerprint: row.fingerprint ?? undefined };
      }
    }
  }

  async *deleteRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome> {
    for (const id of ids) {
      const beside = this.alive.get(this.refresh.rows.get(id)?.accessTokenId ?? 0);
      yield* this.refresh.delete([id]);
      if (beside && !this.refresh.rows.has(id)) {
        this.alive.set(beside.id, { ...beside, hasRefreshToken: false });
      }
    }
  }

  async *authorizationCodes(selector: AuthorizationCodeSelector): AsyncIterable<AuthorizationCode> {
    if (!this.self.capabilities.authorizationCodes) throw new TokenctlError('unsupported', 'No codes');
    const { ids, users, applications } = selector;
    for (const each of [...this.codes.values()]) {
      const isMeant =
        (ids?.includes(each.id) ?? true) &&
        (users?.includes(each.user?.username ?? '') ?? true) &&
        (applications?.includes(each.application?.name ?? '') ?? true) &&
        each.expires > this.codesNow === (selector.state === 'live');
      if (isMeant) yield await Promise.resolve(each);
    }
  }

  async *deleteAuthorizationCodes(ids: readonly number[]): AsyncIterable<Outcome> {
    for (const tokenId of ids) {
      yield await Promise.resolve({ tokenId, result: this.codes.delete(tokenId) ? 'revoked' : 'unchanged' });
    }
  }

  async *sessions(selector: SessionSelector): AsyncIterable<Session> {
    if (!this.self.capabilities.sessions) throw new TokenctlError('unsupported', 'No sessions');
    yield* this.logins.list(selector);
  }

  endSessions(selector: SessionSelector): AsyncIterable<Session> {
    return this.logins.end(selector);
  }

  staysAlive(facts: {
    readonly tokensWithRefreshToken: number;
    readonly reach: Pick<Reach, 'refreshTokens'>;
  }) {
    const count = facts.tokensWithRefreshToken;
    if (count === 0 || facts.reach.refreshTokens) return Promise.resolve([]);
    return Promise.resolve([
      { what: 'refresh_tokens' as const, count, why: 'a map has none', remedy: 'none' },
    ]);
  }

  createToken(request: TokenRequest) {
    const made = token({
      id: 100,
      scope: request.scope,
      description: request.description,
      ...(request.user !== undefined && { user: { id: 2, username: request.user } }),
      fingerprint: 'abc',
    });
    this.alive.set(made.id, made);
    return Promise.resolve({ token: made, value: new Secret('secret-value') });
  }

  async *identify(values: readonly Secret[]): AsyncIterable<Identified> {
    for (const [index, value] of values.entries()) {
      const secret = this.secrets.get(value.reveal());
      const [id = 0] = secret?.ids ?? [];
      const user = this.alive.get(id)?.user ?? null;
      const live =
        secret?.kind === 'refresh_token' ? this.refresh.rows.get(id)?.revoked === null : user !== null;
      if (secret !== undefined)
        yield await Promise.resolve({
          index,
          live,
          user,
          fingerprint: 'abcabcabcabc',
          usedAt: null,
          ...secret,
        });
    }
  }

  setUserActive(userId: number, active: boolean): Promise<boolean> {
    const place = this.people.findIndex(({ id }) => id === userId);
    const found = this.people[place];
    if (found === undefined) return Promise.reject(new TokenctlError('not_found', 'There is no such user'));
    try {
      this.onUser(userId);
    } catch (error) {
      return Promise.reject(error);
    }
    this.people[place] = { ...found, isActive: active };
    return Promise.resolve(found.isActive !== active);
  }

  readonly settings = {
    read: () => Promise.resolve(this.values),
    write: async (change: Partial<AuthenticationSettings>) => {
      this.onSettings(change);
      if (!this.forgetful) this.values = { ...this.values, ...change };
      return await Promise.resolve(this.values);
    },
  };

  close(): Promise<void> {
    return Promise.resolve();
  }

  #revoked(tokenId: number, withRefreshTokens: boolean): Outcome {
    const row = this.refresh.beside(tokenId);
    const fingerprint = this.alive.get(tokenId)?.fingerprint ?? undefined;
    if (!this.alive.delete(tokenId)) return { tokenId, result: 'unchanged' };
    if (row === undefined) return { tokenId, result: 'revoked', fingerprint };
    if (!withRefreshTokens) {
      this.refresh.rows.set(row.id, { ...row, accessTokenId: null });
      return { tokenId, result: 'revoked', fingerprint };
    }
    this.refresh.revoke(row);
    const along = { id: row.id, fingerprint: row.fingerprint ?? '' };
    return { tokenId, result: 'revoked', fingerprint, refreshToken: along };
  }

  #refuse(criteria: object): void {
    const refused = Object.keys(criteria).find((name) => this.refused.includes(name));
    if (refused !== undefined) throw new TokenctlError('unsupported', `There is no filter for ${refused}`);
  }
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
    capabilities: {
      refreshTokens: false,
      authorizationCodes: false,
      sessions: false,
      lastUsed: true,
      settings: true,
      settingsHold: 'at_once',
      createTokens: true,
      deactivateUsers: true,
      identifies: 'by_trying',
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
    identity: { id: null, username: 'tokenctl', isSuperuser: true, isSystemAuditor: true },
    credential: 'database_role',
    transport: 'tls',
    capabilities: {
      ...capabilities,
      refreshTokens: true,
      authorizationCodes: true,
      sessions: true,
      identifies: 'by_hash',
      batchSize: 5000,
    },
  });
}

/** A local user. */
export function user(id: number, username: string, other: Partial<User> = {}): User {
  const local = { isSuperuser: id === 1, isSystemAuditor: false, isActive: true };
  return { id, username, ...local, externalAccount: null, lastLogin: null, ...other };
}

function isMeant(each: Activity, { actorIds, tokenIds, since, until }: ActivitySelector): boolean {
  const { id } = each.changes;
  return (
    (actorIds === undefined || (each.actor !== null && actorIds.includes(each.actor.id))) &&
    (tokenIds === undefined || (typeof id === 'number' && tokenIds.includes(id))) &&
    (since === undefined || each.at >= since) &&
    (until === undefined || each.at < until)
  );
}

function matches(each: Token, selector: Selector): boolean {
  const { ids, users, applications, scope, createdBefore, unusedSince, neverUsed, expiredAt } = selector;
  return (
    (ids?.includes(each.id) ?? true) &&
    (users?.includes(each.user?.username ?? '') ?? true) &&
    (applications?.includes(each.application?.name ?? '') ?? true) &&
    (createdBefore === undefined || each.created < createdBefore) &&
    (neverUsed === undefined || each.lastUsed === null) &&
    (expiredAt === undefined || each.expires <= expiredAt) &&
    (scope === undefined || each.scope.split(' ').includes(scope)) &&
    (unusedSince === undefined || (each.lastUsed ?? each.created) < unusedSince)
  );
}
