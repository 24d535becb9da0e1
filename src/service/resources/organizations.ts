import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { administersOrganization, canCreate, visibleOrganizations } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { requireFieldRights } from '../field-rights.ts';
import type { FieldSet, Relation } from '../listing/fields.ts';
import type { Condition } from '../listing/filters.ts';
import { type Listing, list, requireMatch } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { organizationsWithRole, viewerRow } from '../role-levels.ts';
import { recordApplicationDeletions, recordTeamDeletions, recordTokenDeletions } from '../store/activity.ts';
import { heldRoles } from '../store/object-roles.ts';
import {
  deleteOrganization,
  findOrganization,
  findOrganizationId,
  insertOrganization,
  lockOrganization,
  ORGANIZATION_COLUMNS,
  ORGANIZATION_FROM,
  type OrganizationRecord,
  updateOrganization,
} from '../store/organizations.ts';
import { type Problems, readFields } from './field-values.ts';
import { fixedFields, fixedValues } from './fixed-fields.ts';
import { namedSegment, namesIn, pathId } from './request-values.ts';
import {
  changedValues,
  leadingFields,
  logChange,
  makersJson,
  namedRelation,
  userRelation,
} from './resource.ts';
import { objectRoles, roleFields, roleOfField } from './role-texts.ts';

/** `/api/v2/organizations/` and `/api/v2/organizations/N/`. */
export function serveOrganizations(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/',
    name: 'Organizations',
    description: 'The organizations in which you have a role.',
    fields: organizationFields,
    objectRoles: roleFields('organization'),
    allows: ({ caller }) => canCreate(caller.user, 'organization'),
    handlers: {
      GET: (exchange) => listOrganizations(exchange, visibleOrganizations(exchange.caller.user)),
      POST: create,
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/:id/',
    name: 'Organization',
    description:
      'One organization, by id or by name. DELETE also deletes its teams, its applications and their tokens.',
    fields: organizationFields,
    objectRoles: roleFields('organization'),
    allows: administersNamed,
    handlers: {
      GET: async (exchange) => organizationJson(await matchingOrganization(exchange), exchange.caller, true),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: remove,
    },
  });
}

/** Lists the organizations that meet a condition. */
export async function listOrganizations(exchange: Exchange, visible: Condition): Promise<unknown> {
  const { service, caller } = exchange;
  const held = await heldRoles(service.database, caller.user);
  return list<OrganizationRecord>(exchange, {
    ...rows(exchange, visible),
    columns: ORGANIZATION_COLUMNS,
    withRole: (field, first) => {
      const role = roleOfField('organization', field);
      return role === null ? null : organizationsWithRole(caller.user, held, { role, first });
    },
    render: (organization) => organizationJson(organization, caller),
  });
}

/** The organizations that meet a condition, for filters. */
function rows(
  { caller }: Exchange,
  { sql, values }: Condition,
): Pick<Listing<never>, 'fields' | 'from' | 'visible'> {
  const viewer = viewerRow(caller.user, values.length + 1);
  return {
    fields: organizationFields,
    from: `${ORGANIZATION_FROM} ${viewer.sql}`,
    visible: { sql, values: [...values, ...viewer.values] },
  };
}

/** The organization that the path names. Throws 404, or 403 if the caller may not see it. */
export async function seenOrganization(exchange: Exchange): Promise<OrganizationRecord> {
  const { service, caller } = exchange;
  const organization = await findOrganization(service.database, await organizationId(exchange));
  if (organization === null) throw notFound();
  const { sql, values } = visibleOrganizations(caller.user);
  const seen = await service.database.query(
    `SELECT FROM main_organization o WHERE (${sql}) AND o.id = $${values.length + 1}`,
    [...values, organization.id],
  );
  if (seen.length === 0) throw forbidden();
  return organization;
}

/** The same, if the filters of the query string hold for the organization. */
async function matchingOrganization(exchange: Exchange): Promise<OrganizationRecord> {
  const organization = await seenOrganization(exchange);
  await requireMatch(exchange, rows(exchange, { sql: 'o.id = $1', values: [organization.id] }));
  return organization;
}

/** Whether the caller may change the organization that the path names, and what it has. */
export async function administersNamed(exchange: Exchange): Promise<boolean> {
  return administersOrganization(exchange.caller.user, (await seenOrganization(exchange)).id);
}

