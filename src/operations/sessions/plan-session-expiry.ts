import type { PlannedSessions, Tally } from '../../domain/plan.ts';
import { Counted } from '../../domain/plan-builder.ts';
import { eitherOf } from '../../domain/selector.ts';
import { requireNamed } from '../named.ts';
import type { Target } from '../ports/target.ts';
import { sessionsOf } from './planned-sessions.ts';

/** Which sessions would end. */
export interface SessionExpiryPlan {
  /** Whose, in words, for people and for the audit log. */
  readonly selection: string;
  readonly sessions: PlannedSessions;
  /** How many sessions by user, the most first. */
  readonly byUser: readonly Tally[];
}

/**
 * Computes which sessions would end: those of the named users, or every one without names. Reads only.
 *
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` where the target lists no
 * sessions, and whatever else it throws.
 */
export async function planSessionExpiry(options: {
  readonly target: Target;
  readonly users?: readonly string[];
}): Promise<SessionExpiryPlan> {
  const { target, users } = options;
  const named = await requireNamed(target, users === undefined ? {} : { users });
  const userIds = named.userIds === null ? 'all' : [...named.userIds.values()].sort((a, b) => a - b);
  const byUser = new Counted();
  let count = 0;
  for await (const { user } of sessionsOf(target, userIds)) {
    byUser.add(user?.username ?? '(no user known)');
    count += 1;
  }
  return {
    selection: users === undefined ? 'every session' : `sessions of ${eitherOf(users)}`,
    sessions: { userIds, count },
    byUser: byUser.tallies(),
  };
}
