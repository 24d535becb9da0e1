import { TokenctlError } from '../../domain/errors.ts';
import type { Lock, LockdownScope, Measures } from '../../domain/incident/incident.ts';
import type { IncidentBook } from '../../domain/incident/incident-history.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { KnownUser } from './active-users.ts';
import { usersOf } from './scope-selection.ts';

/** Users to deactivate, and those that are meant and kept. */
export interface UserLocks {
  readonly locks: readonly Lock[];
  readonly kept: readonly string[];
}

/**
 * The locks on users that a scope means now: on those that are active, and on those that another incident has
 * deactivated. The caller is kept, and whom the measures name.
 *
 * @throws TokenctlError `unsupported` where the target deactivates nobody, and whatever the target throws.
 */
export async function userLocks(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  readonly book: IncidentBook;
}): Promise<UserLocks> {
  const { target, description, scope, measures, book } = options;
  if (!measures.deactivate) return { locks: [], kept: [] };
  if (!description.capabilities.deactivateUsers) throw cannotDeactivate();
  const users = await usersOf(scope, target);
  const keeps = ({ id, username }: KnownUser) =>
    id === description.identity.id || measures.keepActive.includes(username);
  return {
    locks: users
      .filter((user) => !keeps(user))
      .map(lockOf)
      .filter((lock) => lock.before === true || book.holdOn(lock) !== null),
    kept: users.filter(keeps).map(({ username }) => username),
  };
}

function lockOf({ id, username, isActive }: KnownUser): Lock {
  return { what: 'user', name: username, userId: id, before: isActive, locked: false };
}

/** Users were to be deactivated at a target that cannot. */
function cannotDeactivate(): TokenctlError {
  return new TokenctlError('unsupported', 'Users cannot be deactivated here', {
    hint: 'There is no deactivation over the REST API here: use a context of the database, whose missing rights `tokenctl context check` names. Without --deactivate everything else is done.',
  });
}
