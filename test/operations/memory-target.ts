import { TokenctlError } from '../../src/core/errors.ts';
import type { Outcome } from '../../src/core/plan.ts';
import { Secret } from '../../src/core/secret.ts';
import type { Selector } from '../../src/core/selector.ts';
import type { ApplicationReference, Token, User } from '../../src/core/token.ts';
import type {
  AuthenticationSettings,
  Target,
  TargetDescription,
  TokenRequest,
  UserSelector,
} from '../../src/operations/ports.ts';
import { token } from '../core/tokens.ts';

/** The settings of a controller as it is installed. */
export const installed: AuthenticationSettings = {
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
  readonly programs: ApplicationReference[] = [];
  own: number[] = [];
  values: AuthenticationSettings = installed;
  /** Called before each revocation; what it throws ends the batch, what it returns is the outcome. */
  onRevoke: (tokenId: number) => Outcome['result'] | undefined | Promise<undefined> = () => undefined;
  /** Criteria that are refused, as by a service that does not know the filter. */
  refused: readonly string[] = [];
  /** Whether what is written to the settings is lost. */
  forgetful = false;

  constructor(tokens = 0) {
    for (let id = 1; id <= tokens; id += 1) this.alive.set(id, token({ id }));
  }

  describe(): Promise<TargetDescription> {
    return Promise.resolve(description());
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
      if (named && !(selector.inactive && each.isActive)) yield await Promise.resolve(each);
    }
  }

  applications(names: readonly string[]): Promise<readonly ApplicationReference[]> {
    return Promise.resolve(this.programs.filter(({ name }) => names.includes(name)));
  }

  ownTokenIds(): Promise<readonly number[]> {
    return Promise.resolve(this.own);
  }

  async *revoke(tokenIds: readonly number[]): AsyncIterable<Outcome> {
    for (const tokenId of tokenIds) {
      const forced = await this.onRevoke(tokenId);
      if (forced !== undefined) yield { tokenId, result: forced, reason: 'as told' };
      else yield { tokenId, result: this.alive.delete(tokenId) ? 'revoked' : 'unchanged' };
    }
  }

  staysAlive(facts: { readonly tokensWithRefreshToken: number }) {
    const count = facts.tokensWithRefreshToken;
    if (count === 0) return Promise.resolve([]);
    return Promise.resolve([
      { what: 'refresh_tokens' as const, count, why: 'a map has none', remedy: 'none' },
    ]);
  }

  createToken(request: TokenRequest) {
    const made = token({
      id: 100,
      scope: request.scope,
      description: request.description,
      fingerprint: 'abc',
    });
    this.alive.set(made.id, made);
    return Promise.resolve({ token: made, value: new Secret('secret-value') });
  }

  readonly settings = {
    read: () => Promise.resolve(this.values),
    write: (change: Partial<AuthenticationSettings>) => {
      if (!this.forgetful) this.values = { ...this.values, ...change };
      return Promise.resolve(this.values);
    },
  };

  close(): Promise<void> {
    return Promise.resolve();
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
    identity: { id: 1, username: 'admin', isSuperuser: true, isSystemAuditor: false },
    credential: 'token',
    transport: 'https',
    capabilities: {
      refreshTokens: false,
      sessions: false,
      lastUsed: true,
      settings: true,
      createTokens: true,
      changes: true,
    },
    ...other,
  };
}

/** A local user. */
export function user(id: number, username: string, other: Partial<User> = {}): User {
  const local = { isSuperuser: id === 1, isSystemAuditor: false, isActive: true };
  return { id, username, ...local, externalAccount: null, lastLogin: null, ...other };
}

function matches(each: Token, selector: Selector): boolean {
  const { ids, users, scope, unusedSince } = selector;
  return (
    (ids?.includes(each.id) ?? true) &&
    (users?.includes(each.user?.username ?? '') ?? true) &&
    (scope === undefined || each.scope.split(' ').includes(scope)) &&
    (unusedSince === undefined || (each.lastUsed ?? each.created) < unusedSince)
  );
}
