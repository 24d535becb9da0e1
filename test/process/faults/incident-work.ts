import { snapshotFiles } from '../../../src/app/snapshot-file.ts';
import { liftIncident } from '../../../src/operations/incident/lift.ts';
import { lockDown } from '../../../src/operations/incident/lock-down.ts';
import { planLockdown } from '../../../src/operations/incident/plan-lockdown.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import type { Target } from '../../../src/operations/ports/target.ts';

/** Where an incident is worked on. */
export interface IncidentPlace {
  readonly target: Target;
  readonly log: AuditLog;
  /** Of the log. */
  readonly path: string;
}

const clock = { now: () => new Date() };

/** Locks everything down, with every measure, but keeps `admin` active; without an id, else lifts that incident. */
export async function workOn({ target, log, path }: IncidentPlace, incident?: string): Promise<void> {
  const description = await target.describe();
  const common = { target, description, log, clock, actor: { user: 'test' } };
  if (incident !== undefined) {
    await liftIncident({ ...common, incident });
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
