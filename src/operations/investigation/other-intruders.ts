import type { Incident } from '../../domain/incident/incident.ts';
import type { CleaningObject } from '../../domain/investigation/cleaning.ts';
import { type Deed, readDeed, type StreamEntry } from '../../domain/investigation/deed.ts';
import type { Actor } from '../../domain/investigation/investigation.ts';
import type { Evidence } from '../ports/evidence.ts';
import type { CleaningPlan, KeptItem, PlannedCleaning } from './plan-cleaning.ts';

/** A user who was locked down for an incident. */
export interface Suspect {
  readonly id: number;
  readonly incident: string;
  /** When the user's work may have become an intruder's. */
  readonly since: Date;
}

/** How long before a lockdown the theft may have begun, in ms: the default period of an investigation. */
const PERIOD_MS = 30 * 86_400_000;

/** The users locked down by name, including by lockdowns that were lifted since. */
export function suspectsIn(incidents: readonly Incident[]): Suspect[] {
  return incidents.flatMap(({ id: incident, scope, since }) => {
    const at = new Date(new Date(since).getTime() - PERIOD_MS);
    return scope.kind === 'users' ? (scope.bound ?? []).map(({ id }) => ({ id, incident, since: at })) : [];
  });
}

/** The maximum number of entries read per object to find who set a value. */
const MAX_ENTRIES = 20_000;

type Restore = Extract<PlannedCleaning['act'], { readonly act: 'restore' }>;

/**
 * Removes from a plan what would restore the work of another intruder: fields whose previous value was set by
 * a user who is the subject of an incident. These are left to a person.
 */
export async function withoutOtherIntruders(
  plan: CleaningPlan,
  { evidence, suspects }: { evidence: Evidence; suspects: readonly Suspect[] },
): Promise<CleaningPlan> {
  const own = new Set(plan.investigation.chain.map(({ user }) => user.id));
  const others = suspects.filter(({ id }) => !own.has(id));
  if (others.length === 0) return plan;
  const clean: PlannedCleaning[] = [];
  const keep: KeptItem[] = [...plan.keep];
  for (const planned of plan.clean) {
    const { item, act } = planned;
    const authors = act.act === 'restore' ? await authorsOf(evidence, act) : new Map<string, Author>();
    const hostile = [...authors].flatMap(([field, { user, at }]) => {
      const suspect = others.find(({ id, since }) => id === user.id && at >= since);
      return suspect === undefined ? [] : [{ field, username: user.username, incident: suspect.incident }];
    });
    const left =
      act.act === 'restore'
        ? withoutFields(
            act,
            hostile.map(({ field }) => field),
          )
        : act;
    if (left !== null) clean.push({ ...planned, act: left });
    for (const { field, username, incident } of hostile) {
      const why = `The previous value of ${field} was set by ${username}, the subject of ${incident}. Restore it manually.`;
      keep.push({ item, reason: 'by_hand', why });
    }
  }
  return { ...plan, clean, keep };
}

interface Author {
  readonly user: Actor;
  readonly at: Date;
}

/** Null if nothing is left to restore. */
function withoutFields(act: Restore, hostile: readonly string[]): Restore | null {
  const fields = act.fields.filter(({ field }) => !hostile.includes(field));
  return fields.length === 0 && act.survey === null ? null : { ...act, fields };
}

/** Who set the values that would be restored, according to the activity stream. */
async function authorsOf(evidence: Evidence, { object, fields }: Restore) {
  const authors = new Map<string, Author>();
  let read = 0;
  for await (const entry of entriesAbout(evidence, object)) {
    read += 1;
    if (read > MAX_ENTRIES) break;
    const deed = readDeed(entry);
    for (const { field, entry: first } of deed === null ? [] : fields) {
      if (deed === null || deed.id >= first || !sets(deed, field)) continue;
      if (deed.actor === null) authors.delete(field);
      else authors.set(field, { user: deed.actor, at: deed.at });
    }
  }
  return authors;
}

function entriesAbout(evidence: Evidence, { kind, id }: CleaningObject): AsyncIterable<StreamEntry> {
  if (kind === 'setting') return evidence.settingEntries(0);
  return evidence.entriesAbout({ kind, ids: id === null ? [] : [id], after: 0, notBy: [], read: new Map() });
}

/** Whether an entry set a field, or a setting of this name. */
function sets({ operation, object, changes }: Deed, field: string): boolean {
  if (operation !== 'update' && operation !== 'create') return false;
  return object.kind === 'setting' ? object.name === field : Object.hasOwn(changes, field);
}
