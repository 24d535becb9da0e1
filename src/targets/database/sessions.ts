import { TokenctlError } from '../../domain/errors.ts';
import type { Session } from '../../domain/token.ts';
import type { SessionSelector } from '../../operations/ports/target.ts';
import { inChunks } from './chunks.ts';
import type { Connection } from './connection.ts';
import { instant, instantOrNull } from './instants.ts';
import { keysetPages } from './pages.ts';
import { deleteSessions, readSessionKeys, readSessionPage, type SessionRow } from './queries/sessions.ts';
import { TABLES } from './tables.ts';

/** How many sessions end in one transaction. */
const AT_ONCE = 500;

/** Streams the sessions that have not expired. */
export async function* listSessions(
  connection: Connection,
  selector: SessionSelector,
): AsyncGenerator<Session, void> {
  for await (const rows of pages(connection, selector)) for (const row of rows) yield sessionOf(row);
}

/**
 * Ends the sessions that are meant, and yields each that it ended.
 *
 * @throws TokenctlError `partly_done` where others hold some of them to the end, and as queries do.
 */
export async function* endSessions(
  connection: Connection,
  selector: SessionSelector,
  patience: number,
): AsyncGenerator<Session, void> {
  const { layout } = connection;
  let left = 0;
  for await (const rows of pages(connection, selector)) {
    const rest = yield* inChunks<string, Session>({
      connection,
      purpose: 'sessions',
      items: rows.map(({ key }) => key),
      size: AT_ONCE,
      patience,
      act: async (database, keys) => {
        const ended = new Set(await deleteSessions(database, { layout, keys }));
        return new Map(rows.filter(({ key }) => ended.has(key)).map((row) => [row.key, sessionOf(row)]));
      },
      held: readSessionKeys,
    });
    if (rest.stopped !== null) throw rest.stopped.error;
    left += rest.left.length;
  }
  if (left > 0) {
    throw new TokenctlError(
      'partly_done',
      `${left} sessions could not be ended: other transactions hold them`,
      {
        hint: 'Run it again.',
        details: { left },
      },
    );
  }
}

/** @throws TokenctlError `unsupported` where nothing tells whose a session is. */
function pages(connection: Connection, selector: SessionSelector): AsyncIterable<readonly SessionRow[]> {
  const { layout, recognised, address } = connection;
  if (!recognised.tellsSessions) {
    throw new TokenctlError('unsupported', `${address} does not tell whose a session is`, {
      hint: `This gateway has no table ${TABLES[layout].memberships} yet, which comes with a later release. Deleting every row of django_session logs everybody out.`,
    });
  }
  return keysetPages({
    start: '',
    keyOf: ({ key }) => key,
    read: (after) =>
      connection.ask('read', (database) => readSessionPage(database, { layout, selector, after })),
  });
}

function sessionOf({ user_id, username, created, expires, fingerprint }: SessionRow): Session {
  return {
    user: user_id === null || username === null ? null : { id: user_id, username },
    created: instantOrNull(created),
    expires: instant(expires),
    fingerprint,
  };
}
