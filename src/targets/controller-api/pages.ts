import { TokenctlError } from '../../domain/errors.ts';
import { type Answerer, jsonOf } from './answer-failure.ts';
import type { Api } from './api.ts';
import { type Query, queryString } from './query.ts';

/** The most that a controller or gateway puts on one page. */
const PAGE_SIZE = 200;

/** What is listed, and how an item of it is read. */
export interface Listing<Item extends { readonly id: number }> {
  /** `tokens/` */
  readonly path: string;
  /** For messages: `the list of tokens`. */
  readonly what: string;
  readonly query: Query;
  /** @returns The item, or null for what is none. */
  readonly read: (item: unknown) => Item | null;
}

/**
 * Streams a list, ascending by id. Each page asks for what comes after the last id of the one before,
 * so that items that vanish meanwhile move no other out of sight, as they would with numbered pages.
 *
 * @throws TokenctlError as requests do; `unsupported` where a filter is refused.
 */
export async function* pagesOf<Item extends { readonly id: number }>(
  api: Api,
  listing: Listing<Item>,
): AsyncIterable<Item> {
  const { path, what, query, read } = listing;
  for (let after = 0; ; ) {
    const page = queryString([
      ...query,
      ['id__gt', String(after)],
      ['order_by', 'id'],
      ['page_size', String(PAGE_SIZE)],
      ['count_disabled', '1'],
    ]);
    const answer = await api.send({ method: 'GET', path: `${path}?${page}` });
    const { results, last } = pageOf(jsonOf(answer, api, what));
    for (const result of results) {
      const item = read(result);
      // An id that does not ascend would have the next page start behind: without end.
      if (item === null || item.id <= after) throw misread(api, what);
      after = item.id;
      yield item;
    }
    if (last) return;
  }
}

/** Streams several listings of the same, one after the other. */
export async function* listed<Item extends { readonly id: number }>(
  api: Api,
  queries: readonly Query[],
  listing: Omit<Listing<Item>, 'query'>,
): AsyncIterable<Item> {
  for (const query of queries) yield* pagesOf(api, { ...listing, query });
}

/**
 * The first item of a page; null where it is empty.
 *
 * @throws TokenctlError `target_misbehaved` for a body that is no page, or whose first item is none.
 */
export function firstOf<Item>(
  body: unknown,
  of: {
    readonly at: Answerer;
    readonly what: string;
    readonly read: (item: unknown) => Item | null;
  },
): Item | null {
  const { results } = pageOf(body);
  if (results.length === 0) return null;
  const item = of.read(results[0]);
  if (item === null) throw misread(of.at, of.what);
  return item;
}

/** A page's items, and whether it says that none follow: by its `next`, or by being empty. */
function pageOf(body: unknown): { results: readonly unknown[]; last: boolean } {
  if (typeof body !== 'object' || body === null || !('results' in body) || !Array.isArray(body.results)) {
    return { results: [null], last: true };
  }
  const { results } = body;
  const ended = 'next' in body && body.next === null && results.length < PAGE_SIZE;
  return { results, last: results.length === 0 || ended };
}

function misread({ address }: Answerer, what: string): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `${address} sent ${what} in a shape that no controller or gateway uses`,
    {
      hint: 'Check with `tokenctl context check` what answers there.',
    },
  );
}
