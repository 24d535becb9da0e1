import { TokenctlError } from '../../core/errors.ts';
import type { Activity } from '../../core/token.ts';
import type { ActivitySelector } from '../../operations/ports/target-selectors.ts';
import { type LinkedActivity, readActivity } from './activity-body.ts';
import { jsonOf } from './answer-failure.ts';
import type { Connection } from './connection.ts';
import { firstOf, pagesOf } from './pages.ts';
import { activityQueries, queryString } from './query.ts';

const PATH = '/api/v2/activity_stream/';
const WHAT = 'the activity stream';

/** How many users' last changes are asked for at the same time. */
const AT_ONCE = 10;

/**
 * Streams the activity stream, ascending by id, which is the order of writing; a selector too long for one
 * question is asked in parts, one part after the other.
 *
 * @throws TokenctlError `unsupported` where there is none or a filter is refused, `permission_refused`.
 */
export async function* activityOf(
  connection: Connection,
  selector: ActivitySelector,
): AsyncIterable<Activity> {
  const wanted = selector.tokenIds === undefined ? null : new Set(selector.tokenIds);
  for (const query of activityQueries(selector)) {
    const listing = { path: PATH, what: WHAT, query, read: readActivity };
    try {
      for await (const { tokenIds, ...activity } of pagesOf(connection, listing)) {
        if (wanted === null || isAbout({ tokenIds, ...activity }, wanted)) yield activity;
      }
    } catch (error) {
      throw withoutStream(error, connection);
    }
  }
}

/**
 * When each of these users last changed anything: one question for one entry each, a few at a time.
 *
 * @throws TokenctlError as {@link activityOf}.
 */
export async function lastChangesOf(
  connection: Connection,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, Date>> {
  const found = new Map<number, Date>();
  const waiting = new Set(userIds).values();
  const work = async () => {
    for (const userId of waiting) {
      const at = await lastChangeOf(connection, userId);
      if (at !== null) found.set(userId, at);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

async function lastChangeOf(connection: Connection, userId: number): Promise<Date | null> {
  const page = queryString([
    ['actor__id', String(userId)],
    ['order_by', '-timestamp,-id'],
    ['page_size', '1'],
    ['count_disabled', '1'],
  ]);
  try {
    const answer = await connection.send({ method: 'GET', path: `${PATH}?${page}` });
    const entry = firstOf(jsonOf(answer, connection, WHAT), {
      connection,
      what: WHAT,
      read: readActivity,
    });
    return entry?.at ?? null;
  } catch (error) {
    throw withoutStream(error, connection);
  }
}

/** The filter for a deleted token's id is a search in a text, which finds others with the same words. */
function isAbout({ object, tokenIds, changes }: LinkedActivity, wanted: ReadonlySet<number>): boolean {
  if (tokenIds.some((id) => wanted.has(id))) return true;
  const { id } = changes;
  return object === 'o_auth2_access_token' && typeof id === 'number' && wanted.has(id);
}

function withoutStream(error: unknown, { address }: Connection): unknown {
  if (!(error instanceof TokenctlError && error.code === 'not_found')) return error;
  return new TokenctlError('unsupported', `${address} has no activity stream`, { cause: error });
}
