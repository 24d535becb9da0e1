import type { FastifyInstance } from 'fastify';
import { administersOrganization, seesEverything, visibleOrganizations } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import { jsonObject } from '../body.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import type { Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import {
  deleteOrganization,
  findOrganization,
  insertOrganization,
  ORGANIZATION_COLUMNS,
  ORGANIZATION_FROM,
  type OrganizationRecord,
  updateOrganization,
} from '../store/organizations.ts';
import { organizationFields } from './organization-fields.ts';
import { pathId } from './path-id.ts';
import { integerField, type Problems, textField } from './text-field.ts';

/** `/api/v2/organizations/` and `/api/v2/organizations/N/`. */
export function serveOrganizations(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/',
    name: 'Organizations',
    description: 'The organizations in which you have a role.',
    fields: organizationFields,
    handlers: {
      GET: (exchange) => listOrganizations(exchange, visibleOrganizations(exchange.caller.user)),
      POST: create,
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/:id(^\\d+$)/',
    name: 'Organization',
    description: 'One organization. DELETE takes its applications and their tokens along.',
    fields: organizationFields,
    handlers: {
      GET: async (exchange) => organizationJson(await seenOrganization(exchange), exchange.caller, true),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: remove,
    },
  });
}

/** Lists the organizations for which a condition holds. */
export function listOrganizations(exchange: Exchange, visible: Condition): Promise<unknown> {
  return list<OrganizationRecord>(exchange.service.database, exchange.request.url, {
    fields: organizationFields,
    columns: ORGANIZATION_COLUMNS,
    from: ORGANIZATION_FROM,
    visible,
    render: (organization) => organizationJson(organization, exchange.caller),
  });
}

/** The organization that the path names, if the caller sees it. Throws 404 and 403. */
export async function seenOrganization({ service, caller, params }: Exchange): Promise<OrganizationRecord> {
  const organization = await findOrganization(service.database, pathId(params['id']));
  if (organization === null) throw notFound();
  const { user } = caller;
  const roles = [...user.admin_of, ...user.auditor_of, ...user.member_of];
  if (!seesEverything(user) && !roles.includes(organization.id)) throw forbidden();
  return organization;
}

function organizationJson(
  organization: OrganizationRecord,
  caller: Caller,
  detail = false,
): Record<string, unknown> {
  const url = `/api/v2/organizations/${organization.id}/`;
  const maker = person(organization, 'created_by');
  const changer = person(organization, 'modified_by');
  const mayEdit = caller.mayWrite && administersOrganization(caller.user, organization.id);
  return {
    id: organization.id,
    type: 'organization',
    url,
    related: {
      ...(detail && { named_url: `/api/v2/organizations/${encodeURIComponent(organization.name)}/` }),
      ...(maker && { created_by: `/api/v2/users/${maker.id}/` }),
      ...(changer && { modified_by: `/api/v2/users/${changer.id}/` }),
      users: `${url}users/`,
      admins: `${url}admins/`,
      applications: `${url}applications/`,
      activity_stream: `${url}activity_stream/`,
    },
    summary_fields: {
      ...(maker && { created_by: maker }),
      ...(changer && { modified_by: changer }),
      user_capabilities: { edit: mayEdit, delete: mayEdit },
    },
    created: organization.created,
    modified: organization.modified,
    name: organization.name,
    description: organization.description,
    max_hosts: organization.max_hosts,
    custom_virtualenv: null,
    default_environment: null,
  };
}

function person(
  organization: OrganizationRecord,
  role: 'created_by' | 'modified_by',
): { id: number; username: string | null; first_name: string | null; last_name: string | null } | null {
  const id = organization[`${role}_id`];
  if (id === null) return null;
  return {
    id,
    username: organization[`${role}_username`],
    first_name: organization[`${role}_first_name`],
    last_name: organization[`${role}_last_name`],
  };
}

type Wanted = Pick<OrganizationRecord, 'name' | 'description' | 'max_hosts'>;

function readOrganization(exchange: Exchange, base: Wanted): Wanted {
  const body = jsonObject(exchange.request);
  const problems: Problems = {};
  const required = base.name === '' || body['name'] !== undefined;
  const name = textField(body, 'name', { rule: { fallback: base.name, required, maxLength: 512 }, problems });
  const description = textField(body, 'description', { rule: { fallback: base.description }, problems });
  const most = integerField(body, 'max_hosts', { least: 0, fallback: base.max_hosts, problems });
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return { name, description, max_hosts: most };
}

const NAME_TAKEN = { name: ['Organization with this Name already exists.'] };

async function create(exchange: Exchange): Promise<unknown> {
  const { service, caller, reply } = exchange;
  if (!caller.user.is_superuser) throw forbidden();
  const wanted = readOrganization(exchange, { name: '', description: '', max_hosts: 0 });
  const id = await insertOrganization(service.database, {
    ...wanted,
    createdBy: caller.user.id,
    at: service.now(),
  });
  if (id === null) throw invalid(NAME_TAKEN);
  const made = await findOrganization(service.database, id);
  if (made === null) throw notFound();
  reply.code(201).header('Location', `/api/v2/organizations/${id}/`);
  return organizationJson(made, caller, true);
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { service, caller } = exchange;
  const before = await seenOrganization(exchange);
  if (!administersOrganization(caller.user, before.id)) throw forbidden();
  const wanted = readOrganization(exchange, replace ? { name: '', description: '', max_hosts: 0 } : before);
  const done = await updateOrganization(service.database, {
    ...wanted,
    id: before.id,
    modifiedBy: caller.user.id,
    at: service.now(),
  });
  if (!done) throw invalid(NAME_TAKEN);
  return organizationJson(await seenOrganization(exchange), caller, true);
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { service, caller } = exchange;
  const organization = await seenOrganization(exchange);
  if (!administersOrganization(caller.user, organization.id)) throw forbidden();
  if (!(await deleteOrganization(service.database, organization.id))) throw notFound();
}
