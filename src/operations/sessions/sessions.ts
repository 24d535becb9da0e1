import { TokenctlError } from '@tokenctl/common/errors.ts';
import { managementCommands } from '../../domain/dialect.ts';
import type { PlannedSessions } from '../../domain/plan.ts';
import { shellWord } from '../../domain/remedies.ts';
import type { Session } from '../../domain/token.ts';
import { unseenSessions } from '../access/cached-sessions.ts';
import { missingSessionRights } from '../access/not-covered.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { notPossible } from '../scope/target-parts.ts';
import { countSessions, sessionsOf } from '../scope/user-sessions.ts';

/**
 * Streams the sessions of these users, or all if no user is named. Reads only.
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` if the target lists none.
 */
export async function* listSessions(options: {
  target: Target;
  users?: readonly string[] | undefined;
}): AsyncIterable<Session> {
  const { target, users } = options;
  const { userIds } = await resolveNames(target, users === undefined ? {} : { users });
  yield* sessionsOf(target, userIds === null ? 'all' : [...userIds.values()]);
}

/** Counts the sessions that would end now, and says whether others may be accepted. Reads only. */
export async function planSessions(
  target: Target,
  userIds: PlannedSessions['userIds'],
  { description, now }: { description: TargetDescription; now: Date },
): Promise<PlannedSessions> {
  const count = await countSessions(target, userIds);
  const unseen = await unseenSessions(target, { description, userIds, now, latestExpiry: null });
  return { userIds, count, unseen: unseen ?? undefined };
}

/** The error for a target without sessions: over REST, or a database that cannot list them. */
export function noSessions(
  description: Pick<TargetDescription, 'dialect' | 'credential' | 'missingRights' | 'databaseContext'>,
): TokenctlError {
  if (description.credential === 'database_role') return noSessionsInTables(description);
  const { dialect, databaseContext } = description;
  const other =
    databaseContext === undefined ? 'a database context' : `--context ${shellWord(databaseContext)}`;
  const { endSessions } = managementCommands(dialect);
  const hint =
    endSessions === null
      ? `Use ${other}.${dialect === 'gateway' ? ' This requires a recent gateway release.' : ''}`
      : `Use ${other}, or run \`${endSessions}\` on the server.`;
  return notPossible('This target can neither list nor end sessions', hint);
}

/** A role may lack rights for them. If it does not, an early gateway does not show whose they are. */
function noSessionsInTables({ missingRights }: Pick<TargetDescription, 'missingRights'>): TokenctlError {
  const grants = missingSessionRights(missingRights).map(({ grant }) => grant);
  if (grants.length > 0) {
    return new TokenctlError('permission_refused', 'The database role cannot read sessions', {
      hint: `Grant it these permissions: ${grants.join('; ')}.`,
    });
  }
  return notPossible(
    'The tables of this database do not record which users sessions belong to',
    'Upgrade the gateway. After `DELETE FROM django_session`, sessions are accepted until their entries in the cache of the gateway expire.',
  );
}
