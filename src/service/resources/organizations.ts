import type { FastifyInstance } from 'fastify';
import { seesEverything, visibleOrganizations } from '../access.ts';
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
import { namesIn } from './named-url.ts';
import { organizationFields } from './organization-fields.ts';
import { organizationJson } from './organization-json.ts';
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
