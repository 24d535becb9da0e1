import type { FastifyInstance } from 'fastify';
import { administersOrganization, canAssignRole, visibleOrganizations, visibleUsers } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden } from '../failure.ts';
import { allOf } from '../listing/filters.ts';
import { jsonObject } from '../request.ts';
import { changeRole, type OrganizationRole } from '../store/organizations.ts';
import { findUser } from '../store/users.ts';
import { lockUser } from './change-user.ts';
import { listOrganizations, organizationFields, seenOrganization } from './organizations.ts';
import { integerField } from './request-values.ts';
import { listUsers, seenUser, userFields } from './users.ts';

/** The members, admins and auditors of an organization, and the organizations of a user. */
export function serveMemberships(app: FastifyInstance, service: ServiceContext): void {
  const ofOrganization = (path: string, role: OrganizationRole, name: string) =>
    serveEndpoint(app, service, {
      path: `/api/v2/organizations/:id/${path}/`,
      name,
      description:
        'POST {"id": N} grants the role to a user; with "disassociate": true it withdraws the role.',
      fields: userFields,
      handlers: {
        GET: (exchange) => listHolders(exchange, role),
        POST: (exchange) => assign(exchange, role),
      },
    });
  ofOrganization('users', 'member', 'Members of an organization');
  ofOrganization('admins', 'admin', 'Admins of an organization');
  ofOrganization('auditors', 'auditor', 'Auditors of an organization');

  const ofUser = (path: string, roles: readonly OrganizationRole[], name: string) =>
    serveEndpoint(app, service, {
      path: `/api/v2/users/:id/${path}/`,
      name,
      description: 'The organizations in which this user has the role, among those that you may see.',
      fields: organizationFields,
      handlers: { GET: (exchange) => listHeld(exchange, roles) },
    });
  ofUser('organizations', ['member'], 'Organizations of a user');
  ofUser('admin_of_organizations', ['admin'], 'Organizations that a user administers');
}

async function listHolders(exchange: Exchange, role: OrganizationRole): Promise<unknown> {
  const organization = await seenOrganization(exchange);
  return listUsers(
    exchange,
    allOf(visibleUsers(exchange.caller.user), (first) => ({
      sql: `EXISTS (SELECT FROM service_role h
              WHERE h.user_id = u.id AND h.role = $${first} AND h.organization_id = $${first + 1})`,
      values: [role, organization.id],
    })),
  );
}

async function listHeld(exchange: Exchange, roles: readonly OrganizationRole[]): Promise<unknown> {
  const { id: userId } = await seenUser(exchange);
  return listOrganizations(
    exchange,
    allOf(visibleOrganizations(exchange.caller.user), (first) => ({
      sql: `EXISTS (SELECT FROM service_role h
              WHERE h.organization_id = o.id AND h.user_id = $${first} AND h.role = ANY($${first + 1}::text[]))`,
      values: [userId, roles],
    })),
  );
}

/** Grants the role to the user that the body names, or withdraws it. */
async function assign(exchange: Exchange, role: OrganizationRole): Promise<undefined> {
  const { service, caller, request } = exchange;
  const { id: organizationId } = await seenOrganization(exchange);
  if (!administersOrganization(caller.user, organizationId)) throw forbidden();
  const body = jsonObject(request);
  const userId = integerField(body, 'id', { least: 1, fallback: 0, problems: {} });
  if (userId === 0) throw badRequest('"id" is required: the id of a user.');
  const operation = body['disassociate'] ? 'disassociate' : 'associate';
  if ((await findUser(service.database, userId)) === null) throw badRequest(`No user has the id ${userId}.`);
  await service.database.transaction(async (transaction) => {
    const now = await lockUser(transaction, { caller: caller.user, id: userId });
    if (!administersOrganization(now.caller, organizationId) || !canAssignRole(now.caller, now.user))
      throw forbidden();
    const by = { actorId: caller.user.id, at: service.now(), node: service.node };
    await changeRole(transaction, { operation, userId, organizationId, role }, by);
  });
}
