import type { Evidence, JobRecord, RoleRecord } from '../operations/ports/evidence.ts';

/** What an investigation of a gateway does not find out, over its API or in its database. */
export abstract class GatewayEvidenceGaps {
  /** A gateway has the newer tables of roles only. */
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

  /** What a gateway has for a setting that no one set is not known. */
  settingDefaults(): ReturnType<Evidence['settingDefaults']> {
    return Promise.resolve(new Map());
  }

  async *jobs(): AsyncGenerator<JobRecord, void> {
    // A gateway runs none.
  }
}
