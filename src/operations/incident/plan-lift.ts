import type { AccessPath } from '../../domain/access.ts';
import type { Incident, Lock, LockValue } from '../../domain/incident/incident.ts';
import type { Hold } from '../../domain/incident/incident-history.ts';
import { shellWord } from '../../domain/remedies.ts';
import { numberSince } from '../audit-log/list-log.ts';
import { isSameController, listOf, objectOf } from '../journal/journal.ts';
import { readIncidentHistories, requireIncident } from '../journal/recorded-incidents.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadTarget, Target, TargetDescription } from '../ports/target.ts';
import { notPossible } from '../scope/target-parts.ts';
import { requireFullView } from '../scope/visibility.ts';
import { returningSessions } from '../sessions/returning-sessions.ts';
import { countRevived } from '../tokens/list-refresh-tokens.ts';
import { foundOf, isDue, usersNow } from './incident-status.ts';
import { type LeftItems, leftItems } from './left-items.ts';

/** A setting, role or state as displayed text. */
export function valueText(value: boolean | number): string {
  return typeof value === 'number' ? String(value) : value ? 'on' : 'off';
}

/** What happens to one value that an incident set. */
export interface LiftItem extends Lock {
  /** The current value; null if it no longer exists. */
  readonly found: LockValue | null;
  /**
   * `restore`: set the original value. `waits`: the user stays deactivated until earlier sessions have
   * expired. `stays`: the user stays deactivated, or the role removed, as requested, until a lift restores
   * it. `as_before`: it already has that value. `kept`: another incident holds it. `changed`: it was changed
   * since. `ended_since`: another run ended it since, so it stays as it is. `gone`: the user was deleted.
   */
  readonly action: 'restore' | 'waits' | 'stays' | 'as_before' | 'kept' | 'changed' | 'ended_since' | 'gone';
  /** The last run that offboarded the user or set the setting since it was locked; null if there is none. */
  readonly endedBy: LaterRun | null;
  /** Ids of the other incidents that hold it; with ` at ` and the address for another of the controller. */
  readonly others: readonly string[];
}

/** A run after the lockdown, from the audit log. */
export interface LaterRun {
  readonly operation: string;
  readonly run: string;
  /** RFC 3339. */
  readonly at: string;
  readonly by: Readonly<Record<string, string>>;
}

export interface LiftPlan {
  readonly incident: Incident;
  /** Where it was locked down: the target, or another address of its controller. */
  readonly address: string;
  /** In working order: the last lock first. */
  readonly items: readonly LiftItem[];
  /** Whether users stay deactivated and roles removed. */
  readonly keepsDeactivated: boolean;
  /** How many expired refresh tokens a raised REFRESH_TOKEN_EXPIRE_SECONDS revives; null if not listed. */
  readonly revived: number | null;
  /** Earlier sessions that are accepted again once the users are active; empty if there are none. */
  readonly accessPaths: readonly AccessPath[];
  /** Irreversible items that the cleanings of the incident left; null if there are none. */
  readonly leftByCleaning: LeftItems | null;
}

/**
 * Computes what lifting an incident would do. Reads only. For a lifted incident, only what its lift left can
 * be restored.
 * @param options `acceptSessions` activates users whose earlier sessions are then accepted again; otherwise
 * they wait until these have expired. `keepDeactivated` as in {@link liftIncident}.
 * @throws TokenctlError `not_found` for an incident that the log does not have.
 */
