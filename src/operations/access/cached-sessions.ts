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

/** What is known of sessions when none is listed. */
interface ListedNone {
  readonly description: Pick<TargetDescription, 'capabilities' | 'sessionCache'>;
  readonly userIds: PlannedSessions['userIds'];
  /** When those that are not listed may have been used last. */
  readonly now: Date;
  /** When the last of the sessions that were ended would have expired; null if none was. */
  readonly latestExpiry: Date | null;
  /** The time (RFC 3339) that an earlier run said for the same sessions, which may have ended them. */
  readonly recorded?: string | undefined;
}

/**
 * Finds out whether sessions of users may be accepted although none is listed: from a gateway's cache that
 * the target does not reach, or because their owners are not recorded. A session keeps the age that it was
 * made with, so that its end is not earlier than the row said, whatever the setting says now.
 * @returns Null without any. The path is closed while all users are deactivated: a gateway refuses their
 * sessions, from the cache too, and accepts them again once the users are active.
 */
export async function cachedSessions(target: Target, found: ListedNone): Promise<AccessPath | null> {
  const { description, userIds, now } = found;
  const { capabilities, sessionCache } = description;
  if (capabilities.sessionsCached !== true) return null;
  const isUnowned = capabilities.sessionsUnowned !== undefined && userIds !== 'all';
  const isActive = await anyActive(target, userIds);
  // A session that is used is extended; one that is refused is not.
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

/** Why sessions that the target does not list may be accepted now; null if that is ruled out. */
export async function unseenSessions(target: Target, found: ListedNone): Promise<AccessPath | null> {
  const path = await cachedSessions(target, found);
  return path?.state === 'not_checked' ? path : null;
}

/**
 * The failure of what names sessions if the configured cache of a gateway cannot be read: sessions that are only there are not among
 * them. Undefined if it can, or if none is configured.
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

/** When the last session that is not listed has expired (RFC 3339); null if that is not known. */
async function endOf(
  target: Target,
  { now, latestExpiry, recorded, description: { capabilities } }: ListedNone,
  isUnowned: boolean,
): Promise<string | null> {
  const unowned = isUnowned ? capabilities.sessionsUnownedUntil : undefined;
  // A run that ended none does not push on what an earlier one said.
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

/** When a session expires that was used at an instant (RFC 3339), by the setting as it is now; null if that cannot be read. */
export async function cookieExpiry(target: Pick<Target, 'settings'>, used: Date): Promise<string | null> {
  const { values } = await knownSettings(target);
  return values && lastsUntil(used, values.SESSION_COOKIE_AGE);
}
