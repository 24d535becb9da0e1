import { createHash } from 'node:crypto';
import type { Kept, RevocationPlan, StaysAlive, Tally } from './plan.ts';
import type { Token } from './token.ts';

/** What a plan is made with, besides its tokens. */
export interface PlanBuilderOptions {
  /** The selector in words. */
  readonly selection: string;
  /** Tokens that may be the caller's own credential. */
  readonly ownTokenIds: readonly number[];
  /** Whether to plan them as well, last, instead of keeping them. */
  readonly includeOwn: boolean;
}

const OWN_KEPT = 'may be the credential that this tool is using';

/**
 * Adds up a revocation plan from a stream of tokens, holding an id and a name for each of them and not
 * the tokens. Add every token once, then build.
 */
export class PlanBuilder {
  readonly #options: PlanBuilderOptions;
  readonly #candidates: ReadonlySet<number>;
  readonly #planned: { readonly id: number; readonly owner: string }[] = [];
  readonly #own: { readonly id: number; readonly owner: string }[] = [];
  readonly #kept: Kept[] = [];
  readonly #users = new Map<string, number>();
  readonly #applications = new Map<string, number>();
  readonly #scopes = new Map<string, number>();
  #withRefreshToken = 0;

  constructor(options: PlanBuilderOptions) {
    this.#options = options;
    this.#candidates = new Set(options.ownTokenIds);
  }

  add(token: Token): void {
    const isOwn = this.#candidates.has(token.id);
    if (isOwn && !this.#options.includeOwn) {
      this.#kept.push({ tokenId: token.id, reason: OWN_KEPT });
      return;
    }
    const owner = token.user?.username ?? '(no owner)';
    (isOwn ? this.#own : this.#planned).push({ id: token.id, owner });
    count(this.#users, owner);
    count(this.#applications, token.application?.name ?? '(personal access token)');
    count(this.#scopes, token.scope);
    if (token.hasRefreshToken) this.#withRefreshToken += 1;
  }

  /** How many of the tokens so far have a refresh token that outlives them. */
  get tokensWithRefreshToken(): number {
    return this.#withRefreshToken;
  }

  /**
   * @param facts What the target leaves alive, and which ids were named in vain.
   */
  build(facts: { staysAlive: readonly StaysAlive[]; absentIds: readonly number[] }): RevocationPlan {
    const own = this.#own.sort(byId);
    const rows = [...this.#planned.sort(byId), ...own];
    const tokenIds = rows.map((row) => row.id);
    return {
      selection: this.#options.selection,
      tokenIds,
      owners: rows.map((row) => row.owner),
      ownTokenIds: own.map((row) => row.id),
      absentIds: facts.absentIds,
      byUser: tallies(this.#users),
      byApplication: tallies(this.#applications),
      byScope: tallies(this.#scopes),
      kept: this.#kept,
      staysAlive: [...facts.staysAlive, ...ownCredential(this.#kept.length)],
      digest: planDigest(tokenIds),
    };
  }
}

/** SHA-256 (hex) over the ids in decimal, separated by commas, in the order given. */
export function planDigest(tokenIds: readonly number[]): string {
  return createHash('sha256').update(tokenIds.join(',')).digest('hex');
}

function ownCredential(kept: number): StaysAlive[] {
  if (kept === 0) return [];
  return [
    {
      what: 'own_token',
      count: kept,
      why: 'It may be the credential that this tool is using, and is kept so that the work can be finished.',
      remedy: 'Revoke it last with --include-own, or from another account.',
    },
  ];
}

function byId(a: { id: number }, b: { id: number }): number {
  return a.id - b.id;
}

function count(tally: Map<string, number>, name: string): void {
  tally.set(name, (tally.get(name) ?? 0) + 1);
}

function tallies(counted: ReadonlyMap<string, number>): Tally[] {
  return Array.from(counted, ([name, tokens]) => ({ name, tokens })).sort(
    (a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1),
  );
}
