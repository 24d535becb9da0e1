import type { Activity } from '../../domain/token.ts';
import type { ActivitySelector } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { instant } from './instants.ts';
import { chunked, keysetPages, PAGE } from './pages.ts';
import { type ActivityRow, readActivityPage, readLastChanges } from './queries/activity.ts';

/** Streams the activity stream, oldest first. */
export async function* listActivity(
  connection: Connection,
  selector: ActivitySelector,
): AsyncGenerator<Activity, void> {
  const { layout } = connection;
  const pages = keysetPages({
    start: 0,
    keyOf: ({ id }: ActivityRow) => id,
    read: (after) =>
      connection.ask('read', (database) => readActivityPage(database, { layout, selector, after })),
  });
  for await (const rows of pages) {
    for (const { id, at, operation, object, object_id, changes, actor_id, actor } of rows) {
      yield {
        id,
        at: instant(at),
        operation,
        actor: actor_id === null || actor === null ? null : { id: actor_id, username: actor },
        object,
        changes: layout === 'gateway' ? gatewayChangesOf(changes, object_id) : (objectOf(changes) ?? {}),
      };
    }
  }
}

/**
 * A gateway's changes in the controller's form: the fields of what was made or deleted, or each field that
 * changed with its old and its new value; and the id of what it is about.
 */
function gatewayChangesOf(text: string | null, objectId: string | null): Readonly<Record<string, unknown>> {
  const changes = objectOf(text) ?? {};
  const id = Number(objectId ?? Number.NaN);
  return {
    ...objectOf(changes['added_fields']),
    ...objectOf(changes['removed_fields']),
    ...objectOf(changes['changed_fields']),
    ...(Number.isSafeInteger(id) && { id }),
  };
}

/** A JSON object, also from its text; undefined for what is none. */
function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value;
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** When each of these users last changed anything; none for who never did. */
export async function lastChanges(
  connection: Connection,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, Date>> {
  const { layout } = connection;
  const last = new Map<number, Date>();
  for (const chunk of chunked(userIds, PAGE)) {
    const rows = await connection.ask('read', (database) =>
      readLastChanges(database, { layout, userIds: chunk }),
    );
    for (const { actor_id, at } of rows) last.set(actor_id, instant(at));
  }
  return last;
}
