import type { Runtime } from '../../app/runtime.ts';
import { nameToType } from '../../cli/incident/lockdown-flow.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { readIncidentHistories, requireIncident } from '../../operations/journal/recorded-incidents.ts';
import { usersOf } from '../../operations/scope/scope-selection.ts';

/** A user of a closed case, as it is now. */
export interface CaseUser {
  readonly name: string;
  /** Null where it was not read, or is not listed. */
  readonly isActive: boolean | null;
  /** Whether the lift left it deactivated. */
  readonly stays: boolean;
}

/**
 * The users whom a closed case was about, by id where the incident has ids; null for a case that is open, or of other than named
 * users none of whom its lift left deactivated. Without `isRead` by the audit log alone.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function caseUsers(
  runtime: Pick<Runtime, 'target'>,
  { incident, isRead }: { readonly incident: Incident; readonly isRead: boolean },
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
 * What is typed to confirm a change of a case: as for its lockdown the name of the one account that it is about, or else its id. Which
 * case it is stands above the field, and the answer counts for the plan that was shown only.
 *
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function wordOfCase(runtime: Runtime, id: string): Promise<string> {
  const histories = await readIncidentHistories(await runtime.auditLog());
  const { incident } = requireIncident(histories.ofController(await runtime.description()), id);
  return nameToType(incident.scope, incident.id) ?? incident.id;
}
