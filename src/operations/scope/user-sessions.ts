import type { PlannedSessions } from '../../domain/plan.ts';
import type { Session } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';
import type { SessionSelector } from '../ports/target-parts.ts';
import { partOf } from './target-parts.ts';

export function sessionSelector(userIds: PlannedSessions['userIds']): SessionSelector {
  return userIds === 'all' ? { all: true } : { userIds };
}

/** Streams the sessions of these users; without users, makes no request. Throws `unsupported`. */
export async function* sessionsOf(
  target: Target,
  userIds: PlannedSessions['userIds'],
): AsyncIterable<Session> {
  if (userIds.length > 0) yield* partOf(target, 'sessions').list(sessionSelector(userIds));
}

export async function countSessions(target: Target, userIds: PlannedSessions['userIds']): Promise<number> {
  let count = 0;
  for await (const _session of sessionsOf(target, userIds)) count += 1;
  return count;
}
