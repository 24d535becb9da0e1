import type { Api } from './api.ts';
import { listItems } from './listing.ts';
import { isUnauthenticated } from './responses.ts';
import { TOKEN_LISTING } from './tokens.ts';

/** The maximum number of uses to distinguish a token from its owner's others. */
const MAX_USES = 5;
/** How many consecutive uses must leave the same single token. */
const MIN_USES = 2;

/** The last uses of a user's tokens by id, in milliseconds; null for never. */
type Uses = ReadonlyMap<number, number | null>;

/**
 * Finds which of its owner's tokens a value is, if the list of tokens shows each last use. A gateway's does, to the
 * microsecond and with each request [seen]. The token is the one whose last use changes every time the value is sent.
 * Others change now and then because they are in use; the caller's own changes with each request.
 * @param own The tokens that may be the caller's own, which the value is not: the caller compared it before.
 * @returns All possible tokens: one if it was found, none if no last use changed; and the Date header of the last
 * use.
 */
export async function findByShownUse(
  api: Api,
  { token, userId, own }: { token: string; userId: number; own: readonly number[] },
): Promise<{ readonly ids: readonly number[]; readonly date: string | undefined }> {
  let before = await shownUses(api, userId);
  let possible: readonly number[] | null = null;
  let date: string | undefined;
  for (let uses = 1; uses <= MAX_USES; uses += 1) {
    const response = await api.getAs(token, 'tokens/0/');
    if (isUnauthenticated(response)) break;
    date = response.headers.date;
    const after = await shownUses(api, userId);
    const changed = [...after].flatMap(([id, at]) => (at !== (before.get(id) ?? null) ? [id] : []));
    possible = possible === null ? changed : possible.filter((id) => changed.includes(id));
    before = after;
    if (uses >= MIN_USES && withoutOwn(possible, own).length <= 1) break;
  }
  return { ids: withoutOwn(possible ?? [], own), date };
}

/** Without the caller's own tokens, unless no other is possible. */
function withoutOwn(ids: readonly number[], own: readonly number[]): readonly number[] {
  const others = ids.filter((id) => !own.includes(id));
  return others.length > 0 ? others : ids;
}

async function shownUses(api: Api, userId: number): Promise<Uses> {
  const uses = new Map<number, number | null>();
  for await (const { id, lastUsed } of listItems(api, [[['user', String(userId)]]], TOKEN_LISTING)) {
    uses.set(id, lastUsed?.getTime() ?? null);
  }
  return uses;
}
