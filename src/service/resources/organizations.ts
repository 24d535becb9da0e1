import type { FastifyInstance } from 'fastify';
import { administersOrganization, seesEverything, visibleOrganizations } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import type { Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import {
  findOrganization,
  findOrganizationId,
  ORGANIZATION_COLUMNS,
  ORGANIZATION_FROM,
  type OrganizationRecord,
} from '../store/organizations.ts';
import { changeOrganization, createOrganization, removeOrganization } from './change-organization.ts';
import { namedSegment, namesIn } from './named-url.ts';
import { organizationFields } from './organization-fields.ts';
import { pathId } from './path-id.ts';

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
    path: '/api/v2/organizations/:id/',
    name: 'Organization',
    description: 'One organization, by id or by name. DELETE takes its applications and their tokens along.',
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
export async function seenOrganization(exchange: Exchange): Promise<OrganizationRecord> {
  const { service, caller } = exchange;
  const organization = await findOrganization(service.database, await organizationId(exchange));
  if (organization === null) throw notFound();
  const { user } = caller;
  const roles = [...user.admin_of, ...user.auditor_of, ...user.member_of];
  if (!seesEverything(user) && !roles.includes(organization.id)) throw forbidden();
  return organization;
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
      ...(detail && { named_url: `/api/v2/organizations/${namedSegment([organization.name])}/` }),
      ...(maker && { created_by: `/api/v2/users/${maker.id}/` }),
      ...(changer && { modified_by: `/api/v2/users/${changer.id}/` }),
      users: `${url}users/`,
      admins: `${url}admins/`,
      auditors: `${url}auditors/`,
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

async function create(exchange: Exchange): Promise<unknown> {
  const made = await createOrganization(exchange);
  exchange.reply.code(201).header('Location', `/api/v2/organizations/${made.id}/`);
  return organizationJson(made, exchange.caller, true);
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { id } = await seenOrganization(exchange);
  return organizationJson(await changeOrganization(exchange, id, replace), exchange.caller, true);
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { id } = await seenOrganization(exchange);
  return removeOrganization(exchange, id);
}
