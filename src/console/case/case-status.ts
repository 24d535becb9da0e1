import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { readIncidentHistories, requireIncident } from '../../operations/journal/recorded-incidents.ts';
import { type Problem, problemOf } from '../operations.ts';
import {
  type CaseController,
  type CaseOf,
  controllerOfCase,
  isUnread,
  recordedController,
} from './case-controller.ts';
import { type Incidents, incidentsOf, uncheckedIncident } from './read-incidents.ts';

/** The last comparison of an incident's access paths with the controller. */
export interface LastCheck {
  /** By the controller's clock. */
  readonly at: Date | string;
  /** As `holds` of an incident. */
  readonly holds: boolean | null;
}

export interface CaseStatus {
  readonly incident: Incidents['incidents'][number];
  readonly at: Date;
  readonly controller: CaseController;
  /** As in {@link Incidents}. */
  readonly stream: string | null;
  /** Why the controller was unavailable: everything is then from the audit log. Null if it answered. */
  readonly unread: { readonly problem: Problem; readonly last: LastCheck | null } | null;
}

/** Reads the incidents of cases, and stores when each was last compared with its controller. */
export class CaseStatuses {
  readonly #checks = new Map<string, LastCheck>();

  /**
   * The incident of a case; from the audit log alone if the controller is unavailable.
   * @throws TokenctlError `not_found` for an incident that the log does not have for this controller,
   * `audit_unavailable`.
   */
  async read(runtime: Runtime, of: CaseOf): Promise<CaseStatus> {
    try {
      const { incidents, at, address, stream } = await incidentsOf(runtime, runtime.evidence);
      const incident = incidents.find(({ id }) => id === of.incident);
      if (incident === undefined) throw notFound(of.incident, address);
      this.#checks.set(`${incident.address} ${incident.id}`, { at, holds: incident.holds });
      const controller = await controllerOfCase(runtime, of);
      return { incident, at, controller, stream, unread: null };
    } catch (error) {
      if (!isUnread(error)) throw error;
      const controller = await recordedController(runtime, of);
      if (controller === null) throw error;
      return await this.#recorded(runtime, { ...of, controller, error });
    }
  }

  async #recorded(
    runtime: Runtime,
    { incident: id, controller, error }: CaseOf & { controller: CaseController; error: TokenctlError },
  ): Promise<CaseStatus> {
    const { address, aheadMs } = controller;
    const histories = await readIncidentHistories(await runtime.auditLog());
    const { incident } = requireIncident([histories.at(controller)], id);
    const at = new Date(runtime.clock.now().getTime() + aheadMs);
    const problem = problemOf(error);
    const last = this.#checks.get(`${address} ${id}`) ?? null;
    return {
      incident: uncheckedIncident(incident, { address, at, problem }),
      at,
      controller,
      stream: null,
      unread: { problem, last },
    };
  }
}

function notFound(id: string, address: string): TokenctlError {
  return new TokenctlError('not_found', `No incident ${id} at ${address}`, {
    hint: 'The audit log has no such incident for this controller.',
  });
}
