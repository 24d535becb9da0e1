import type { FastifyInstance } from 'fastify';
import { administersOrganization, visibleRoles } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid, notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { allOf, type Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { findRole, holdsRole, ROLE_COLUMNS, ROLE_FROM, type RoleRecord } from '../store/roles.ts';
import { teamsAdministeredBy } from '../store/teams.ts';
import { assign, changeHolder, idIn, listHolders } from './memberships.ts';
import { seenOrganization } from './organizations.ts';
import { pathId } from './request-values.ts';
import { leadingFields, roleText } from './resource.ts';
import { seenTeam } from './teams.ts';
import { userFields } from './user-json.ts';
import { seenUser } from './users.ts';

/**
 * The roles of organizations and teams, as the controller's `/api/v2/roles/` has them: `N/users/`, the `object_roles/` of an
 * organization or a team, and the `roles/` of a user. This service has no roles of other resources, and teams hold none.
 */
export function serveRoles(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/roles/',
    name: 'Roles',
    description: 'The roles of the organizations and teams that you may see.',
    fields: roleFields,
    handlers: { GET: (exchange) => listRoles(exchange) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/roles/:id(^\\d+$)/',
    name: 'Role',
    description: 'One role.',
    fields: roleFields,
    handlers: { GET: async (exchange) => roleJson(await seenRole(exchange)) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/roles/:id(^\\d+$)/users/',
    name: 'Users with a role',
    description: 'POST {"id": N} grants the role to a user; with "disassociate": true it withdraws the role.',
    fields: userFields,
    handlers: {
      GET: async (exchange) => listHolders(exchange, await seenRole(exchange)),
      POST: async (exchange) => {
        const role = await seenRole(exchange);
        if (idIn(jsonObject(exchange.request), 'user') === null) throw invalid({ msg: '"id" is required.' });
        return assign(exchange, role);
      },
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/roles/',
    name: 'Roles of a user',
    description:
      'The roles of this user, among those that you may see. POST {"id": N} grants a role; with "disassociate": true it withdraws the role.',
    fields: roleFields,
    handlers: { GET: rolesOfUser, POST: changeRoleOfUser },
  });
  const ofObject = (
    collection: string,
    type: RoleRecord['resource_type'],
    seen: (exchange: Exchange) => Promise<{ readonly id: number }>,
  ) =>
    serveEndpoint(app, service, {
      path: `/api/v2/${collection}/:id/object_roles/`,
      name: `Roles in the ${type}`,
      description: `The roles that users can have in this ${type}.`,
      fields: roleFields,
      handlers: {
        GET: async (exchange) => {
          const { id } = await seen(exchange);
          return listRoles(exchange, (first) => ({
            sql: `x.resource_type = $${first} AND x.resource_id = $${first + 1}`,
            values: [type, id],
          }));
        },
      },
    });
  ofObject('organizations', 'organization', seenOrganization);
  ofObject('teams', 'team', seenTeam);
}

const roleFields: FieldSet = {
  type: 'role',
  fields: {
    ...roleLeadingFields(),
    name: { type: 'string', label: 'Name', helpText: 'Name of this role.' },
    description: { type: 'string', label: 'Description', helpText: 'What the role allows.' },
    role_field: { type: 'string', label: 'Role field', column: "x.role || '_role'", hidden: true },
  },
  relations: {},
  searchFields: ['role_field'],
  order: ['id'],
};

/** A role has no times. */
function roleLeadingFields(): FieldSet['fields'] {
  const { created, modified, ...fields } = leadingFields({
    type: 'role',
    name: 'role',
    alias: 'x',
    summary: 'What it is a role of.',
  });
  return fields;
}

function listRoles(
  exchange: Exchange,
  condition: (first: number) => Condition = () => ({ sql: 'TRUE', values: [] }),
  render: (role: RoleRecord) => unknown = (role) => roleJson(role),
): Promise<unknown> {
  return list<RoleRecord>(exchange, {
    fields: roleFields,
    columns: ROLE_COLUMNS,
    from: ROLE_FROM,
    visible: allOf(visibleRoles(exchange.caller.user), condition),
    render,
  });
}

/** The role that the path names. Throws 404, or 403 if the caller may not see it. */
async function seenRole({ service, caller, params }: Exchange): Promise<RoleRecord> {
  const role = await findRole(service.database, pathId(params['id']));
  if (role === null) throw notFound();
  const { sql, values } = visibleRoles(caller.user);
  const rows = await service.database.query(
    `SELECT FROM ${ROLE_FROM} WHERE (${sql}) AND x.id = $${values.length + 1}`,
    [...values, role.id],
  );
  if (rows.length === 0) throw forbidden();
  return role;
}

async function rolesOfUser(exchange: Exchange): Promise<unknown> {
  const { service, caller } = exchange;
  const { id } = await seenUser(exchange);
  const teams = await teamsAdministeredBy(service.database, caller.user.id);
  return listRoles(
    exchange,
    (first) => ({ sql: holdsRole(`$${first}::integer`), values: [id] }),
    (role) => {
      const administers =
        administersOrganization(caller.user, role.organization_id) ||
        (role.resource_type === 'team' && teams.has(role.resource_id));
      return roleJson(role, { user_capabilities: { unattach: caller.mayWrite && administers } });
    },
  );
}

async function changeRoleOfUser(exchange: Exchange): Promise<undefined> {
  const { service, request } = exchange;
  const { id: userId } = await seenUser(exchange);
  const body = jsonObject(request);
  const id = idIn(body, 'role');
  if (id === null) throw invalid({ msg: '"id" is required.' });
  const role = await findRole(service.database, id);
  if (role === null) throw badRequest(`No role has the id ${id}.`);
  const operation = 'disassociate' in body ? 'disassociate' : 'associate';
  return changeHolder(exchange, role, { userId, operation });
}

/** A role as the API shows it. */
function roleJson(role: RoleRecord, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const { id, resource_type: type, resource_id, resource_name } = role;
  const url = `/api/v2/roles/${id}/`;
  return {
    id,
    type: 'role',
    url,
    related: { users: `${url}users/`, [type]: `/api/v2/${type}s/${resource_id}/` },
    summary_fields: {
      ...more,
      resource_name,
      resource_type: type,
      resource_type_display_name: type === 'team' ? 'Team' : 'Organization',
      resource_id,
    },
    ...roleText(role.role, type),
  };
}
