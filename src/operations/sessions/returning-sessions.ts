import { type AccessPath, openPath, uncheckedPath } from '../../domain/access.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { cookieExpiry } from '../access/cached-sessions.ts';
import type { ReadTarget, Target } from '../ports/target.ts';
import { sessionsOf } from '../scope/user-sessions.ts';

/**
 * The sessions from before a lockdown that are accepted again once their users are active: a deactivated
 * user's session is refused but not ended. Seen on a gateway of 2024-10: after the user was activated, the
 * old cookie got a 200 from the cache, and created a token. Reads only.
 * @param userIds The users to activate.
 * @returns Empty if there are none.
 * @throws TokenctlError whatever the target throws.
 */
export async function returningSessions(
  incident: Pick<Incident, 'ends' | 'locked' | 'since'>,
  userIds: readonly number[],
  { target, description, clock, acceptSessions }: ReadTarget & { acceptSessions?: boolean },
): Promise<readonly AccessPath[]> {
  if (userIds.length === 0) return [];
  const remedy =
    acceptSessions === true
      ? 'To keep them rejected, lift it after that.'
      : 'Lift it after that, or add --accept-sessions to accept them.';
  const listed = target.sessions === undefined ? null : await listedSessions(target, userIds);
  if (listed !== null && listed.count > 0) {
    const { count, until } = listed;
    const how = `${count} ${count === 1 ? 'exists, and is' : 'exist, and are'} accepted again when the users are active.`;
    return [openPath('sessions', how, { count, until, remedy })];
  }
  if (listed !== null && description.capabilities.sessionsCached !== true) return [];
  const ended = new Date(incident.locked ?? incident.since);
  const until = incident.ends['sessions'] ?? (await cookieExpiry(target, ended)) ?? undefined;
  if (until !== undefined && Date.parse(until) <= clock.now().getTime()) return [];
  const isUnowned = description.capabilities.sessionsUnowned !== undefined;
  const problem = description.sessionCache?.problem ?? null;
  const where =
    listed === null
      ? 'This context cannot list them.'
      : problem !== null
        ? `Not read: ${problem}. The gateway may have them in its cache.`
        : isUnowned
          ? 'The database contains sessions without a recorded owner, which may belong to these users.'
          : 'The gateway may have them in its cache.';
  const how = `${where} Sessions from before the lockdown are accepted again when the users are active.`;
  return [uncheckedPath('sessions', how, { until, remedy })];
}

/** The listed sessions of users, and the latest expiry among them (RFC 3339). */
async function listedSessions(target: Target, userIds: readonly number[]) {
  let [count, last] = [0, 0];
  for await (const { expires } of sessionsOf(target, userIds)) {
    count += 1;
    last = Math.max(last, expires.getTime());
  }
  return { count, until: new Date(last).toISOString() };
}
