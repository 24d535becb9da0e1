import type { FastifyInstance } from 'fastify';
import { administersOrganization, canAssignRole, visibleOrganizations, visibleUsers } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid } from '../failure.ts';
import { allOf } from '../listing/filters.ts';
import { jsonObject } from '../request.ts';
import { changeRole, type OrganizationRole } from '../store/organizations.ts';
import { findUser } from '../store/users.ts';
import { createUser, lockUser } from './change-user.ts';
import { MAX_INTEGER } from './field-values.ts';
import { listOrganizations, organizationFields, seenOrganization } from './organizations.ts';
import { userFields, userJson } from './user-json.ts';
import { listUsers, seenUser } from './users.ts';

/** The members, admins and auditors of an organization, and the organizations of a user. */
export function serveMemberships(app: FastifyInstance, service: ServiceContext): void {
  const ofOrganization = (path: string, role: OrganizationRole, name: string) =>
    serveEndpoint(app, service, {
      path: `/api/v2/organizations/:id/${path}/`,
      name,
      description:
        'POST {"id": N} grants the role to a user; with "disassociate": true it withdraws the role. POST of a user without an id creates the user with this role.',
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

/**
 * Grants the role to the user whose id the body gives, or withdraws it; a body without an id describes a new
 * user, who gets the role.
 */
async function assign(exchange: Exchange, role: OrganizationRole): Promise<unknown> {
  const { service, caller, request } = exchange;
  const { id: organizationId } = await seenOrganization(exchange);
  const body = jsonObject(request);
  const disassociate = 'disassociate' in body;
  const userId = idIn(body);
  if (userId === null) {
    if (disassociate) throw invalid({ msg: '"id" is required to disassociate.' });
    return createHolder(exchange, { organizationId, role });
  }
  if ((await findUser(service.database, userId)) === null) throw badRequest(`No user has the id ${userId}.`);
  if (!administersOrganization(caller.user, organizationId)) throw forbidden();
  await service.database.transaction(async (transaction) => {
    const now = await lockUser(transaction, { caller: caller.user, id: userId });
    if (!administersOrganization(now.caller, organizationId) || !canAssignRole(now.caller, now.user))
      throw forbidden();
    const by = { actorId: caller.user.id, at: service.now(), node: service.node };
    const operation = disassociate ? 'disassociate' : 'associate';
    await changeRole(transaction, { operation, userId, organizationId, role }, by);
  });
  return undefined;
}

/** The id in a body; null without one. Throws 400 for anything but a JSON number. */
function idIn({ id }: Readonly<Record<string, unknown>>): number | null {
  if (id === undefined || id === null || id === '' || id === 0 || id === false) return null;
  if (typeof id !== 'number' || !Number.isInteger(id)) throw invalid({ msg: '"id" must be an integer.' });
  if (id < 1 || id > MAX_INTEGER) throw badRequest(`No user has the id ${id}.`);
  return id;
}

/** Creates the user that the body describes, with a role in the organization. Throws 400 by field, 403. */
async function createHolder(
  exchange: Exchange,
  { organizationId, role }: { readonly organizationId: number; readonly role: OrganizationRole },
): Promise<unknown> {
  const { service, caller, request, reply } = exchange;
  const by = { actorId: caller.user.id, at: service.now(), node: service.node };
  const user = await createUser(exchange, jsonObject(request), {
    mayCreate: () => administersOrganization(caller.user, organizationId),
    whenAdded: async (transaction, userId) => {
      await changeRole(transaction, { operation: 'associate', userId, organizationId, role }, by);
    },
  });
  reply.code(201).header('Location', `/api/v2/users/${user.id}/`);
  return userJson(user, caller, true);
}
