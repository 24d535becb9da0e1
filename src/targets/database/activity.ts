import type { Activity } from '../../core/token.ts';
import type { ActivitySelector } from '../../operations/ports/target-selectors.ts';
import type { Connection } from './connection.ts';
import { instant } from './instants.ts';
import { chunked, keysetPages, PAGE } from './pages.ts';
import { type ActivityRow, readActivityPage, readLastChanges } from './queries/activity.ts';

/** Streams the activity stream, oldest first. */
export async function* listActivity(
  connection: Connection,
  selector: ActivitySelector,
): AsyncGenerator<Activity, void> {
  const pages = keysetPages({
    start: 0,
    keyOf: ({ id }: ActivityRow) => id,
    read: (after) => connection.ask('read', (database) => readActivityPage(database, { selector, after })),
  });
  for await (const rows of pages) {
    for (const { id, at, operation, object, changes, actor_id, actor } of rows) {
      yield {
        id,
        at: instant(at),
        operation,
        actor: actor_id === null || actor === null ? null : { id: actor_id, username: actor },
        object,
        changes: changesOf(changes),
      };
    }
  }
}

/** The changes as the controller wrote them, JSON in a text column; empty where it is none. */
function changesOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const changes: unknown = JSON.parse(text);
    const isObject = typeof changes === 'object' && changes !== null && !Array.isArray(changes);
    return isObject ? (changes as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** When each of these users last changed anything; none for who never did. */
export async function lastChanges(
  connection: Connection,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, Date>> {
  const last = new Map<number, Date>();
  for (const chunk of chunked(userIds, PAGE)) {
    const rows = await connection.ask('read', (database) => readLastChanges(database, chunk));
    for (const { actor_id, at } of rows) last.set(actor_id, instant(at));
  }
  return last;
}
