import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import {
  findResource,
  findResourceId,
  MAKERS_FROM,
  type Makers,
  OF_ORGANIZATION,
  ORGANIZATION_OF,
  type ResourceRow,
  type Storage,
} from './resources.ts';

export interface TeamRecord extends ResourceRow, Makers {
  readonly organization: number;
  readonly organization_name: string;
  readonly organization_description: string;
}

/** Rows `x` of main_team with their organization `o`, creator `c` and last editor `m`. */
export const TEAMS: Storage = {
  table: 'main_team',
  from: sql`main_team x ${OF_ORGANIZATION} ${MAKERS_FROM}`,
  columns: ORGANIZATION_OF,
  written: ['name', 'description', 'organization'],
  owner: 'organization_id',
  roles: 'team',
  memberships: ['admin', 'member'],
  hasMakers: true,
};

export function findTeam(database: Queryable, id: number): Promise<TeamRecord | null> {
  return findResource(database, TEAMS, id);
}

export function findTeamId(database: Queryable, name: string, organization: string): Promise<number | null> {
  return findResourceId(database, TEAMS, sql`x.name = ${name} AND o.name = ${organization}`);
}
