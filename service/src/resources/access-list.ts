import type { FastifyInstance } from 'fastify';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { type Condition, list } from '../listing/listing.ts';
import { rolesGivenBy } from '../role-levels.ts';
import {
  type AccessedObject,
  type AccessRole,
  rolesOn,
  SEES_ALL,
  usersWithAccess,
} from '../store/access-list.ts';
import type { ResourceWithRoles, RoleName } from '../store/object-roles.ts';
import { USER_COLUMNS, type UserRecord } from '../store/users.ts';
import { JOB_TEMPLATE } from './jobs/job-templates.ts';
import type { Kind } from './kind.ts';
import { unattaching } from './memberships.ts';
import { ORGANIZATION } from './organizations.ts';
import { CREDENTIAL, INVENTORY, PROJECT } from './resource-kinds.ts';
import { resourcePath, roleField, roleNames, roleText } from './role-texts.ts';
import { ofSeen } from './seen-resources.ts';
import { TEAM } from './teams.ts';
import { userFields, userJson } from './user-json.ts';
import { seenUser, userRows } from './users.ts';

export const KINDS_WITH_ROLES: readonly Kind[] = [
  ORGANIZATION,
  TEAM,
  JOB_TEMPLATE,
  INVENTORY,
  PROJECT,
  CREDENTIAL,
];

/** Who has access to objects with roles and to users (`access_list/`), except users hidden from the caller. */
export function serveAccessLists(app: FastifyInstance, service: ServiceContext): void {
  const serve = (path: string, name: string, get: (exchange: Exchange) => Promise<unknown>) =>
    serveEndpoint(app, service, {
      path: `${path}:id/access_list/`,
      name: `Access to the ${name}`,
      description: `The users with access to this ${name}, among those you can see, and their roles.`,
      fields: userFields,
      handlers: { GET: get },
    });
  for (const kind of KINDS_WITH_ROLES) {
    const type = kind.type as ResourceWithRoles;
    serve(
      kind.path,
      type.replaceAll('_', ' '),
      ofSeen(kind, (exchange, { id, organization = id }) => listAccess(exchange, { type, id, organization })),
    );
  }
  serve('/api/v2/users/', 'user', async (exchange) => {
    await seenUser(exchange);
    return listUsersWithAccess(exchange, SEES_ALL, { roles: [], type: null });
  });
}

interface Accessed {
  /** Null for a user, who has no object roles. */
  readonly type: ResourceWithRoles | null;
  readonly object?: AccessedObject;
  readonly roles: readonly RoleName[];
}

function listAccess(
  exchange: Exchange,
  { type, id, organization }: Pick<AccessedObject, 'type' | 'id' | 'organization'>,
): Promise<unknown> {
  const roles = roleNames(type);
  const gives = (role: RoleName) =>
    type === 'organization' || rolesGivenBy(type, roles, { role, on: 'organization' }).length > 0;
  const organizationRoles = roleNames('organization').filter(gives);
  const object = { type, id, organization, organizationRoles };
  return listUsersWithAccess(exchange, { among: usersWithAccess(object) }, { type, object, roles });
}

async function listUsersWithAccess(exchange: Exchange, condition: Condition, accessed: Accessed) {
  const { service, caller } = exchange;
  const { object } = accessed;
  return list<UserRecord>(exchange, {
    ...userRows(exchange, condition),
    columns: USER_COLUMNS,
    async render(users) {
      const ids = users.map(({ id }) => id);
      const held = object === undefined ? [] : await rolesOn(service.database, object, ids);
      const mayTake = await unattaching(exchange);
      return users.map((user) => {
        const roles = held.filter(({ user_id }) => user_id === user.id);
        return withAccess(user, { caller, accessed, roles, mayTake });
      });
    },
  });
}

/** A user with the roles that give access: direct ones on the object, and those of its organization or the system. */
function withAccess(
  user: UserRecord,
  {
    caller,
    accessed: { type, roles: all },
    roles,
    mayTake,
  }: {
    caller: Caller;
    accessed: Accessed;
    roles: readonly AccessRole[];
    mayTake: (role: AccessRole) => boolean;
  },
): Record<string, unknown> {
  const entry = (role: AccessRole, on: 'object' | 'organization') => ({
    role: {
      id: role.id,
      ...roleText(role.resource_type, role.role),
      ...(role.team_id !== null && { team_id: role.team_id, team_name: role.team_name }),
      resource_name: role.resource_name,
      resource_type: role.resource_type,
      related: { [role.resource_type]: resourcePath(role.resource_type, role.resource_id) },
      user_capabilities: { unattach: mayTake(role) },
    },
    descendant_roles: type === null ? [] : rolesGivenBy(type, all, { role: role.role, on }).map(roleField),
  });
  const [direct, others] = [
    roles.filter(({ resource_type }) => resource_type === type),
    roles.filter(({ resource_type }) => resource_type !== type),
  ];
  const indirect = others.map((role) => entry(role, 'organization'));
  const { auth: _, ...shown } = userJson(user, caller);
  return {
    ...shown,
    summary_fields: {
      direct_access: direct.map((role) => entry(role, 'object')),
      indirect_access: [
        ...indirect.filter(({ descendant_roles }) => descendant_roles.length > 0),
        ...(user.is_superuser
          ? [ofSystem('Administrator', 'Can manage all aspects of the system', all)]
          : []),
        ...(user.is_system_auditor
          ? [ofSystem('Auditor', 'Can view all aspects of the system', ['read'])]
          : []),
      ],
    },
  };
}

/** A role without an object: superuser or system auditor. */
function ofSystem(name: string, description: string, roles: readonly RoleName[]): Record<string, unknown> {
  return {
    role: { id: null, name: `System ${name}`, description, user_capabilities: { unattach: false } },
    descendant_roles: roles.map(roleField),
  };
}
