import { managementCommands } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { PlannedSessions } from '../../domain/plan.ts';
import type { Session } from '../../domain/token.ts';
import type { Capabilities, SessionSelector, Target, TargetDescription } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';

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
  const { userIds } = await resolveNames(target, users === undefined ? {} : { users });
  yield* sessionsOf(target, userIds === null ? 'all' : [...userIds.values()]);
}

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

/** Counts the sessions that are listed. */
export async function countSessions(target: Target, userIds: PlannedSessions['userIds']): Promise<number> {
  let count = 0;
  for await (const _session of sessionsOf(target, userIds)) count += 1;
  return count;
}

/** Counts the sessions that would end now, and says whether others may be accepted. Reads only. */
export async function planSessions(
  target: Target,
  userIds: PlannedSessions['userIds'],
  { capabilities, now }: { readonly capabilities: Capabilities; readonly now: Date },
): Promise<PlannedSessions> {
  const count = await countSessions(target, userIds);
  const unseen = await unseenSessions(target, { capabilities, userIds, now, latestExpiry: null });
  return { userIds, count, ...(unseen !== null && { unseen: unseen.why }) };
}

/** Why sessions that the target does not list may still be accepted. */
export interface UnseenSessions {
  /** As a sentence without a full stop. */
  readonly why: string;
  /** Until when at most; null if that is not known. */
  readonly until: Date | null;
}

/**
 * Finds out whether sessions of users may be accepted although none is listed: from a gateway's cache that the target does not
 * reach, or because their owners are not recorded. A deactivated user's session is refused, from the cache too.
 *
 * @param options.latestExpiry When the last of the sessions that were ended would have expired; null if none was.
 * @returns Null without any.
 */
export async function unseenSessions(
  target: Target,
  options: {
    readonly capabilities: Capabilities;
    readonly userIds: PlannedSessions['userIds'];
    readonly now: Date;
    readonly latestExpiry: Date | null;
  },
): Promise<UnseenSessions | null> {
  const { capabilities, userIds, now, latestExpiry } = options;
  if (capabilities.sessionsCached !== true || !(await anyActive(target, userIds))) return null;
  if (capabilities.sessionsUnowned !== undefined && userIds !== 'all') {
    const until = capabilities.sessionsUnowned === 'some' ? await cookieExpiry(target, now) : null;
    const end = until === null ? '' : `, until ${minuteText(until)}`;
    return {
      why: `Sessions without a recorded owner exist in the database, and may be of the selected users${end}`,
      until,
    };
  }
  const until = latestExpiry ?? (await cookieExpiry(target, now));
  const cached = 'None is left in the database, but the gateway can accept ended sessions from its cache';
  const how = until === null ? 'for up to SESSION_COOKIE_AGE' : `until ${minuteText(until)}`;
  return { why: `${cached} ${how}`, until };
}

function minuteText(at: Date): string {
  return `${at.toISOString().slice(0, 16)}Z`;
}

async function anyActive(target: Target, userIds: PlannedSessions['userIds']): Promise<boolean> {
  if (userIds === 'all') return true;
  const active = new Set(userIds);
  try {
    for await (const { id } of target.users({ inactive: true })) active.delete(id);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
  }
  return active.size > 0;
}

/** When a session expires that was used just now; null if the setting cannot be read. */
async function cookieExpiry(target: Target, now: Date): Promise<Date | null> {
  try {
    return new Date(now.getTime() + (await target.settings.read()).SESSION_COOKIE_AGE * 1000);
  } catch (error) {
    if (error instanceof TokenctlError) return null;
    throw error;
  }
}

/** Sessions were asked for at a target that has none to show: over REST, or a database that cannot. */
export function noSessions(
  description: Pick<TargetDescription, 'dialect' | 'credential' | 'missingRights'>,
): TokenctlError {
  if (description.credential === 'database_role') return noSessionsInTables(description);
  const { endSessions } = managementCommands(description.dialect);
  return new TokenctlError('unsupported', 'This target can neither list nor end sessions', {
    hint:
      endSessions === null
        ? 'Use a database context. This needs a recent release of the gateway.'
        : `Use a database context, or run \`${endSessions}\` on the server.`,
  });
}

/** A role may lack rights for them; without that, a gateway from before its late releases does not tell whose they are. */
function noSessionsInTables({ missingRights }: Pick<TargetDescription, 'missingRights'>): TokenctlError {
  const grants = missingRights
    .filter(({ purpose, grant }) => purpose === 'read' && /session\w* TO /.test(grant))
    .map(({ grant }) => grant);
  if (grants.length > 0) {
    return new TokenctlError('permission_refused', 'The database role cannot read sessions', {
      hint: `Grant it these rights: ${grants.join('; ')}.`,
    });
  }
  return new TokenctlError('unsupported', 'The tables of this database do not record the users of sessions', {
    hint: 'Upgrade the gateway. After `DELETE FROM django_session`, sessions are accepted until their entries in the cache of the gateway expire.',
  });
}
