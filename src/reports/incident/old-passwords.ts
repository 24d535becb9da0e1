import { objectText } from '../../domain/investigation/collect-items.ts';
import { type InvestigationItem, isSwitchedOff } from '../../domain/investigation/investigation.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import type { OwnAct } from '../../operations/journal/own-acts.ts';

/** The maximum number of users to name. */
const MAX_USERS = 20;

/** Passwords that runs left unchanged: of users that the lockdown deactivated, and of created users. */
export function oldPasswords(report: IncidentReport): readonly string[] {
  const { ownActs } = report;
  const items = report.found?.items ?? [];
  const made = items.filter((item) => item.object.kind === 'user' && isSwitchedOff(item));
  const ids = new Set(made.map(({ object }) => object.id));
  return [
    ...some([...lockedUsers(report)].filter(([id]) => !ids.has(id) && !isReset(ownActs, id))).map(
      ([id, name]) =>
        `The lockdown did not reset the password of ${name}. Unless it was changed since, ${worksText(lastSwitch(ownActs, id))}.`,
    ),
    ...some(made.filter(({ object }) => !isReset(ownActs, object.id))).map(
      (item) =>
        `No run reset the password of ${objectText(item.object)}, which is deactivated, not deleted: ${worksText(undefined)}.${rightsText(item)}`,
    ),
  ];
}

function some<One>(all: readonly One[]): readonly One[] {
  return all.slice(0, MAX_USERS);
}

/** The users that lockdowns deactivated, by id. */
function lockedUsers({ runs, ownActs }: IncidentReport): ReadonlyMap<number, string> {
  const lockdowns = new Set(
    runs.flatMap(({ run, operation }) => (operation === 'incident.lockdown' ? run : [])),
  );
  return new Map(
    ownActs
      .filter((act) => act.kind === 'user' && act.active === false && lockdowns.has(act.run))
      .map(({ id, name }) => [id, name ?? `user ${id}`]),
  );
}

function isReset(acts: readonly OwnAct[], user: number | null): boolean {
  return acts.some(({ kind, id, fields }) => kind === 'user' && id === user && fields.includes('password'));
}

/** The last action that switched a user on or off; undefined for none. */
export function lastSwitch(acts: readonly OwnAct[], user: number | null): OwnAct | undefined {
  return acts.findLast(({ kind, id, active }) => kind === 'user' && id === user && active !== undefined);
}

function worksText(last: OwnAct | undefined): string {
  return last?.active === true
    ? 'it works again because the account was activated again'
    : 'it works again when the account is active';
}

/** The user's original rights that were not found to be removed since. */
function rightsText({ changes }: InvestigationItem): string {
  const kept = changes.find(
    ({ field, hidden, after, now }) => field === 'is_superuser' && !hidden && after === true && now !== false,
  );
  if (kept === undefined) return '';
  return kept.now === true ? ' It is still a superuser.' : ' It was made a superuser.';
}