export async function planLift(
  options: ReadTarget & {
    readonly log: Pick<AuditLog, 'entries' | 'head'>;
    readonly incident: string;
    readonly acceptSessions?: boolean;
    readonly keepDeactivated?: boolean | undefined;
  },
): Promise<LiftPlan> {
  const { description, log } = options;
  requireFullView(description, 'Lifting an incident');
  const histories = (await readIncidentHistories(log)).ofController(description);
  const { incident, history } = requireIncident(histories, options.incident);
  const holds = history.heldBy(incident.id).toReversed();
  const keepsDeactivated = options.keepDeactivated ?? incident.keepsDeactivated;
  const asFound = await itemsOf({ ...options, holds, incident: incident.id });
  const planned = keepsDeactivated ? asFound.map((item) => keptItem(item, description)) : asFound;
  requireUsers(planned, { incident, description });
  const isActivated = ({ what, action }: LiftItem) => what === 'user' && action === 'restore';
  const userIds = planned.filter(isActivated).map(({ userId = 0 }) => userId);
  const accessPaths = await returningSessions(incident, userIds, options);
  const waits = accessPaths.length > 0 && options.acceptSessions !== true;
  const items = planned.map((item) =>
    waits && isActivated(item) ? { ...item, action: 'waits' as const } : item,
  );
  const revived = await revivedBy(items, options);
  const leftByCleaning = await leftItems({ log, description, incident: incident.id });
  return {
    incident,
    address: history.address,
    items,
    keepsDeactivated,
    revived,
    accessPaths,
    leftByCleaning,
  };
}

/**
 * An item of a lift that leaves users deactivated. Another incident that holds the same may be lifted next. A
 * role that the context cannot list is not known to be gone.
 */
function keptItem(item: LiftItem, { capabilities }: TargetDescription): LiftItem {
  const { what, action, found, locked } = item;
  const isUnseen = what === 'role' && action === 'gone' && capabilities.roles !== true;
  const isHeld = action === 'restore' || (action === 'kept' && found === locked);
  return what !== 'setting' && (isHeld || isUnseen) ? { ...item, action: 'stays' } : item;
}

/** A database incident can hold users that the same controller's REST API cannot activate. */
function requireUsers(
  items: readonly LiftItem[],
  { incident, description }: { incident: Incident; description: TargetDescription },
): void {
  const namesOf = (kind: Lock['what']) =>
    items.filter(({ what, action }) => what === kind && action === 'restore').map(({ name }) => name);
  const { deactivateUsers, roles } = description.capabilities;
  const users = deactivateUsers ? [] : namesOf('user');
  const held = roles === true ? [] : namesOf('role');
  if (users.length + held.length === 0) return;
  const what = [
    ...(users.length > 0 ? [`activate ${users.join(', ')}`] : []),
    ...(held.length > 0 ? [`restore ${held.join(', ')}`] : []),
  ];
  throw notPossible(
    `This target cannot ${what.join(' and ')}, which lifting ${incident.id} requires`,
    `Run \`tokenctl incident lift ${incident.id} --context ${shellWord(incident.context)}\`, use a context with sufficient permissions, or lift only its settings with --keep-deactivated.`,
  );
}

function revivedBy(items: readonly LiftItem[], { target, clock }: Parameters<typeof planLift>[0]) {
  const item = items.find(({ name }) => name === 'OAUTH2_PROVIDER.REFRESH_TOKEN_EXPIRE_SECONDS');
  if (item?.action !== 'restore') return Promise.resolve(0);
  return countRevived({ target, clock, from: Number(item.found), to: Number(item.before) });
}

export interface DueIncident {
  readonly id: string;
  /** Where it was locked down. */
  readonly context: string;
  readonly address: string;
}

/** The open incidents that are due, in the order they began. */
export interface DueIncidents {
  readonly here: readonly DueIncident[];
  /** At all other addresses in the audit log. */
  readonly elsewhere: readonly DueIncident[];
}

/** Reads which open incidents of the audit log are due. Reads only. */
export async function dueIncidents(options: {
  readonly description: Pick<TargetDescription, 'address' | 'installUuid'>;
  readonly log: Pick<AuditLog, 'entries'>;
  readonly clock: Clock;
}): Promise<DueIncidents> {
  const { description, log, clock } = options;
  const now = clock.now();
  const due = [...(await readIncidentHistories(log)).all.values()].flatMap(({ address, open }) =>
    open.filter((incident) => isDue(incident, now)).map(({ id, context }) => ({ id, context, address })),
  );
  const isHere = ({ address }: DueIncident) => address === description.address;
  return { here: due.filter(isHere), elsewhere: due.filter((each) => !isHere(each)) };
}

