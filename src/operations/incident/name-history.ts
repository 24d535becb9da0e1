import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Bound } from '../../domain/incident/incident.ts';
import { shellWord } from '../../domain/remedies.ts';
import { streamHole } from '../investigation/stream-hole.ts';
import { endOfNow } from '../ports/clock.ts';
import type { Window } from '../ports/evidence.ts';
import type { ReadTarget } from '../ports/target.ts';
import { readUsers } from '../scope/scope-selection.ts';

/** The recent history of names, read before they are trusted. */
export interface NameHistory {
  /** Remarks about the names, as sentences; empty if there is no objection. */
  readonly remarks: readonly string[];
  /** Active users who had one of the names before and may be the intended ones. */
  readonly earlier: readonly Bound[];
  /** Why it is unknown whether another user had one of the names, as a sentence; null if all was read. */
  readonly unread: string | null;
}

/** The history if no user is selected by name. */
export const NO_HISTORY: NameHistory = { remarks: [], earlier: [], unread: null };

/** How far back names are followed, in milliseconds. */
const PERIOD_MS = 30 * 86_400_000;

/**
 * Checks the history of user names before they are trusted: an intruder can rename an account and give its
 * name to a new one. The only place that does so, for everything that selects users by name. Reads only.
 * @param bound The users who have the names now.
 * @param chosen The given names, if they may no longer be in use.
 * @throws TokenctlError as the target does. Errors of the activity stream are in the result.
 */
export async function nameHistory(
  { target, clock, description, openNames }: ReadTarget,
  bound: readonly Bound[],
  chosen: readonly string[] = bound.map(({ name }) => name),
): Promise<NameHistory> {
  if (chosen.length === 0) return NO_HISTORY;
  const until = endOfNow(clock, description);
  const read = await readNames(
    { since: new Date(until.getTime() - PERIOD_MS), until },
    { openNames, description },
  );
  if ('unread' in read) return { ...NO_HISTORY, unread: `${UNREAD} ${read.unread}` };
  const { changes, users: all, hole } = read;
  const made = (all ?? []).flatMap(({ id, username, at }) =>
    bound.some((each) => each.id === id)
      ? [`The user ${username} is new: the account was created at ${at.toISOString()}.`]
      : [],
  );
  const renamed = bound.flatMap(({ id, name }) =>
    changes.flatMap(({ userId, from, to, at }) =>
      userId === id && from !== null && to === name
        ? [`The user ${name} was called "${from}" until ${at.toISOString()}.`]
        : [],
    ),
  );
  const meant = new Set(bound.map(({ id }) => id));
  const names = new Set(chosen);
  const before = changes.filter(
    ({ userId, from }) => from !== null && names.has(from) && (userId === null || !meant.has(userId)),
  );
  const ids = before.flatMap(({ userId, to }) => (userId === null || to === null ? [] : [userId]));
  const users = ids.length === 0 ? [] : await readUsers(target, { ids });
  const others = before.map(({ userId, from, at }) => {
    const now = users.find(({ id }) => id === userId);
    const who =
      now === undefined
        ? 'a user who cannot be found'
        : `user ${userId}, who is now called "${now.username}"${now.isActive ? '' : ', inactive,'}`;
    return `Until ${at.toISOString()}, the name "${from}" belonged to ${who}.`;
  });
  return {
    remarks: [...others, ...renamed, ...made],
    earlier: users.filter(({ isActive }) => isActive).map(({ id, username }) => ({ id, name: username })),
    unread: hole === null ? null : `${UNREAD} ${hole}`,
  };
}

const UNREAD = 'Not read: whether another user had one of the names in the last 30 days.';

/** The name changes, the created users and gaps in the stream; or why they cannot be read. */
async function readNames(
  window: Window,
  { openNames: open, description }: Pick<ReadTarget, 'openNames' | 'description'>,
) {
  if (open === undefined) return { unread: 'This context has no activity stream.' };
  try {
    const evidence = await open();
    try {
      const changes = await evidence.nameChanges(window.since);
      const users = await evidence.usersMade(window);
      const missing = await evidence.missingEntries(window.since);
      const hole = streamHole({ extent: await evidence.extent(window), missing, users, window, description });
      // A single number without an entry is normal: a failed request leaves one, too.
      return { changes, users, hole: hole?.isEmptied === true ? hole.text : null };
    } finally {
      await evidence.close();
    }
  } catch (error) {
    if (error instanceof TokenctlError && error.code !== 'interrupted')
      return { unread: `${error.message}.` };
    throw error;
  }
}

/** What is known of the names, as sentences: shown first in a plan and in a result. */
export function historyText({ unread, remarks }: NameHistory): readonly string[] {
  return [...(unread === null ? [] : [unread]), ...remarks];
}

/**
 * The failure if another user had a given name, or if that could not be read: that user keeps access, and
 * only a person knows who was meant. `place` has the context, and the command that does the same for another
 * user.
 */
export function namesFailure(
  { earlier, unread }: NameHistory,
  { context, command }: { context: string; command: string },
): TokenctlError | undefined {
  const [first] = earlier;
  if (first !== undefined) {
    const who = earlier.map(({ id, name }) => `${name} (${id})`).join(', ');
    return new TokenctlError('partly_done', `Still active: ${who}, who had the name before`, {
      hint: `If you mean this account: tokenctl ${command} ${shellWord(first.name)} --context ${shellWord(context)}`,
    });
  }
  if (unread === null) return undefined;
  return new TokenctlError('partly_done', 'Not read: whether another user had one of the names', {
    hint: 'Use a context with permission to investigate (`tokenctl docs database`, Permissions), or check that each name belongs to the intended account.',
  });
}