async function organizationId({ service, params, request }: Exchange): Promise<number> {
  const { id = '' } = params;
  if (/^\d+$/.test(id)) return pathId(id);
  const [name, ...more] = namesIn(request.url) ?? [];
  const found =
    name === undefined || more.length > 0 ? null : await findOrganizationId(service.database, name);
  if (found === null) throw notFound();
  return found;
}

async function create(exchange: Exchange): Promise<unknown> {
  const made = await createOrganization(exchange);
  exchange.reply.code(201).header('Location', `/api/v2/organizations/${made.id}/`);
  return organizationJson(made, exchange.caller, true);
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { id } = await matchingOrganization(exchange);
  return organizationJson(await changeOrganization(exchange, id, replace), exchange.caller, true);
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { id } = await matchingOrganization(exchange);
  return removeOrganization(exchange, id);
}

/** What belongs to an organization, as far as the viewer sees it. */
function belongings(
  table: string,
  seenBy: 'watches' | 'belongs_to',
  further: Relation['fields'] = {},
): Relation {
  const { fields, searchFields } = namedRelation('r');
  return {
    searchFields,
    fields: { ...fields, ...further },
    many: {
      from: `${table} r`,
      on: `r.organization_id = o.id AND (viewer.sees_all OR o.id = ANY(viewer.${seenBy}))`,
    },
  };
}

export const organizationFields: FieldSet = {
  type: 'organization',
  fields: {
    ...leadingFields({
      type: 'organization',
      name: 'organization',
      alias: 'o',
      summary: 'Who created and last changed it.',
    }),
    name: {
      type: 'string',
      label: 'Name',
      helpText: 'Name of this organization.',
      column: 'o.name',
      writable: 'change',
      required: true,
      maxLength: 512,
    },
    description: {
      type: 'string',
      label: 'Description',
      helpText: 'Purpose of this organization.',
      column: 'o.description',
      writable: 'change',
      defaultValue: '',
    },
    max_hosts: {
      type: 'integer',
      label: 'Max hosts',
      helpText: 'Maximum number of hosts; 0 for no limit.',
      column: 'o.max_hosts',
      writable: 'change',
      defaultValue: 0,
    },
    ...fixedFields({ default_environment: [null, 'have execution environments'] }),
  },
  relations: {
    created_by: userRelation('c'),
    modified_by: userRelation('m'),
    applications: belongings('main_oauth2application', 'belongs_to', {
      client_type: { type: 'string', label: 'Client type', column: 'r.client_type' },
      authorization_grant_type: {
        type: 'string',
        label: 'Grant type',
        column: 'r.authorization_grant_type',
      },
      client_id: { type: 'string', label: 'Client ID', column: 'r.client_id', secret: true },
      client_secret: { type: 'string', label: 'Client secret', column: 'r.client_secret', secret: true },
    }),
    teams: belongings('main_team', 'belongs_to'),
    inventories: belongings('main_inventory', 'watches'),
    projects: belongings('service_project', 'watches'),
  },
  searchFields: ['name', 'description'],
  order: ['name'],
};

/** An organization as the API shows it to a caller. */
function organizationJson(
  organization: OrganizationRecord,
  caller: Caller,
  detail = false,
): Record<string, unknown> {
  const url = `/api/v2/organizations/${organization.id}/`;
  const makers = makersJson(organization);
  const mayEdit = caller.mayWrite && administersOrganization(caller.user, organization.id);
  return {
    id: organization.id,
    type: 'organization',
    url,
    related: {
      ...(detail && { named_url: `/api/v2/organizations/${namedSegment([organization.name])}/` }),
      ...makers.related,
      users: `${url}users/`,
      admins: `${url}admins/`,
      auditors: `${url}auditors/`,
      teams: `${url}teams/`,
      object_roles: `${url}object_roles/`,
      access_list: `${url}access_list/`,
      applications: `${url}applications/`,
      activity_stream: `${url}activity_stream/`,
    },
    summary_fields: {
      ...makers.summary,
      object_roles: objectRoles('organization', {
        ...organization.roles,
        admin: organization.admin_role_id,
        auditor: organization.auditor_role_id,
        member: organization.member_role_id,
      }),
      user_capabilities: { edit: mayEdit, delete: mayEdit },
    },
    created: organization.created,
    modified: organization.modified,
    name: organization.name,
    description: organization.description,
    max_hosts: organization.max_hosts,
    custom_virtualenv: null,
    ...fixedValues(organizationFields),
  };
}

