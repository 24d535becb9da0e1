import type { AccessPath } from '../../src/domain/access.ts';
import type { LockdownScope, Measures } from '../../src/domain/incident/incident.ts';
import { type IncidentStatus, incidentStatus } from '../../src/operations/incident/incident-status.ts';
import { type LiftReport, liftIncident } from '../../src/operations/incident/lift.ts';
import {
  type LockDownOptions,
  type LockdownReport,
  lockDown,
} from '../../src/operations/incident/lock-down.ts';
import { type LockdownPlan, planLockdown } from '../../src/operations/incident/plan-lockdown.ts';
import type { SnapshotFiles } from '../../src/operations/incident/snapshot.ts';
import { databaseFixture, fixture } from './fixture.ts';
import { refreshToken } from './memory-refresh-tokens.ts';
import { token } from './tokens.ts';

/** Everything there is, for everyone. */
export const ALL: LockdownScope = { kind: 'all' };

/** What a lockdown of everything does by default, and deactivates users. */
export const EVERY_MEASURE: Measures = {
  basicAuthentication: true,
  externalTokens: true,
  deactivate: true,
  keepActive: [],
  lifetimes: true,
};

/** Nothing but revoking. */
export const NO_MEASURE: Measures = {
  basicAuthentication: false,
  externalTokens: false,
  deactivate: false,
  keepActive: [],
  lifetimes: false,
};

class MemoryFiles implements SnapshotFiles {
  readonly written = new Map<string, string>();
  create = (name: string) => {
    let text = '';
    return Promise.resolve({
      path: `/state/${name}`,
      write: (more: string) => {
        text += more;
        return Promise.resolve();
      },
      commit: () => {
        this.written.set(name, text);
        return Promise.resolve('f'.repeat(64));
      },
      discard: () => Promise.resolve(),
    });
  };
}

/** What a lockdown is made with, besides what all of them share. */
interface Asked extends Partial<Omit<LockDownOptions, 'plan'>> {
  readonly scope?: LockdownScope;
  readonly measures?: Measures;
  /** In milliseconds. */
  readonly lasts?: number;
  readonly count?: boolean;
}

/** A target of some tokens, with a log; over REST, or as a database with refresh tokens and sessions. */
export async function incidentFixture(kind: 'rest' | 'database', tokens = 5) {
  const at = await (kind === 'database' ? databaseFixture(tokens) : fixture(tokens));
  const files = new MemoryFiles();
  at.target.values = { ...at.target.values, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true };
  if (kind === 'database') {
    at.target.refresh.rows.set(1, refreshToken({ id: 1 }));
    at.target.refresh.rows.set(2, refreshToken({ id: 2, accessTokenId: 1 }));
    at.target.alive.set(1, token({ id: 1, hasRefreshToken: true }));
  }
  const plan = ({
    scope = ALL,
    measures = EVERY_MEASURE,
    lasts,
    ...other
  }: Asked = {}): Promise<LockdownPlan> =>
    planLockdown({ ...at.common, ...other, scope, measures, lasts: lasts ?? null });
  return {
    ...at,
    files,
    get common() {
      return at.common;
    },
    plan,
    async lockDown(asked: Asked = {}): Promise<LockdownReport> {
      const { scope: _scope, measures: _measures, lasts: _lasts, ...other } = asked;
      return await lockDown({ ...at.common, files, ...other, plan: await plan(asked) });
    },
    lift: (incident: string, other: Partial<Parameters<typeof liftIncident>[0]> = {}): Promise<LiftReport> =>
      liftIncident({ ...at.common, ...other, incident }),
    async status(all = false): Promise<readonly IncidentStatus[]> {
      return (await incidentStatus({ ...at.common, all })).incidents;
    },
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

/** The ways in that were to be closed, of a state. */
export function pathsThat(
  state: AccessPath['state'],
  paths: readonly AccessPath[] | undefined,
): readonly AccessPath['path'][] {
  const found = (paths ?? []).filter((each) => each.covered && each.state === state);
  return found.map(({ path }) => path);
}
