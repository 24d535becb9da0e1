import { createHash, type Hash } from 'node:crypto';
import { type AccessPath, covering, openPath } from './access.ts';
import { IdSet, OwnedIds } from './compact-collections.ts';
import type { Kept, PlannedSessions, Reach, RevocationPlan, Tally } from './plan.ts';
import { ownTokenRemedy } from './remedies.ts';
import {
  type AuthorizationCode,
  type PlannedToken,
  type RefreshToken,
  refreshTokenExpiry,
  type UserReference,
} from './token.ts';

interface PlanBuilderOptions {
  /** The selector in words. */
  readonly selection: string;
  readonly context: string;
  /** Tokens that may be the caller's own credential. */
  readonly ownTokenIds: readonly number[];
  /** Whether to plan them as well, last, instead of keeping them. */
  readonly includeOwn: boolean;
  /** What is revoked as well; default: nothing. */
  readonly reach?: Reach;
  /** When refresh tokens expire: REFRESH_TOKEN_EXPIRE_SECONDS, and the current time. Absent if unknown. */
  readonly refreshExpiry?: { readonly lifetime: number; readonly now: Date };
}

/** The facts of a plan that are not derived from its tokens. */
interface PlanFacts {
  /** The access paths that are not covered. */
  readonly accessPaths: readonly AccessPath[];
  /** Ids given but not found. */
  readonly absentIds: readonly number[];
  /** As in {@link RevocationPlan.notSeen}; default: null. */
  readonly notSeen?: string | null;
  /** The sessions to end; default: none. */
  readonly sessions?: PlannedSessions | null;
}

const OWN_KEPT = 'may be the credential that tokenctl uses';

const NOTHING_ALONG: Reach = { refreshTokens: false, authorizationCodes: false, sessions: false };

/**
 * Builds a revocation plan from a stream of tokens, storing only an id and a name for each. Add every access
 * token once, then every refresh token, then build.
 */
export class PlanBuilder {
  readonly #options: PlanBuilderOptions;
  readonly #candidates: ReadonlySet<number>;
  readonly #planned = new OwnedIds();
  readonly #own = new OwnedIds();
  readonly #ids = new IdSet();
  readonly #refresh = new OwnedIds();
  readonly #codes: number[] = [];
  readonly #kept: Kept[] = [];
  readonly #users = new NameCounter();
  readonly #refreshUsers = new NameCounter();
  readonly #applications = new NameCounter();
  readonly #scopes = new NameCounter();
  readonly #ownerIds = new Map<string, number>();
  readonly #refreshOwnerIds = new Map<string, number>();
  #withRefreshToken = 0;
  #expiredRefreshTokens = 0;

  constructor(options: PlanBuilderOptions) {
    this.#options = options;
    this.#candidates = new Set(options.ownTokenIds);
  }

