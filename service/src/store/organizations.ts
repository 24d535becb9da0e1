import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import {
  findResource,
  findResourceId,
  MAKERS_FROM,
  type Makers,
  type ResourceRow,
  type Storage,
} from './resources.ts';

export interface OrganizationRecord extends ResourceRow, Makers {
  readonly max_hosts: number;
}

/** Rows `x` of main_organization with their creator `c` and last editor `m`. */
export const ORGANIZATIONS: Storage = {
  table: 'main_organization',
  from: sql`main_organization x ${MAKERS_FROM}`,
  columns: sql`x.max_hosts`,
  written: ['name', 'description', 'max_hosts'],
  roles: 'organization',
  memberships: ['admin', 'auditor', 'member'],
  hasMakers: true,
};

export function findOrganization(database: Queryable, id: number): Promise<OrganizationRecord | null> {
  return findResource(database, ORGANIZATIONS, id);
}

export function findOrganizationId(database: Queryable, name: string): Promise<number | null> {
  return findResourceId(database, ORGANIZATIONS, sql`x.name = ${name}`);
}
