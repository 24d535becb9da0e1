import { TokenctlError } from '../../domain/errors.ts';
import type { Bound, LockdownScope } from '../../domain/incident/incident.ts';
import type { Evidence, Window } from '../ports/evidence.ts';
import type { ReadTarget } from '../ports/target.ts';

/** What the activity stream has of the names of users, and opens it. */
export type OpenNames = () => Promise<
  Pick<Evidence, 'nameChanges' | 'usersMade'> & { close(): Promise<void> }
>;

/** What is known of names before they are trusted. */
export interface NameHistory {
  /** What a person should know of the names, as sentences; none where nothing speaks against them. */
  readonly remarks: readonly string[];
  /** The users who had one of the names before and may be the ones who are meant. */
  readonly earlier: readonly Bound[];
}

/** The history of a scope without names of users. */
export const NO_HISTORY: NameHistory = { remarks: [], earlier: [] };

/** How far back the names are followed, in milliseconds. */
const PERIOD_MS = 30 * 86_400_000;

/**
 * Looks at the names of users before they are trusted: an intruder can rename an account and give its name to a new one. That the
 * names cannot be followed is a remark and stops no lockdown.
 *
 * @throws TokenctlError as the target does.
 */
export async function nameHistory(
  { target, clock }: Pick<ReadTarget, 'target' | 'clock'>,
  scope: LockdownScope,
  open: OpenNames | undefined,
): Promise<NameHistory> {
  if (open === undefined || scope.kind !== 'users' || scope.bound === undefined) return NO_HISTORY;
  const { bound } = scope;
  const since = new Date(clock.now().getTime() - PERIOD_MS);
  const read = await readNames({ since, until: clock.now() }, open);
  if (read === null) {
    const unread =
      'Not checked: whether another user had one of the names. The activity stream cannot be read.';
    return { remarks: [unread], earlier: [] };
  }
  const { changes, users: all } = read;
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
  const names = new Set(bound.map(({ name }) => name));
  const before = changes.filter(
    ({ userId, from }) => from !== null && names.has(from) && (userId === null || !meant.has(userId)),
  );
  const ids = before.flatMap(({ userId, to }) => (userId === null || to === null ? [] : [userId]));
  const users = ids.length === 0 ? [] : await Array.fromAsync(target.users.list({ ids }));
  const earlier = users.map(({ id, username }) => ({ id, name: username }));
  const others = before.map(({ userId, from, at }) => {
    const now = earlier.find(({ id }) => id === userId);
    const who =
      now === undefined ? 'a user who is not found now' : `user ${userId}, who is called "${now.name}" now`;
    return `Until ${at.toISOString()}, the name "${from}" was that of ${who}.`;
  });
  return { remarks: [...others, ...renamed, ...made], earlier };
}

/** Who got and gave up which names, and who was made; null where that cannot be read. */
async function readNames(window: Window, open: OpenNames) {
  try {
    const evidence = await open();
    try {
      const changes = await evidence.nameChanges(window.since);
      return { changes, users: await evidence.usersMade(window) };
    } finally {
      await evidence.close();
    }
  } catch (error) {
    if (error instanceof TokenctlError && error.code !== 'interrupted') return null;
    throw error;
  }
}
