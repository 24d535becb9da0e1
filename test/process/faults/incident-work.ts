import { snapshotFiles } from '../../../src/app/snapshot-file.ts';
import { liftIncident } from '../../../src/operations/incident/lift.ts';
import { lockDown } from '../../../src/operations/incident/lock-down.ts';
import { planLockdown } from '../../../src/operations/incident/plan-lockdown.ts';
import { markItems } from '../../../src/operations/journal/marked-items.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import type { Target } from '../../../src/operations/ports/target.ts';

/** Where an incident is worked on. */
export interface IncidentPlace {
  readonly target: Target;
  readonly log: AuditLog;
  /** Of the log. */
  readonly path: string;
}

const CHOICES = {
  lift: {},
  'keep deactivated': { keepDeactivated: true },
  restore: { keepDeactivated: false },
};

const clock = { now: () => new Date() };

/** What is done to an incident: `lift` makes the choice of the last lift of it, if there was one. */
export const WORKS = ['lift', 'keep deactivated', 'restore', 'mark by hand'] as const;

/** The item that is marked. */
export const ITEM = 'inventory:2';

/** Locks everything down, with every measure, but keeps `admin` active; with the id of an incident, does that work on it. */
export async function workOn(
  { target, log, path }: IncidentPlace,
  incident?: string,
  work: (typeof WORKS)[number] = 'lift',
): Promise<void> {
  const description = await target.describe();
  const common = { target, description, log, clock, actor: { user: 'test' } };
  if (incident !== undefined) {
    if (work === 'mark by hand')
      await markItems({ ...common, incident, items: [ITEM], as: 'by_hand', isMarked: true });
    else await liftIncident({ ...common, incident, ...CHOICES[work] });
    return;
  }
  const measures = {
    basicAuthentication: true,
    externalTokens: true,
    deactivate: true,
    keepActive: ['admin'],
    lifetimes: true,
  };
  const plan = await planLockdown({ ...common, scope: { kind: 'all' }, measures, lasts: null });
  await lockDown({ ...common, plan, files: snapshotFiles(`${path}.snapshots`) });
}
