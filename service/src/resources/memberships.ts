import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { administersOrganization, administersTeam, canAssignRole, hasRole } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid } from '../failure.ts';
import { jsonObject } from '../request.ts';
import { type HeldRole, heldRoles } from '../store/object-roles.ts';
import {
  changeRole,
  hasRolesWithout,
  isMembership,
  type OrganizationRole,
  type RoleChange,
  type RoleRecord,
  type TeamRole,
} from '../store/roles.ts';
import { findUser, type UserRecord } from '../store/users.ts';
import { createUser, lockUser } from './change-user.ts';
import { ORGANIZATION } from './organizations.ts';
import { idIn } from './request-values.ts';
import { byCaller } from './resource.ts';
import { listKind, mayChangeSeen, ofSeen } from './seen-resources.ts';
import { userFields, userJson } from './user-json.ts';
import { canSeeUser, listUsers, seenUser } from './users.ts';

/** The members, admins and auditors of an organization, and a user's organizations. */
export function serveMemberships(app: FastifyInstance, service: ServiceContext): void {
  const ofOrganization = (path: string, role: OrganizationRole, name: string) => {
    const held = (id: number): Held => {
      return { role, resource_type: 'organization', resource_id: id, organization_id: id };
    };
    serveEndpoint(app, service, {
      path: `/api/v2/organizations/:id/${path}/`,
      name,
      description:
        'POST {"id": N} grants the role to a user; with "disassociate": true it withdraws the role. POST of a user without an ID creates the user with this role.',
      fields: userFields,
      allows: (exchange) => mayChangeSeen(exchange, ORGANIZATION),
      handlers: {
        GET: ofSeen(ORGANIZATION, (exchange, { id }) => listHolders(exchange, held(id))),
        POST: ofSeen(ORGANIZATION, (exchange, { id }) => assign(exchange, held(id))),
      },
    });
  };
  ofOrganization('users', 'member', 'Members of an organization');
  ofOrganization('admins', 'admin', 'Admins of an organization');
  ofOrganization('auditors', 'auditor', 'Auditors of an organization');

  const ofUser = (path: string, roles: readonly OrganizationRole[], name: string) =>
    serveEndpoint(app, service, {
      path: `/api/v2/users/:id/${path}/`,
      name,
      description: 'The organizations in which this user has the role, among those you can see.',
      fields: ORGANIZATION.fields,
      handlers: { GET: (exchange) => listHeld(exchange, roles) },
    });
  ofUser('organizations', ['member'], 'Organizations of a user');
  ofUser('admin_of_organizations', ['admin'], 'Organizations that a user administers');
}

/** A role of an object. It has an id unless it is member, admin or auditor of an organization or team. */
export type Held = Pick<RoleRecord, 'role' | 'resource_type' | 'resource_id' | 'organization_id'> & {
  readonly id?: number;
};

/** Lists the users with a role that the caller may see. */
export function listHolders(exchange: Exchange, held: Held): Promise<unknown> {
  if (!isMembership(held)) {
    const granted = sql`SELECT user_id FROM service_role_grant WHERE role_id = ${held.id} AND user_id IS NOT NULL`;
    return listUsers(exchange, { among: granted });
  }
  const rows =
    held.resource_type === 'team'
      ? sql`service_team_role WHERE team_id = ${held.resource_id}`
      : sql`service_role WHERE organization_id = ${held.resource_id}`;
  return listUsers(exchange, { among: sql`SELECT user_id FROM ${rows} AND role = ${held.role}` });
}

async function listHeld(exchange: Exchange, roles: readonly OrganizationRole[]): Promise<unknown> {
  const { id: userId } = await seenUser(exchange);
  const among = sql`SELECT organization_id FROM service_role
    WHERE user_id = ${userId} AND role = ANY(${roles}::text[])`;
  return listKind(exchange, ORGANIZATION, { among });
}

