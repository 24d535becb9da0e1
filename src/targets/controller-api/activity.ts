import { TokenctlError } from '../../domain/errors.ts';
import type { Activity } from '../../domain/token.ts';
import type { ActivitySelector } from '../../operations/ports/target.ts';
import type { Api } from './api.ts';
import { firstItem, listItems, queryString } from './listing.ts';
import { parseJson } from './responses.ts';

const WHAT = 'the activity stream';

/** How many users' last changes are queried at the same time. */
const CONCURRENCY = 10;

/**
 * Streams the activity stream, ascending by id, which is the order of writing. A selector that is too long for one query is
 * queried in parts, one after the other.
 *
 * @throws TokenctlError `unsupported` if there is no activity stream or a filter is rejected, `permission_refused`.
 */
export async function* listActivity(api: Api, selector: ActivitySelector): AsyncIterable<Activity> {
  const { path, queries, read } = api.dialect.activity;
  const wanted = selector.tokenIds === undefined ? null : new Set(selector.tokenIds);
  try {
    for await (const entry of listItems(api, queries(selector), { path, what: WHAT, read })) {
      const { tokenIds, ...activity } = entry;
      // A filter may be a text search, which also finds entries about other tokens.
      if (wanted === null || tokenIds.some((id) => wanted.has(id))) yield activity;
    }
  } catch (error) {
    throw missingStreamError(error, api);
  }
}

/**
 * The time of the last change that each of these users made: one request per user, a few at a time.
 *
 * @throws TokenctlError as {@link listActivity}.
 */
export async function lastChanges(api: Api, userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
  const found = new Map<number, Date>();
  const pending = new Set(userIds).values();
  const work = async () => {
    for (const userId of pending) {
      const at = await lastChange(api, userId);
      if (at !== null) found.set(userId, at);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return found;
}

async function lastChange(api: Api, userId: number): Promise<Date | null> {
  const { path, latestOf, read } = api.dialect.activity;
  const page = queryString([...latestOf(userId), ['page_size', '1'], ['count_disabled', '1']]);
  try {
    const response = await api.send({ method: 'GET', path: `${path}?${page}` });
    return firstItem(parseJson(response, api, WHAT), { from: api, what: WHAT, read })?.at ?? null;
  } catch (error) {
    throw missingStreamError(error, api);
  }
}

function missingStreamError(error: unknown, { address }: Api): unknown {
  if (!(error instanceof TokenctlError && error.code === 'not_found')) return error;
  return new TokenctlError('unsupported', `${address} has no activity stream`, { cause: error });
}
