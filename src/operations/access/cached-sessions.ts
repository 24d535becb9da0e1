import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  type AccessPath,
  closedPath,
  knownClosedPath,
  lastsUntil,
  uncheckedPath,
} from '../../domain/access.ts';
import type { PlannedSessions } from '../../domain/plan.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { knownSettings } from '../scope/known-settings.ts';

interface ListedNone {
  readonly description: Pick<TargetDescription, 'capabilities' | 'sessionCache'>;
  readonly userIds: PlannedSessions['userIds'];
  /** The latest time at which an unlisted session may have been used. */
  readonly now: Date;
  /** The latest expiry among the sessions that were ended; null if none was ended. */
  readonly latestExpiry: Date | null;
  /** The end time (RFC 3339) that an earlier run recorded for these sessions. */
  readonly recorded?: string | undefined;
}

/**
 * Checks whether sessions of users may still be accepted although none is listed: from a gateway's cache that
 * the target cannot reach, or because their owners are not recorded. A session keeps the lifetime it was
 * created with: it ends no earlier than its row says, whatever the setting is now.
 * @returns Null if there are none. The path is closed while all users are deactivated: a gateway refuses
 * their sessions, cached ones too, and accepts them again once the users are active.
 */
export async function cachedSessions(target: Target, found: ListedNone): Promise<AccessPath | null> {
  const { description, userIds, now } = found;
  const { capabilities, sessionCache } = description;
  if (capabilities.sessionsCached !== true) return null;
  const isUnowned = capabilities.sessionsUnowned !== undefined && userIds !== 'all';
  const isActive = await anyActive(target, userIds);
  // Using a session extends it; a refused session is not extended.
  const hasEnd = !isUnowned || capabilities.sessionsUnowned === 'some' || !isActive;
  const until = hasEnd ? await endOf(target, found, isUnowned) : null;
  const problem = sessionCache?.problem ?? null;
  if (problem !== null) {
    const how = `Not read: ${problem}. ${isActive ? UNREAD_ACCEPTED : UNREAD_REFUSED}`;
    return uncheckedPath('sessions', how, { ...(until !== null && { until }), remedy: UNREAD_REMEDY });
  }
  if (until !== null && Date.parse(until) <= now.getTime()) return closedPath('sessions', EXPIRED);
  const more = until === null ? {} : { until };
  if (!isActive)
    return knownClosedPath('sessions', 'gateway 2.5', isUnowned ? UNOWNED_REFUSED : REFUSED, more);
  const remedy = 'To end them immediately, deactivate the users, or add `cache` to the context.';
  if (isUnowned) return uncheckedPath('sessions', UNOWNED, { ...more, remedy });
  const how = until === null ? `${CACHED} for up to SESSION_COOKIE_AGE.` : `${CACHED}.`;
  return uncheckedPath('sessions', how, { ...more, remedy });
}

const EXPIRED =
  "Verified: none is left in the database. The gateway's cached copies of ended sessions have expired.";
const REFUSED =
  'None is left in the database. A gateway rejects sessions from its cache while their users are deactivated.';
const UNOWNED_REFUSED =
  'The database contains sessions without a recorded owner, which may belong to the selected users. A gateway rejects sessions of deactivated users.';
const UNOWNED =
  'The database contains sessions without a recorded owner, which may belong to the selected users.';
const UNREAD_ACCEPTED = 'The gateway can accept sessions that are only in its cache.';
const UNREAD_REFUSED =
  'A gateway rejects sessions that are only in its cache while their users are deactivated.';
const UNREAD_REMEDY =
  'Check `cache` of the context with `tokenctl context check`, and run the same command again.';
const CACHED = 'None is left in the database, but the gateway can accept ended sessions from its cache';

/** Why sessions that the target does not list may still be accepted; null if they cannot exist. */
export async function unseenSessions(target: Target, found: ListedNone): Promise<AccessPath | null> {
  const path = await cachedSessions(target, found);
  return path?.state === 'not_checked' ? path : null;
}

/**
 * The failed path of sessions if the gateway's configured cache cannot be read: sessions that exist only
 * there are not listed. Undefined if the cache can be read or none is configured.
 */
export function unreadSessions({
  sessionCache,
}: Pick<TargetDescription, 'sessionCache'>): TokenctlError | undefined {
  const problem = sessionCache?.problem ?? null;
  if (problem === null) return undefined;
  return new TokenctlError(
    'partly_done',
    `Not read: ${problem}. Sessions that are only in the cache are not listed`,
    { hint: 'Check `cache` of the context with `tokenctl context check`.' },
  );
}

/** The latest expiry (RFC 3339) of unlisted sessions; null if unknown. */
async function endOf(
  target: Target,
  { now, latestExpiry, recorded, description: { capabilities } }: ListedNone,
  isUnowned: boolean,
): Promise<string | null> {
  const unowned = isUnowned ? capabilities.sessionsUnownedUntil : undefined;
  // A run that ended no session does not extend the time that an earlier run recorded.
  if (latestExpiry === null && recorded !== undefined)
    return unowned !== undefined && unowned > recorded ? unowned : recorded;
  const byAge = await cookieExpiry(target, now);
  const known = [byAge, latestExpiry?.toISOString(), unowned].filter((each) => typeof each === 'string');
  const ends = recorded === undefined ? known : [...known, recorded];
  return known.length === 0 ? null : (ends.sort().at(-1) ?? null);
}

async function anyActive(target: Target, userIds: PlannedSessions['userIds']): Promise<boolean> {
  if (userIds === 'all') return true;
  const active = new Set(userIds);
  try {
    for await (const { id } of target.users.list({ inactive: true })) active.delete(id);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
  }
  return active.size > 0;
}

/** When a session last used at an instant expires (RFC 3339), by the current setting; null if unreadable. */
export async function cookieExpiry(target: Pick<Target, 'settings'>, used: Date): Promise<string | null> {
  const { values } = await knownSettings(target);
  return values && lastsUntil(used, values.SESSION_COOKIE_AGE);
}
