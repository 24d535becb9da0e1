import { type AccessPath, recordOf } from '../../domain/access.ts';
import type { Lock } from '../../domain/incident/incident.ts';
import { type Change, OperationRun, type RunEnd, type StepReport } from '../journal/operation-run.ts';
import { incidentReference } from '../journal/recorded-incidents.ts';
import { giveRoles } from './end-local-access.ts';
import { changeTo, settingNamed } from './lock-settings.ts';
import { type LiftItem, type LiftPlan, planLift, valueText } from './plan-lift.ts';
import { setUsers } from './set-users.ts';

export interface LiftReport extends Omit<RunEnd, 'run'> {
  readonly incident: string;
  /** `unchanged`: it was already lifted. */
  readonly result: 'lifted' | 'partly' | 'unchanged';
  readonly steps: readonly StepReport[];
  /** What was left unchanged, and why. */
  readonly left: readonly LiftItem[];
  /** As in {@link LiftPlan}. */
  readonly revived: number | null;
  readonly accessPaths: readonly AccessPath[];
  /** The run's UUID in the audit log; null if there was nothing to do. */
  readonly run: string | null;
}

/**
 * Lifts an incident: restores the earlier values in reverse order, except values that were changed since,
 * that another incident holds, or that another run ended since. Revoked tokens stay revoked. Users stay
 * deactivated while their earlier sessions would be accepted again, until these have expired. Running it
 * again finishes the work; lifting a lifted incident does nothing. With `keepDeactivated`, users stay
 * deactivated and roles stay removed, and the incident is still lifted; if it is not given, the last lift's
 * choice applies. `keepDeactivated: false` restores what a lift left.
 * @throws TokenctlError as any {@link OperationRun}.
 */
export async function liftIncident(
  options: Change & {
    readonly incident: string;
    readonly acceptSessions?: boolean;
    readonly keepDeactivated?: boolean | undefined;
  },
): Promise<LiftReport> {
  using work = new OperationRun(options, 'incident.lift');
  await work.begin();
  const plan = await planLift(options);
  const { incident, items, revived, accessPaths } = plan;
  const { id } = incident;
  const reference = incidentReference({ id, address: plan.address }, options.description);
  const nothing = { incident: id, steps: [], revived: 0, interrupted: false, stopped: null, run: null };
  if (!hasWork(plan)) return { ...nothing, result: 'unchanged', left: items, accessPaths: [] };
  const isWaiting = items.some(({ action }) => action === 'waits');
  if (isWaiting && items.every(({ action }) => action !== 'restore')) {
    const left = items.filter(({ action }) => action !== 'as_before');
    return { ...nothing, result: 'partly', left, accessPaths };
  }
  await work.open({ ...openingOf(plan), ...reference });
  const kept: Kept = new Map();
  for (const group of inOrder(items.filter(({ action }) => action === 'restore'))) {
    const title = TITLES[group.what] ?? `Restoring ${group.items.map(({ name }) => name).join(', ')}`;
    const name = `${group.what}s`;
    await work.take({ name, title }, () => restore(work, { ...group, title, incident: id, kept }));
  }
  const report: LiftReport = {
    incident: id,
    result: work.isWhole && !isWaiting && work.stopped === null ? 'lifted' : 'partly',
    steps: work.steps,
    left: items
      .map((item) => ({ ...item, action: kept.get(item) ?? item.action }))
      .filter(({ action }) => action !== 'restore'),
    revived,
    accessPaths,
    ...work.ending(),
  };
  const { left, run: _run, ...stated } = report;
  await work.close({
    ...stated,
    ...reference,
    steps: work.stepsRecorded,
    accessPaths: recordOf(accessPaths),
    left: left.map(({ what, name, action, endedBy, userId, role }) => ({
      what,
      name,
      action,
      ...(action === 'stays' && { userId, ...(role !== undefined && { role }) }),
      ...(endedBy !== null && { endedBy: endedBy.run }),
    })),
  });
  return report;
}

/** Whether there is anything to lift, or to restore that an earlier lift left. */
export function hasWork({ incident, items, keepsDeactivated }: LiftPlan): boolean {
  return incident.state !== 'lifted' || (items.length > 0 && !keepsDeactivated);
}

function openingOf({ items, keepsDeactivated }: LiftPlan) {
  return {
    keepDeactivated: keepsDeactivated,
    items: items.map(({ what, name, before, found, action }) => ({ what, name, before, found, action })),
  };
}

const TITLES: Readonly<Partial<Record<Lock['what'], string>>> = {
  user: 'Activating users',
  role: 'Giving roles back',
};

/** Items of a kind that are restored in one step. */
interface Group {
  readonly what: Lock['what'];
  readonly items: readonly LiftItem[];
}

/** Consecutive runs of settings and of users: lifetimes, users, switches. */
function inOrder(items: readonly LiftItem[]): readonly Group[] {
  const groups: { readonly what: Group['what']; readonly items: LiftItem[] }[] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last?.what === item.what && part(last.items[0]) === part(item)) last.items.push(item);
    else groups.push({ what: item.what, items: [item] });
  }
  return groups;
}

/** Lifetimes are a step of their own. */
function part(item: LiftItem | undefined): boolean {
  return item?.name.startsWith('OAUTH2_PROVIDER.') === true;
}

/** Settings that changed between the plan and the step that would restore them; they are left as they are. */
type Kept = Map<LiftItem, 'as_before' | 'changed'>;

async function restore(
  work: OperationRun,
  group: Group & { readonly title: string; readonly incident: string; readonly kept: Kept },
): Promise<readonly (StepReport | null)[]> {
  const { items, incident, title, kept } = group;
  const common = { incident };
  if (group.what === 'user')
    return [await setUsers(work, { users: items.map(userOf), active: true, common, key: 'users' })];
  if (group.what === 'role') return [await giveRoles(work, items, common)];
  const settings = items.map(({ name, before, found }) => ({ name, from: found, to: before }));
  const act = async () => {
    const before = await work.target.settings.read();
    for (const item of items) {
      const now = settingNamed(before, item.name);
      if (now !== item.found) kept.set(item, now === item.before ? 'as_before' : 'changed');
    }
    const values = items
      .filter((item) => !kept.has(item))
      .map(({ name, before: value }) => ({ name, value }));
    if (values.length > 0) await work.target.settings.write(changeTo(values, before));
    const after = await work.target.settings.read();
    const left = values.filter(({ name, value }) => settingNamed(after, name) !== value);
    const message =
      left.length > 0
        ? `The target accepted the change but reports different values: ${left.map(({ name }) => name).join(', ')}.`
        : values.length > 0
          ? `Restored ${values.map(({ name, value }) => `${name} ${valueText(value)}`).join(', ')}.`
          : 'Nothing was restored because all values have changed since.';
    const now = Object.fromEntries(items.map(({ name }) => [name, settingNamed(after, name)]));
    return { result: left.length > 0 ? ('partly' as const) : ('done' as const), message, data: { now } };
  };
  return [await work.step({ name: 'settings', title, common, intent: { settings }, act })];
}

function userOf({ name, userId, before, locked }: LiftItem) {
  return { name, before, locked, ...(userId !== undefined && { userId }) };
}
