import { TokenctlError } from '../../core/errors.ts';
import { managementCommands } from '../../core/management-commands.ts';
import type { PlannedSessions } from '../../core/plan.ts';
import type { Session } from '../../core/token.ts';
import type { Target } from '../ports/target.ts';
import type { TargetDescription } from '../ports/target-description.ts';
import type { SessionSelector } from '../ports/target-selectors.ts';

/** The planned sessions as a target is asked for them. */
export function sessionSelector(userIds: PlannedSessions['userIds']): SessionSelector {
  return userIds === 'all' ? { all: true } : { userIds };
}

/**
 * Streams the sessions of these users; asks for nothing where there are no users.
 *
 * @throws TokenctlError `unsupported` where the target lists no sessions, and whatever else it throws.
 */
export async function* sessionsOf(
  target: Target,
  userIds: PlannedSessions['userIds'],
): AsyncIterable<Session> {
  if (userIds.length > 0) yield* target.sessions(sessionSelector(userIds));
}

/** Counts the sessions that would end now. Reads only. */
export async function planSessions(
  target: Target,
  userIds: PlannedSessions['userIds'],
): Promise<PlannedSessions> {
  let count = 0;
  for await (const _session of sessionsOf(target, userIds)) count += 1;
  return { userIds, count };
}

/** Sessions were asked for at a target that has none to show. */
export function noSessions({ dialect }: Pick<TargetDescription, 'dialect'>): TokenctlError {
  const { endSessions } = managementCommands(dialect);
  return new TokenctlError('unsupported', 'This target can neither list nor end sessions', {
    hint: `Use a context of the database${endSessions === null ? '' : `, or run \`${endSessions}\` there`}.`,
  });
}
