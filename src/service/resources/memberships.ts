import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { administersOrganization, mayEnlist, visibleOrganizations, visibleUsers } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden } from '../failure.ts';
import { allOf } from '../listing/filters.ts';
import { jsonObject } from '../request.ts';
import { insertActivity } from '../store/activity.ts';
import { grantRole, type OrganizationRole, withdrawRole } from '../store/organizations.ts';
import { findUser } from '../store/users.ts';
import { lockUser } from './change-user.ts';
import { listOrganizations, organizationFields, seenOrganization } from './organizations.ts';
import { integerField, type Problems } from './request-values.ts';
import { listUsers, seenUser, userFields } from './users.ts';

/** A role in an organization that a user gets or loses. */
interface RoleChange {
  readonly userId: number;
  readonly organizationId: number;
  readonly role: OrganizationRole;
  readonly operation: 'associate' | 'disassociate';
}

/** Who has which role in which organization, seen from either side. */
export function serveMemberships(app: FastifyInstance, service: ServiceContext): void {
  const ofOrganization = (path: string, role: OrganizationRole, name: string) =>
    serveEndpoint(app, service, {
      path: `/api/v2/organizations/:id/${path}/`,
      name,
      description: 'POST {"id": N} adds a user, with "disassociate": true it takes the role away.',
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
      description: 'The organizations in which this user has the role, as far as you see them.',
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

async function assign(exchange: Exchange, role: OrganizationRole): Promise<undefined> {
  const { caller, request } = exchange;
  const organization = await seenOrganization(exchange);
  if (!administersOrganization(caller.user, organization.id)) throw forbidden();
  const body = jsonObject(request);
  const problems: Problems = {};
  const id = integerField(body, 'id', { least: 1, fallback: 0, problems });
  if (id === 0) throw badRequest('"id" is required: the id of a user.');
  const operation = body['disassociate'] ? 'disassociate' : 'associate';
  await changeRoles(exchange, { userIds: [id], organizationId: organization.id, role, operation });
}

/**
 * Gives users a role in an organization, or takes it, all or none, each with its entry in the activity stream.
 *
 * @throws RequestFailure 400 for a user who does not exist, 403 where the caller may not.
 */
export async function changeRoles(
  exchange: Exchange,
  { userIds, ...role }: Omit<RoleChange, 'userId'> & { readonly userIds: readonly number[] },
): Promise<void> {
  const { service, caller } = exchange;
  if (!administersOrganization(caller.user, role.organizationId)) throw forbidden();
  for (const id of userIds) {
    if ((await findUser(service.database, id)) === null)
      throw badRequest(`There is no user with the id ${id}.`);
  }
  await service.database.transaction(async (transaction) => {
    for (const userId of userIds) {
      const now = await lockUser(transaction, { caller: caller.user, id: userId });
      if (!administersOrganization(now.caller, role.organizationId)) throw forbidden();
      if (!mayEnlist(now.caller, now.user)) throw forbidden();
      const change = role.operation === 'associate' ? grantRole : withdrawRole;
      const grant = { ...role, userId };
      if (await change(transaction, grant)) await noteRole(exchange, transaction, grant);
    }
  });
}

function noteRole({ service, caller }: Exchange, transaction: Queryable, change: RoleChange): Promise<void> {
  const { userId, organizationId, role, operation } = change;
  // The controller's name of the relation, by which its own interface tells roles from other associations.
  const relationship = `awx.main.models.organization.Organization.${role}_role`;
  return insertActivity(transaction, {
    operation,
    at: service.now(),
    changes: {
      object1: 'organization',
      object1_pk: organizationId,
      object2: 'user',
      object2_pk: userId,
      action: operation,
      relationship,
    },
    object1: 'organization',
    object2: 'user',
    relationship,
    actorId: caller.user.id,
    node: service.node,
    organizationId,
    userId,
  });
}