type Wanted = Pick<OrganizationRecord, 'name' | 'description' | 'max_hosts'>;

const BLANK: Wanted = { name: '', description: '', max_hosts: 0 };
const LOGGED = ['name', 'description', 'max_hosts'] as const;
const NAME_TAKEN = { name: ['Organization with this Name already exists.'] };

/** Creates the organization that the request body describes. Throws 400 by field, 403. */
async function createOrganization(exchange: Exchange): Promise<OrganizationRecord> {
  const { service, caller } = exchange;
  if (!canCreate(caller.user, 'organization')) throw forbidden();
  const wanted = readOrganization(exchange, 'POST');
  return service.database.transaction(async (transaction) => {
    const id = await insertOrganization(transaction, {
      ...wanted,
      createdBy: caller.user.id,
      at: service.now(),
    });
    if (id === null) throw invalid(NAME_TAKEN);
    await logChange(exchange, transaction, {
      object1: 'organization',
      operation: 'create',
      changes: { ...facts(wanted), id },
      organizationId: id,
    });
    return written(transaction, id);
  });
}

/** Changes an organization. Throws 400 by field, 403, 404. */
async function changeOrganization(
  exchange: Exchange,
  id: number,
  replace: boolean,
): Promise<OrganizationRecord> {
  const { service, caller } = exchange;
  return service.database.transaction(async (transaction) => {
    const before = await changeable(exchange, transaction, id);
    const wanted = readOrganization(exchange, replace ? 'PUT' : 'PATCH', before);
    const done = await updateOrganization(transaction, {
      ...wanted,
      id,
      modifiedBy: caller.user.id,
      at: service.now(),
    });
    if (!done) throw invalid(NAME_TAKEN);
    const changes = changedValues(LOGGED, before, wanted);
    if (Object.keys(changes).length > 0) {
      await logChange(exchange, transaction, {
        object1: 'organization',
        operation: 'update',
        changes,
        organizationId: id,
      });
    }
    return written(transaction, id);
  });
}

/**
 * Deletes an organization with its teams, its applications and their tokens, each with its entry. Throws 403,
 * 404.
 */
async function removeOrganization(exchange: Exchange, id: number): Promise<undefined> {
  const { service, caller } = exchange;
  await service.database.transaction(async (transaction) => {
    const organization = await changeable(exchange, transaction, id);
    const by = { actorId: caller.user.id, at: service.now(), node: service.node };
    await recordTokenDeletions(transaction, { organizationId: id }, by);
    await recordApplicationDeletions(transaction, id, by);
    await recordTeamDeletions(transaction, id, by);
    if (!(await deleteOrganization(transaction, id))) throw notFound();
    await logChange(exchange, transaction, {
      object1: 'organization',
      operation: 'delete',
      changes: { ...facts(organization), id },
    });
  });
}

/** The organization, locked, if the caller may change it. */
async function changeable(
  { caller }: Exchange,
  transaction: Queryable,
  id: number,
): Promise<OrganizationRecord> {
  const organization = await lockOrganization(transaction, id);
  if (organization === null) throw notFound();
  if (!administersOrganization(caller.user, id)) throw forbidden();
  return organization;
}

async function written(transaction: Queryable, id: number): Promise<OrganizationRecord> {
  const organization = await findOrganization(transaction, id);
  if (organization === null) throw new Error('an organization vanished inside the transaction that wrote it');
  return organization;
}

function readOrganization(
  { request, caller }: Exchange,
  method: 'POST' | 'PUT' | 'PATCH',
  before: Wanted = BLANK,
): Wanted {
  const problems: Problems = {};
  const current = Object.fromEntries(LOGGED.map((name) => [name, before[name]])) as unknown as Wanted;
  const wanted = readFields(organizationFields, jsonObject(request), { current, method, problems });
  if (Object.keys(problems).length > 0) throw invalid(problems);
  requireFieldRights('organization', { caller: caller.user, before, after: wanted });
  return wanted;
}

function facts(organization: Wanted): Record<string, unknown> {
  return Object.fromEntries(LOGGED.map((name) => [name, organization[name]]));
}