  add(token: PlannedToken): void {
    const isOwn = this.#candidates.has(token.id);
    if (isOwn && !this.#options.includeOwn) {
      this.#kept.push({ tokenId: token.id, reason: OWN_KEPT });
      return;
    }
    const owner = this.#users.add(ownerName(token.user));
    (isOwn ? this.#own : this.#planned).add(token.id, owner);
    this.#ids.add(token.id);
    this.#applications.add(token.application?.name ?? '(personal access token)');
    this.#scopes.add(token.scope);
    if (token.user !== null) this.#ownerIds.set(owner, token.user.id);
    if (!token.hasRefreshToken) return;
    this.#withRefreshToken += 1;
    const { refreshExpiry: expiry } = this.#options;
    const created = token.refreshTokenCreated ?? token.created;
    if (expiry === undefined || created === undefined) return;
    if (refreshTokenExpiry({ created }, expiry.lifetime) < expiry.now) this.#expiredRefreshTokens += 1;
  }

  /** Plans a live refresh token unless its access token was added: it then shares that one's fate. */
  addRefreshToken(token: RefreshToken): void {
    const { id, user, accessTokenId } = token;
    const isBeside =
      accessTokenId !== null && (this.#ids.has(accessTokenId) || this.#candidates.has(accessTokenId));
    if (isBeside) return;
    const owner = this.#refreshUsers.add(ownerName(user));
    this.#refresh.add(id, owner);
    if (user !== null) this.#refreshOwnerIds.set(owner, user.id);
    const { refreshExpiry: expiry } = this.#options;
    if (accessTokenId === null || expiry === undefined) return;
    if (refreshTokenExpiry(token, expiry.lifetime) < expiry.now) this.#expiredRefreshTokens += 1;
  }

  addAuthorizationCode({ id }: Pick<AuthorizationCode, 'id'>): void {
    this.#codes.push(id);
  }

  /** The names of the owners of the tokens so far, most tokens first. */
  get ownerNames(): readonly string[] {
    return this.#users.tallies().map(({ name }) => name);
  }

  /** Number of tokens so far with a refresh token that outlives them. */
  get tokensWithRefreshToken(): number {
    return this.#withRefreshToken;
  }

  /** Number of expired refresh tokens so far, without orphaned ones; null if unknown. */
  get expiredRefreshTokens(): number | null {
    return this.#options.refreshExpiry === undefined ? null : this.#expiredRefreshTokens;
  }

  /** The ids of the owners of the tokens so far. */
  get ownerIds(): ReadonlySet<number> {
    return new Set(this.#ownerIds.values());
  }

  /** The plan. Add nothing afterwards. */
  build(facts: PlanFacts): RevocationPlan {
    const [planned, own, alone] = [
      this.#planned.takeSorted(),
      this.#own.takeSorted(),
      this.#refresh.takeSorted(),
    ];
    const tokenIds = joined(planned.ids, own.ids);
    const { selection, reach = NOTHING_ALONG } = this.#options;
    const authorizationCodeIds = this.#codes.sort((a, b) => a - b);
    const along = {
      reach,
      refreshTokenIds: alone.ids,
      authorizationCodeIds,
      sessions: facts.sessions ?? null,
    };
    return {
      selection,
      tokenIds,
      owners: joined(planned.owners, own.owners),
      ownerIds: Object.fromEntries([...this.#refreshOwnerIds, ...this.#ownerIds]),
      ownTokenIds: own.ids,
      absentIds: facts.absentIds,
      notSeen: facts.notSeen ?? null,
      ...along,
      refreshTokensBeside: reach.refreshTokens ? this.#withRefreshToken : 0,
      refreshTokenOwners: alone.owners,
      refreshTokensExpired: reach.refreshTokens ? this.expiredRefreshTokens : null,
      byUser: this.#users.tallies(),
      byApplication: this.#applications.tallies(),
      byScope: this.#scopes.tallies(),
      kept: this.#kept,
      accessPaths: [...facts.accessPaths, ...ownCredential(this.#kept, this.#options.context)],
      digest: planDigest(tokenIds, along),
    };
  }
}

/** Both lists; the first one itself if the second is empty, because it may be very long. */
function joined<Item>(first: readonly Item[], second: readonly Item[]): readonly Item[] {
  return second.length === 0 ? first : first.concat(second);
}

function ownerName(user: UserReference | null): string {
  return user?.username ?? '(no owner)';
}

function ownCredential(kept: readonly Kept[], context: string): readonly AccessPath[] {
  if (kept.length === 0) return [];
  const ids = kept.map(({ tokenId }) => tokenId);
  const how = 'It may be the credential that tokenctl uses. It is kept so that the operation can finish.';
  const more = { count: kept.length, remedy: ownTokenRemedy(ids, context) };
  return covering([openPath('own_token', how, more)], []);
}

export class NameCounter {
  readonly #counts = new Map<string, { readonly name: string; count: number }>();

  /** Counts an occurrence. @returns The name, as the same string each time. */
  add(name: string): string {
    const known = this.#counts.get(name);
    if (known === undefined) {
      this.#counts.set(name, { name, count: 1 });
      return name;
    }
    known.count += 1;
    return known.name;
  }

  /** Largest first, then by name. */
  tallies(): Tally[] {
    return Array.from(this.#counts.values(), ({ name, count }) => ({ name, count })).sort(
      (a, b) => b.count - a.count || (a.name < b.name ? -1 : 1),
    );
  }
}

/** The number of bytes to hash at a time: avoids a string of seven megabytes, or a million strings. */
const CHUNK = 65_536;
/** The digits of the largest id, and a comma. */
const MAX_ID_LENGTH = 17;

/** What a digest covers in addition to access tokens. */
type Along = Pick<RevocationPlan, 'reach' | 'refreshTokenIds' | 'authorizationCodeIds' | 'sessions'>;

/**
 * SHA-256 (hex) over the decimal ids, separated by commas, in the given order. If refresh tokens are
 * included, followed by `;refresh_tokens=beside` and the ids of those without an access token; for
 * authorization codes or sessions, by `;authorization_codes=` and their ids, and `;sessions=all` or the user
 * ids.
 */
export function planDigest(tokenIds: readonly number[], along?: Along): string {
  const hash = createHash('sha256');
  addIds(hash, tokenIds);
  if (along?.reach.refreshTokens) {
    hash.update(along.refreshTokenIds.length === 0 ? ';refresh_tokens=beside' : ';refresh_tokens=beside,');
    addIds(hash, along.refreshTokenIds);
  }
  if (along !== undefined && along.authorizationCodeIds.length > 0) {
    hash.update(';authorization_codes=');
    addIds(hash, along.authorizationCodeIds);
  }
  if (along?.sessions) {
    const { userIds } = along.sessions;
    hash.update(';sessions=');
    if (userIds === 'all') hash.update('all');
    else addIds(hash, userIds);
  }
  return hash.digest('hex');
}

function addIds(hash: Hash, ids: readonly number[]): void {
  const chunk = Buffer.alloc(Math.min(CHUNK, ids.length * MAX_ID_LENGTH));
  let used = 0;
  for (let index = 0; index < ids.length; index++) {
    if (used + MAX_ID_LENGTH > chunk.length) {
      hash.update(chunk.subarray(0, used));
      used = 0;
    }
    used += chunk.write(index === 0 ? `${ids[index]}` : `,${ids[index]}`, used, 'latin1');
  }
  hash.update(chunk.subarray(0, used));
}
