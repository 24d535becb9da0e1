import { createHash } from 'node:crypto';
import { isFromProduct } from '@tokenctl/common/product.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { z } from 'zod';
import type { Token, UserReference } from '../../domain/token.ts';
import { knownEffect } from '../../domain/tried-versions.ts';
import type { Identified, IdentifyOptions, IntendedUse, KnownToken } from '../../operations/ports/target.ts';
import { readCaller, readMe } from './account.ts';
import type { Api, Query } from './api.ts';
import { isBearerToken } from './connection.ts';
import {
  isGatewayToken,
  type LastUses,
  listedLastUses,
  liveTokens,
  ownTokenIds,
  readLastUses,
  recentlyUsedTokenIds,
  usedSince,
  waitOutUses,
} from './last-use.ts';
import { listItems } from './listing.ts';
import { isUnauthenticated, parseJson, responseError } from './responses.ts';
import { findByShownUse } from './shown-use.ts';

interface Accepted {
  readonly index: number;
  readonly token: string;
  readonly fingerprint: string;
  /** The Date header of the response. The request counts as a use unless the target is quiet. */
  readonly date: string | undefined;
  /** The owner; null if the target shows it only after a use. */
  readonly owner: UserReference | null;
}

/**
 * Identifies the owners of token values by sending each as a bearer token, one by one. A controller 24.6.1
 * answers a request for a missing object with 401, or with 404 and the owner's name, and a failed request
 * does not change the last use. So an owner's only token is identified without a use. For the others, it
 * reads the last uses of the owner's tokens and then sends a request that sets the last use. The value is the
 * one token that was unused in the seconds before and is used now. If several were used in these seconds, or
 * the target records uses less often, all possible tokens are returned.
 * @throws TokenctlError as requests do, and whatever `beforeUse` throws.
 */
export async function* identifyBySending(
  api: Api,
  values: readonly Secret[],
  options: IdentifyOptions = {},
): AsyncGenerator<Identified, void> {
  const sent = [...values.entries()]
    .map(([index, value]) => ({ index, token: value.reveal() }))
    .filter(({ token }) => isBearerToken(token));
  if (sent.length === 0) return;
  const { quiet, started } = await useRecording(api);
  const listed = options.liveOnly === true ? new Map() : await listedLastUses(api);
  // Read before any value is sent: otherwise a value of the same user would appear as just used too, and the
  // two could not be distinguished.
  const own = options.liveOnly === true ? [] : await ownTokenIds(api);
  if (!quiet) await options.beforeUse?.({ values: sent.length, tokens: [] });
  const accepted: Accepted[] = [];
  for (const each of sent) {
    const date = await acceptedAt(api, each.token);
    if (date === null) continue;
    const fingerprint = createHash('sha256').update(each.token).digest('hex').slice(0, 12);
    if (options.liveOnly === true) {
      const found = { index: each.index, fingerprint, ids: [], user: null };
      yield { ...found, kind: 'access_token', live: true, usedAt: null };
    } else {
      accepted.push({ ...each, fingerprint, date: date.date, owner: await shownOwner(api, each.token) });
    }
  }
  if (accepted.length === 0) return;
  const known = options.known ?? new Map();
  const search = await TokenSearch.begin(api, { quiet, started, listed, known, own });
  await search.readCandidates(accepted);
  const open = accepted.filter((each) => search.single(each) === null);
  const withoutUse = quiet && options.withoutUse === true;
  if (quiet && !withoutUse && open.length > 0) {
    await options.beforeUse?.({ values: open.length, tokens: search.candidates(open) });
  }
  for (const each of accepted) {
    const identified = withoutUse ? search.narrowDown(each) : await search.identify(each);
    if (identified !== null) yield identified;
  }
}

const ping = z.object({ version: z.string().optional() });

