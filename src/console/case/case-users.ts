import type { Runtime } from '../../app/runtime.ts';
import { nameToType } from '../../cli/incident/lockdown-flow.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { readIncidentHistories, requireIncident } from '../../operations/journal/recorded-incidents.ts';
import { usersOf } from '../../operations/scope/scope-selection.ts';

/** The current state of a closed case's user. */
export interface CaseUser {
  readonly name: string;
  /** Null if not read, or not listed. */
  readonly isActive: boolean | null;
  readonly stays: boolean;
}

/**
 * The users of a closed case, by id if the incident has ids; null for an open case, and for a case without
 * named users whose lift left no one deactivated. Without `isRead`, from the audit log alone.
 * @throws TokenctlError whatever the target throws.
 */
export async function caseUsers(
  runtime: Pick<Runtime, 'target'>,
  { incident, isRead }: { incident: Incident; isRead: boolean },
): Promise<readonly CaseUser[] | null> {
  const { scope, state, stays } = incident;
  const left = stays.filter(({ what }) => what === 'user');
  const named = scope.kind === 'users' ? (scope.bound ?? scope.names.map((name) => ({ name }))) : [];
  const meant = named.length > 0 ? named : left.map(({ name, userId = 0 }) => ({ name, id: userId }));
  if (state !== 'lifted' || meant.length === 0) return null;
  const bound = meant.flatMap((each) => ('id' in each ? each : []));
  const found = isRead
    ? await usersOf(
        {
          kind: 'users',
          names: meant.map(({ name }) => name),
          ...(bound.length === meant.length && { bound }),
        },
        await runtime.target(),
      )
    : [];
  return meant.map((each) => {
    const user = found.find(({ id, username }) => ('id' in each ? id === each.id : username === each.name));
    return {
      name: user?.username ?? each.name,
      isActive: user?.isActive ?? null,
      stays: left.some(({ name, userId }) => ('id' in each ? userId === each.id : name === each.name)),
    };
  });
}

/**
 * The answer that confirms a change of a case: as for its lockdown the name of its single account, otherwise
 * its id. The case is shown above the field, and the answer is only valid for the displayed plan.
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function wordOfCase(runtime: Runtime, id: string): Promise<string> {
  const histories = await readIncidentHistories(await runtime.auditLog());
  const { incident } = requireIncident(histories.ofController(await runtime.description()), id);
  return nameToType(incident.scope, incident.id) ?? incident.id;
}
