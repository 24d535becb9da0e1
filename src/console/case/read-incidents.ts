import type { Runtime } from '../../app/runtime.ts';
import { pathName, sentenceOf } from '../../domain/access.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { incidentStatus, isDue } from '../../operations/incident/incident-status.ts';
import { readIncidentHistories } from '../../operations/journal/recorded-incidents.ts';
import { type Problem, problemOf } from '../operations.ts';
import { isUnread, recordedPlace } from './case-controller.ts';

/** The incidents of a context, and when they were compared with it. */
export type Incidents = Awaited<ReturnType<typeof incidentsOf>>;

/**
 * Reads {@link Incidents}.
 * @param evidence Opens the activity stream, to report its gaps.
 */
export async function incidentsOf(
  runtime: Pick<Runtime, 'description' | 'targetClock' | 'target' | 'auditLog'>,
  evidence?: Runtime['evidence'],
) {
  const description = await runtime.description();
  const clock = await runtime.targetClock();
  const [target, log] = [await runtime.target(), await runtime.auditLog()];
  const found = await incidentStatus({ target, description, log, clock, evidence, all: true });
  const incidents = found.incidents.map((each) => ({
    ...each,
    accessPaths: each.accessPaths.map((path) => ({
      ...path,
      name: pathName(path.path),
      how: sentenceOf(path),
    })),
  }));
  return { ...found, incidents, at: clock.now(), address: description.address };
}

/** The incidents of a context; from the audit log alone if its controller is unavailable, with the reason. */
export interface IncidentList extends Pick<Incidents, 'incidents' | 'at' | 'stream'> {
  /** Null if the controller answered. */
  readonly unread: Problem | null;
}

/**
 * Reads {@link IncidentList}.
 * @throws TokenctlError `audit_unavailable`, and errors that do not concern the availability of the
 * controller.
 */
export async function incidentList(runtime: Runtime, place: string): Promise<IncidentList> {
  try {
    const { incidents, at, stream } = await incidentsOf(runtime, runtime.evidence);
    return { incidents, at, stream, unread: null };
  } catch (error) {
    if (!isUnread(error)) throw error;
    const problem = problemOf(error);
    const controller = await recordedPlace(runtime, place);
    const now = runtime.clock.now();
    if (controller === null) return { incidents: [], at: now, stream: null, unread: problem };
    const at = new Date(now.getTime() + controller.aheadMs);
    const histories = await readIncidentHistories(await runtime.auditLog());
    const { address } = controller;
    return {
      incidents: histories
        .at(controller)
        .incidents.map((each) => uncheckedIncident(each, { address, at, problem })),
      at,
      stream: null,
      unread: problem,
    };
  }
}

/** An incident from the audit log alone: whether it is in effect is unknown. */
export function uncheckedIncident(
  incident: Incident,
  { address, at, problem }: { address: string; at: Date; problem: Problem },
): Incidents['incidents'][number] {
  const isOpen = incident.state !== 'lifted';
  return {
    ...{ ...incident, address, isOverdue: isOpen && isDue(incident, at) },
    ...{ values: [], aliveCount: 0, alive: [], lifetimes: null, accessPaths: [], names: [] },
    holds: isOpen ? null : false,
    notSeen: isOpen ? problem.message.replace(/\.$/, '') : null,
  };
}