/** Grants a role to the user whose id is in the body, or to the new user in it; or removes it. Throws 400, 403. */
export async function assign(exchange: Exchange, held: Held): Promise<unknown> {
  const { service, caller, request } = exchange;
  const body = jsonObject(request);
  const disassociate = 'disassociate' in body;
  const userId = idIn(body, 'user');
  if (userId === null) {
    if (disassociate) throw invalid({ msg: '"id" is required to disassociate.' });
    return createHolder(exchange, held);
  }
  if ((await findUser(service.database, userId)) === null) throw badRequest(`No user has the ID ${userId}.`);
  if (held.resource_type === 'organization' && !administersOrganization(caller.user, held.organization_id)) {
    throw forbidden();
  }
  return changeHolder(exchange, held, { userId, operation: disassociate ? 'disassociate' : 'associate' });
}

/** Grants a role to a user or removes it. Throws 403 if the caller may not. */
export async function changeHolder(
  exchange: Exchange,
  held: Held,
  change: Pick<RoleChange, 'userId' | 'operation' | 'rolesOfUser'>,
): Promise<undefined> {
  const { service, caller } = exchange;
  const { userId } = change;
  await service.database.transaction(async (transaction) => {
    const now = await lockUser(transaction, { caller: caller.user, id: userId });
    if (!(await mayAssign(transaction, held, now))) throw forbidden();
    await changeRole(transaction, { ...roleOf(held), ...change }, byCaller(exchange));
  });
}

/**
 * Whether the caller may grant a role to a user or remove it. For members, admins and auditors of an
 * organization, see {@link canAssignRole}. Other roles give no rights over their holders: the organization's
 * admins assign them to everyone, the object's admins to users that they see.
 */
export async function mayAssign(
  transaction: Queryable,
  held: Held,
  { caller, user }: { caller: UserRecord; user: UserRecord },
): Promise<boolean> {
  const administers = administersOrganization(caller, held.organization_id);
  if (held.resource_type === 'organization' && isMembership(held)) {
    const hasForeignRoles = await hasRolesWithout(transaction, { user, without: caller });
    return administers && canAssignRole(caller, user, hasForeignRoles);
  }
  return (
    administersRole(caller, held, await heldRoles(transaction, caller)) &&
    (administers || (await canSeeUser(transaction, caller, user.id)))
  );
}

/** Whether the caller may grant a role that gives no rights over its holders. */
export async function mayGive({ service, caller }: Exchange, role: Held): Promise<boolean> {
  return administersRole(caller.user, role, await heldRoles(service.database, caller.user));
}

/** Whether the caller may remove a role from its holders. */
export async function unattaching({ service, caller }: Exchange): Promise<(role: Held) => boolean> {
  const { user, mayWrite } = caller;
  const held = await heldRoles(service.database, user);
  return (role) => mayWrite && administersRole(user, role, held);
}

/** Whether a user is an admin of the object of a role. */
function administersRole(user: UserRecord, role: Held, held: readonly HeldRole[]): boolean {
  const { resource_type: type, resource_id: id, organization_id: organization } = role;
  if (administersOrganization(user, organization)) return true;
  if (type === 'team') return administersTeam(held, id);
  return type !== 'organization' && hasRole(user, held, { type, id, organization, role: 'admin' });
}

function roleOf(held: Held) {
  const { id: roleId, role, resource_type: type, resource_id: id } = held;
  if (roleId !== undefined && !isMembership(held)) return { roleId, role, resource: { type, id } };
  return type === 'team'
    ? { teamId: id, role: role as TeamRole }
    : { organizationId: id, role: role as OrganizationRole };
}

/** Creates the user in the body with a role. Throws 400 by field, 403. */
async function createHolder(exchange: Exchange, held: Held): Promise<unknown> {
  const { caller, request, reply } = exchange;
  const by = byCaller(exchange);
  const user = await createUser(exchange, jsonObject(request), {
    mayCreate: () => administersOrganization(caller.user, held.organization_id),
    whenAdded: async (transaction, userId) => {
      await changeRole(transaction, { ...roleOf(held), operation: 'associate', userId }, by);
    },
  });
  reply.code(201).header('Location', `/api/v2/users/${user.id}/`);
  return userJson(user, caller, true);
}