/** Whether the target is known to record no use for failed requests, and the target's time. */
async function useRecording(api: Api): Promise<{ readonly quiet: boolean; readonly started: Date }> {
  const response = await api.send({ method: 'GET', path: 'ping/' });
  const { version = '' } =
    response.status === 200 ? (ping.safeParse(parseJson(response, api, 'its version')).data ?? {}) : {};
  const quiet =
    api.dialect.name === 'controller' &&
    api.gateway === undefined &&
    isFromProduct(response.headers) &&
    knownEffect('failed_use', { dialect: 'controller', version }).outcome === 'as it is';
  const started = Date.parse(response.headers.date ?? '');
  return { quiet, started: new Date(Number.isNaN(started) ? 0 : started) };
}

/** Null for a value that is refused, or that belongs to the gateway in front of the component. */
async function acceptedAt(api: Api, token: string): Promise<{ readonly date: string | undefined } | null> {
  if (await isGatewayToken(api, token)) return null;
  const response = await api.getAs(token, 'tokens/0/');
  return isUnauthenticated(response) ? null : { date: response.headers.date };
}

/** The name on a page of the browsable API, next to the link to `me/`. */
const SHOWN_OWNER = /Logged in as <\/span>([^<>]+)<\/a>/;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#x27': "'",
  '#39': "'",
};

