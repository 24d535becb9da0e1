import { identifier, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { type SharedType, visibleObjects } from '../access.ts';
import type { Relation } from '../listing/fields.ts';
import type { HeldRole } from '../store/object-roles.ts';
import type { UserRecord } from '../store/users.ts';
import { namedRelation } from './resource.ts';

/**
 * Joins the inventory `gi` and the project `gp` of job templates or jobs `x`, with their organizations, if
 * the caller sees them. Otherwise the caller knows only their names, and filters reach nothing else.
 */
export function seenParts(user: UserRecord, held: readonly HeldRole[]): Sql {
  return sql`LEFT JOIN main_inventory gi ON gi.id = x.inventory_id
    AND ${seenPart(user, held, 'inventory', 'gi')}
    LEFT JOIN main_organization gio ON gio.id = gi.organization_id
    LEFT JOIN service_project gp ON gp.id = x.project_id AND ${seenPart(user, held, 'project', 'gp')}
    LEFT JOIN main_organization gpo ON gpo.id = gp.organization_id`;
}

function seenPart(user: UserRecord, held: readonly HeldRole[], type: SharedType, alias: string): Sql {
  const rows = { id: identifier(`${alias}.id`), organization: identifier(`${alias}.organization_id`) };
  return visibleObjects(user, held, { type, ...rows });
}

/**
 * A relation to an object whose id and name callers know.
 * @param seen The alias of the same object if the caller sees it, for its description and its own relations.
 */
export function knownRelation(
  alias: string,
  seen?: { readonly alias: string; readonly relations?: Relation['relations'] },
): Relation {
  const { id, name, description } = namedRelation(alias).fields;
  return {
    searchFields: ['name'],
    fields: {
      ...(id && { id }),
      ...(name && { name }),
      ...(seen &&
        description && { description: { ...description, column: identifier(`${seen.alias}.description`) } }),
    },
    ...(seen?.relations && { relations: seen.relations }),
  };
}

/** The relations of job templates and jobs to their inventory and project, joined by {@link seenParts}. */
export const PART_RELATIONS: Readonly<Record<'organization' | 'inventory' | 'project', Relation>> = {
  organization: knownRelation('o'),
  inventory: knownRelation('i', { alias: 'gi', relations: { organization: namedRelation('gio') } }),
  project: knownRelation('p', { alias: 'gp', relations: { organization: namedRelation('gpo') } }),
};

/** The same for the job template `gj` of jobs, with its inventory's and project's names. */
export function seenPartsOfJobs(user: UserRecord, held: readonly HeldRole[]): Sql {
  const template = seenPart(user, held, 'job_template', 'gj');
  return sql`${seenParts(user, held)}
    LEFT JOIN service_job_template gj ON gj.id = x.job_template_id AND ${template}
    LEFT JOIN main_organization gjo ON gjo.id = gj.organization_id
    LEFT JOIN main_inventory gji ON gji.id = gj.inventory_id
    LEFT JOIN service_project gjp ON gjp.id = gj.project_id`;
}