/**
 * The ids of all open incidents of a controller: those at the address of the target in the order they began,
 * then those at its other addresses. Reads only.
 * @throws TokenctlError whatever the log throws.
 */
export async function openIncidents(options: {
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries'>;
}): Promise<readonly string[]> {
  const histories = (await readIncidentHistories(options.log)).ofController(options.description);
  return [...new Set(histories.flatMap(({ open }) => open.map(({ id }) => id)))];
}

async function itemsOf(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  readonly holds: readonly Hold[];
  readonly incident: string;
}): Promise<LiftItem[]> {
  const { target, holds, incident } = options;
  const settings = holds.some(({ lock }) => lock.what === 'setting') ? await target.settings.read() : null;
  const now = { settings, ...(await usersNow(target, holds)) };
  const later = await laterRuns(options);
  return holds.map((hold) => {
    const { lock, before, locked, holders } = hold;
    const found = foundOf(lock, now);
    const others = holders.filter((id) => id !== incident);
    const endedBy = later.get(hold) ?? null;
    const item = { ...lock, before, locked, found, others, endedBy };
    return { ...item, action: actionOf(item) };
  });
}

/**
 * The last run after each lock that independently ended the same access: an offboarding of the user, or a
 * change of the setting. Such a run may have found the value as the lockdown left it, so the value does not
 * show it. A refused change does not count.
 */
async function laterRuns(options: {
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  readonly holds: readonly Hold[];
}): Promise<ReadonlyMap<Hold, LaterRun>> {
  const { description, log, holds } = options;
  const later = new Map<Hold, LaterRun>();
  const [first] = holds.map(({ since }) => since).sort();
  if (first === undefined) return later;
  const open = new Map<number, readonly Hold[]>();
  for await (const entry of log.entries(await numberSince(log, new Date(first)))) {
    const { seq, kind, at, operation, run, actor, target, data, closes } = entry;
    if (!isSameController(target, description)) continue;
    if (kind === 'outcome') {
      const refused = data['result'] === 'refused' ? (open.get(closes ?? 0) ?? []) : [];
      for (const hold of refused.filter((each) => later.get(each)?.run === run)) later.delete(hold);
      continue;
    }
    const ended = holds.filter((hold) => at >= hold.since && ends(entry, hold));
    for (const hold of ended) later.set(hold, { operation, run, at, by: actor });
    open.set(seq, ended);
  }
  return later;
}

/** Whether an intent, or the note of an offboarding with nothing to do, ends what an incident holds. */
function ends({ operation, data }: Entry, { lock }: Hold): boolean {
  if (lock.what !== 'setting') {
    if (operation !== 'users.offboard' || data['step'] !== 'operation') return false;
    if (data['userIds'] !== undefined) return listOf(data['userIds']).includes(lock.userId);
    const user = lock.what === 'user' ? lock.name : lock.name.split(': ', 1)[0];
    return listOf(data['users']).includes(user);
  }
  if (!operation.startsWith('settings.')) return false;
  const [name = '', key] = lock.name.split('.');
  const valueIn = (values: unknown) => {
    const value = objectOf(values)?.[name];
    return key === undefined ? value : objectOf(value)?.[key];
  };
  const after = valueIn(data['after']);
  return after !== undefined && after !== valueIn(data['before']);
}

function actionOf(item: Pick<LiftItem, 'before' | 'locked' | 'found' | 'others' | 'endedBy'>) {
  const { before, locked, found, others, endedBy } = item;
  if (others.length > 0) return 'kept';
  if (found === null) return 'gone';
  if (found === before) return 'as_before';
  if (found !== locked) return 'changed';
  return endedBy === null ? 'restore' : 'ended_since';
}
