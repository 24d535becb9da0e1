import type { Session } from '../../domain/token.ts';
import { requireNamed } from '../named.ts';
import type { Target } from '../ports/target.ts';
import { sessionsOf } from './planned-sessions.ts';

/**
 * Streams the sessions of these users, or every one without names. Reads only.
 *
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` where the target lists
 * none, and whatever else it throws.
 */
export async function* listSessions(options: {
  readonly target: Target;
  readonly users?: readonly string[];
}): AsyncIterable<Session> {
  const { target, users } = options;
  const { userIds } = await requireNamed(target, users === undefined ? {} : { users });
  yield* sessionsOf(target, userIds === null ? 'all' : [...userIds.values()]);
}
