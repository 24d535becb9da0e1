import { TokenctlError } from '../../domain/errors.ts';
import type { Activity } from '../../domain/token.ts';
import type { ActivitySelector } from '../../operations/ports/target-selectors.ts';
import { jsonOf } from './answer-failure.ts';
import type { Api } from './api.ts';
import { firstOf, pagesOf } from './pages.ts';
import { queryString } from './query.ts';

const WHAT = 'the activity stream';

/** How many users' last changes are asked for at the same time. */
const AT_ONCE = 10;

/**
 * Streams the activity stream, ascending by id, which is the order of writing; a selector too long for one
 * question is asked in parts, one part after the other.
 *
 * @throws TokenctlError `unsupported` where there is none or a filter is refused, `permission_refused`.
 */
export async function* activityOf(api: Api, selector: ActivitySelector): AsyncIterable<Activity> {
  const { path, queries, read } = api.dialect.activity;
  const wanted = selector.tokenIds === undefined ? null : new Set(selector.tokenIds);
  for (const query of queries(selector)) {
    try {
      for await (const { tokenIds, ...activity } of pagesOf(api, { path, what: WHAT, query, read })) {
        // A filter may be a search in a text, which finds others with the same words.
        if (wanted === null || tokenIds.some((id) => wanted.has(id))) yield activity;
      }
    } catch (error) {
      throw withoutStream(error, api);
    }
  }
}

/**
 * When each of these users last changed anything: one question for one entry each, a few at a time.
 *
 * @throws TokenctlError as {@link activityOf}.
 */
export async function lastChangesOf(
  api: Api,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, Date>> {
  const found = new Map<number, Date>();
  const waiting = new Set(userIds).values();
  const work = async () => {
    for (const userId of waiting) {
      const at = await lastChangeOf(api, userId);
      if (at !== null) found.set(userId, at);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

async function lastChangeOf(api: Api, userId: number): Promise<Date | null> {
  const { path, lastOf, read } = api.dialect.activity;
  const page = queryString([...lastOf(userId), ['page_size', '1'], ['count_disabled', '1']]);
  try {
    const answer = await api.send({ method: 'GET', path: `${path}?${page}` });
    return firstOf(jsonOf(answer, api, WHAT), { at: api, what: WHAT, read })?.at ?? null;
  } catch (error) {
    throw withoutStream(error, api);
  }
}

function withoutStream(error: unknown, { address }: Api): unknown {
  if (!(error instanceof TokenctlError && error.code === 'not_found')) return error;
  return new TokenctlError('unsupported', `${address} has no activity stream`, { cause: error });
}
