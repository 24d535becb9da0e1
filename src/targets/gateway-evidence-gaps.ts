import type { Evidence, JobRecord, MissingNumbers, RoleRecord } from '../operations/ports/evidence.ts';

/** What an investigation of a gateway cannot find, over its API or in its database. */
export abstract class GatewayEvidenceGaps {
  /** A gateway has only the new role tables. */
  roles(): Promise<ReadonlyMap<number, RoleRecord>> {
    return Promise.resolve(new Map());
  }

  hasRole(): Promise<null> {
    return Promise.resolve(null);
  }

  hasAssignment(): Promise<null> {
    return Promise.resolve(null);
  }

  hasLink(): Promise<null> {
    return Promise.resolve(null);
  }

  /** A gateway's defaults for unset settings are unknown. */
  settingDefaults(): ReturnType<Evidence['settingDefaults']> {
    return Promise.resolve(new Map());
  }

  async *jobs(): AsyncGenerator<JobRecord, void> {
    // A gateway runs no jobs.
  }

  missingJobs(): Promise<MissingNumbers> {
    return Promise.resolve({ first: 1, last: 0, missing: 0, isEndKnown: true });
  }
}
