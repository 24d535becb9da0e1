import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { readIncidentHistories } from '../journal/recorded-incidents.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { usersOf } from '../scope/scope-selection.ts';

interface Place {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly target: Target;
  readonly description: TargetDescription;
}

/**
 * Refuses a token for a locked-down account: the lockdown also applies to its programs.
 * @param of.owner The account; default: that of the context.
 * @param of.what Who gets no token, as the subject of a sentence.
 * @throws TokenctlError `not_approved`; as the log and the target throw.
 */
export async function requireNotLockedDown(
  { log, target, description }: Place,
  of: { readonly owner: string | undefined; readonly what: string },
): Promise<void> {
  const { owner = description.identity.username, what } = of;
  const histories = await readIncidentHistories(log);
  for (const { id, scope } of histories.ofController(description).flatMap(({ open }) => open)) {
    if (!(await isCovered(scope, { target, owner }))) continue;
    throw new TokenctlError('not_approved', `${owner} is locked down (${id}), so ${what} gets no new token`, {
      hint: `Lift it first: tokenctl incident lift ${id}`,
    });
  }
}

async function isCovered(
  scope: Incident['scope'],
  { target, owner }: Pick<Place, 'target'> & { owner: string },
): Promise<boolean> {
  switch (scope.kind) {
    case 'all':
      return true;
    case 'applications':
      return false;
    // A user renamed since is found by id.
    case 'users':
    case 'identity_provider': {
      const isNamed = scope.kind === 'users' && scope.names.includes(owner);
      return isNamed || (await usersOf(scope, target)).some(({ username }) => username === owner);
    }
  }
}