/** The owner of a token according to the error page of a controller's browsable API; null if there is no such page. */
async function shownOwner(api: Api, token: string): Promise<UserReference | null> {
  if (api.dialect.name !== 'controller') return null;
  const response = await api.getAs(token, 'tokens/0/', { accept: 'text/html' });
  const [, shown] = SHOWN_OWNER.exec(response.body.toString('utf8')) ?? [];
  if (response.status !== 404 || shown === undefined) return null;
  const username = shown
    .trim()
    .replace(/&([a-z]+|#x27|#39);/g, (text, name: string) => ENTITIES[name] ?? text);
  const listing = { path: 'users/', what: 'the owner of a token', read: api.dialect.readUser };
  for await (const { id } of listItems(api, [[['username', username]]], listing)) return { id, username };
  return null;
}

/** The user of the credential in use. */
interface Caller {
  readonly id: number;
  /** Whether the list of tokens is complete for other users. */
  readonly seesAll: boolean;
}

interface SearchFacts {
  /** Whether failed requests do not count as uses. */
  readonly quiet: boolean;
  /** The server's time before the first value was sent. */
  readonly started: Date;
  /** The last uses that a list showed before. */
  readonly listed: LastUses;
  readonly known: ReadonlyMap<string, KnownToken>;
  /** The tokens that may be the caller's credential. */
  readonly own: readonly number[];
}

/** Finds which of an owner's tokens a value is. */
class TokenSearch {
  readonly #api: Api;
  readonly #facts: SearchFacts;
  readonly #caller: Caller;
  /** The live tokens of owners, by user id. */
  readonly #tokens = new Map<number, readonly Token[]>();
  readonly #lastUses = new Map<number, Date | null>();
  readonly #own: readonly number[];
  /** Identified tokens by fingerprint. */
  readonly #identified = new Map<string, readonly number[]>();

  private constructor(api: Api, facts: SearchFacts & { readonly caller: Caller }) {
    this.#api = api;
    this.#facts = facts;
    this.#caller = facts.caller;
    this.#own = facts.own;
    for (const [id, at] of facts.listed) this.#lastUses.set(id, at);
  }

  static async begin(api: Api, facts: SearchFacts): Promise<TokenSearch> {
    const { user } = await readCaller(api);
    const caller = { id: user.id, seesAll: user.isSuperuser || user.isSystemAuditor === true };
    return new TokenSearch(api, { ...facts, caller });
  }

  /** Reads the tokens of the known owners, and their last uses. */
  async readCandidates(accepted: readonly Accepted[]): Promise<void> {
    const now = new Date(Date.parse(accepted.at(-1)?.date ?? '') || Date.now());
    for (const { owner } of accepted) {
      if (owner === null || this.#tokens.has(owner.id)) continue;
      if (!this.#caller.seesAll && owner.id !== this.#caller.id) continue;
      const tokens = await liveTokens(this.#api, { userId: owner.id, now });
      this.#tokens.set(owner.id, tokens);
      const read = await readLastUses(this.#api, { tokenIds: tokens.map(({ id }) => id), until: now });
      for (const [id, at] of read) if (this.#isBeforeStart(at)) this.#lastUses.set(id, at);
    }
  }

  /** Whether a last use certainly happened before this search. */
  #isBeforeStart(at: Date | null): boolean {
    return this.#facts.quiet || at === null || at.getTime() < this.#facts.started.getTime() - 1000;
  }

  /** The owner's tokens that a value may be; null if they are unknown. */
  #possible({ owner, fingerprint }: Accepted): readonly Token[] | null {
    const tokens = owner === null ? undefined : this.#tokens.get(owner.id);
    if (tokens === undefined) return null;
    const others = new Set(
      [...this.#identified].flatMap(([other, ids]) => (other !== fingerprint && ids.length === 1 ? ids : [])),
    );
    return tokens.filter(({ id }) => !others.has(id));
  }

  /** The id of a token that was identified before, or is the only possible one; else null. */
  single(each: Accepted): number | null {
    const possible = this.#possible(each);
    const known = this.#facts.known.get(each.fingerprint);
    const isSame = ({ id, created }: Token) =>
      id === known?.id && created.getTime() === known.created.getTime();
    if (known !== undefined && possible?.some(isSame)) return known.id;
    return possible?.length === 1 ? (possible[0]?.id ?? null) : null;
  }

  /** The tokens that these values may be, with their previous last uses. */
  candidates(accepted: readonly Accepted[]): IntendedUse['tokens'] {
    const found = new Map<number, IntendedUse['tokens'][number]>();
    for (const each of accepted) {
      for (const { id, created } of this.#possible(each) ?? []) {
        const lastUsed = this.#lastUses.get(id);
        const user = each.owner?.username ?? '';
        found.set(id, { id, user, created, lastUsed });
      }
    }
    return [...found.values()];
  }

  /** Whether a value is the caller's credential. */
  #isOwn(token: string): boolean {
    const { credential } = this.#api;
    return credential.kind === 'token' && credential.token.reveal() === token;
  }

  /** The result for a value without using it: all possible tokens. */
  narrowDown(each: Accepted): Identified {
    const { fingerprint, owner, token } = each;
    const single = this.single(each);
    const others = (this.#possible(each) ?? []).map(({ id }) => id);
    const ids = single !== null ? [single] : this.#isOwn(token) ? this.#own : others;
    if (ids.length === 1) this.#identified.set(fingerprint, ids);
    const found = this.#found(each, { ids, user: owner, usedAt: null });
    return ids.length === 1 ? found : { ...found, needsUse: true };
  }

  /** Null for a value that is not a token: a server that answers 404 to any value does not accept it. */
  async identify(each: Accepted): Promise<Identified | null> {
    const { fingerprint, owner } = each;
    const single = this.single(each);
    const known = this.#identified.get(fingerprint);
    const found =
      known !== undefined || single !== null
        ? { ids: known ?? (single === null ? [] : [single]), user: owner, usedAt: this.#usedAt(each, single) }
        : await this.#use(each);
    if (found === null) return null;
    this.#identified.set(fingerprint, found.ids);
    return this.#found(each, found);
  }

  #found({ index, fingerprint }: Accepted, found: Pick<Identified, 'ids' | 'user' | 'usedAt'>): Identified {
    const [id] = found.ids;
    // Each request of this search uses the caller's own token.
    const isKnown = found.ids.length === 1 && id !== undefined && !this.#own.includes(id);
    const lastUsed = isKnown ? this.#lastUses.get(id) : undefined;
    return { index, kind: 'access_token', live: true, fingerprint, lastUsed, ...found };
  }

  /** When a token that was identified without another request may have been used. Null if its last use is older. */
  #usedAt({ date }: Accepted, single: number | null): Date | null {
    const lastUsed = single === null ? undefined : this.#lastUses.get(single);
    const listed = single !== null && this.#facts.listed.has(single);
    return this.#facts.quiet || (lastUsed !== undefined && !listed) ? null : dateOf(date);
  }

  /** Sends a token to set its last use, and compares the last uses before and after. */
  async #use({ token, owner }: Accepted) {
    const api = this.#api;
    const { showsLastUse } = api.dialect;
    const used = showsLastUse ? null : await usedInLastSeconds(api, token, owner);
    const response = await api.getAs(token, 'me/');
    if (isUnauthenticated(response)) return null;
    const what = 'the owner of a token';
    const user = readMe(parseJson(response, api, what), api.dialect);
    if (user === null) throw responseError(response, api, what);
    const { id: userId, username } = user;
    const { date } = response.headers;
    const found = this.#isOwn(token)
      ? { ids: this.#own, date }
      : ((showsLastUse ? await this.#byShownUse(token, userId) : null) ??
        (await this.#usedIds({ userId, date, token, used })));
    return { ids: found.ids, user: { id: userId, username }, usedAt: dateOf(found.date) };
  }

  /** Null if no last use changed: the target records uses less often than expected. */
  async #byShownUse(token: string, userId: number) {
    const found = await findByShownUse(this.#api, { token, userId, own: this.#own });
    return found.ids.length === 0 ? null : found;
  }

  async #usedIds(sent: Sent) {
    const { only, date } = await onlyNewlyUsed(this.#api, sent);
    if (only !== null) return { ids: [only], date };
    const recent = await recentlyUsedTokenIds(this.#api, sent);
    const known = new Set([
      ...this.#own,
      ...[...this.#identified.values()].filter((ids) => ids.length === 1).flat(),
    ]);
    const others = recent.filter((id) => !known.has(id));
    return { ids: others.length > 0 ? others : recent, date };
  }
}

function dateOf(header: string | undefined): Date {
  const at = Date.parse(header ?? '');
  return Number.isNaN(at) ? new Date() : new Date(at);
}

/** The tokens that were used in the seconds before a value was sent. */
interface UsedBefore {
  /** The Date header at the end of these seconds. */
  readonly date: string | undefined;
  readonly ids: ReadonlySet<number>;
}

/** The tokens used in the seconds before, of only the owner if known; null if uses cannot be compared. */
async function usedInLastSeconds(api: Api, token: string, owner: UserReference | null) {
  const response = await api.getAs(token, 'tokens/0/');
  const { date } = response.headers;
  const query: Query = owner === null ? [] : [['user', String(owner.id)]];
  const ids = await usedSince(api, { date, query });
  return ids === null ? null : { date, ids: new Set(ids) };
}

interface Sent {
  readonly userId: number;
  readonly date: string | undefined;
  readonly token: string;
  /** Null if uses cannot be compared. */
  readonly used: UsedBefore | null;
}

/** The only token of a user with a new use (null unless exactly one, even on a second attempt), and the last use. */
async function onlyNewlyUsed(api: Api, { userId, token, used, date }: Sent) {
  if (used === null) return { only: null, date };
  const first = await newlyUsed(api, userId, used);
  if (first.length === 1) return { only: first[0] ?? null, date };
  await waitOutUses();
  const again = await usedInLastSeconds(api, token, null);
  if (again === null) return { only: null, date };
  const response = await api.getAs(token, 'me/');
  const second = await newlyUsed(api, userId, again);
  const both = first.length === 0 ? second : second.filter((id) => first.includes(id));
  return { only: both.length === 1 ? (both[0] ?? null) : null, date: response.headers.date };
}

async function newlyUsed(api: Api, userId: number, { date, ids }: UsedBefore): Promise<number[]> {
  const now = (await usedSince(api, { date, query: [['user', String(userId)]] })) ?? [];
  return now.filter((id) => !ids.has(id));
}
