import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { visibleRoles } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid, notFound } from '../failure.ts';
import { declared, type FieldSet } from '../listing/fields.ts';
import { EVERY_ROW } from '../listing/filters.ts';
import { type Condition, list, seenAnd } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { linkChange } from '../store/activity.ts';
import { changeGrant } from '../store/object-roles.ts';
import {
  countingRoles,
  findRole,
  HELD_FROM,
  isMembership,
  isObjectIn,
  ROLE_COLUMNS,
  ROLE_FROM,
  type RoleRecord,
  roleRelation,
} from '../store/roles.ts';
import { findTeam, type TeamRecord } from '../store/teams.ts';
import { KINDS_WITH_ROLES } from './access-list.ts';
import { assign, changeHolder, listHolders, mayGive, unattaching } from './memberships.ts';
import { idIn, pathId } from './request-values.ts';
import { leadingFields, logChange } from './resource.ts';
import { resourcePath, roleNames, roleText } from './role-texts.ts';
import { canSee, listKind, ofSeen } from './seen-resources.ts';
import { TEAM } from './teams.ts';
import { userFields } from './user-json.ts';
import { seenUser } from './users.ts';

/** The roles of objects: `/api/v2/roles/`, its `N/users/` and `N/teams/`, `object_roles/`, and `roles/` of holders. */
export function serveRoles(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/roles/',
    name: 'Roles',
    description: 'The roles of organizations, teams and other objects that you can see.',
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
    allows: maySeenGive,
    handlers: {
      GET: async (exchange) => listHolders(exchange, await seenRole(exchange)),
      POST: async (exchange) => {
        const role = await seenRole(exchange);
        if (idIn(jsonObject(exchange.request), 'user') === null) throw invalid({ msg: '"id" is required.' });
        return assign(exchange, role);
      },
    },
  });
  serveTeamRoles(app, service);
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/roles/',
    name: 'Roles of a user',
    description:
      'The roles of this user, among those you can see. POST {"id": N} grants a role; with "disassociate": true it withdraws the role.',
    fields: roleFields,
    attaches: true,
    handlers: { GET: rolesOfUser, POST: changeRoleOfUser },
  });
  for (const kind of KINDS_WITH_ROLES) {
    serveEndpoint(app, service, {
      path: `${kind.path}:id/object_roles/`,
      name: `Roles in the ${kind.type}`,
      description: `The roles that users can have in this ${kind.type}.`,
      fields: roleFields,
      handlers: {
        GET: ofSeen(kind, (exchange, { id }) =>
          listRoles(exchange, sql`x.resource_type = ${kind.type} AND x.resource_id = ${id}`),
        ),
      },
    });
  }
}

/** `/api/v2/roles/N/teams/` and `/api/v2/teams/N/roles/`. */
function serveTeamRoles(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/roles/:id(^\\d+$)/teams/',
    name: 'Teams with a role',
    description: 'POST {"id": N} grants the role to a team; with "disassociate": true it withdraws the role.',
    fields: TEAM.fields,
    allows: maySeenGive,
    handlers: {
      GET: async (exchange) => {
        const { id } = await seenRole(exchange);
        const among = sql`SELECT team_id FROM service_role_grant WHERE role_id = ${id} AND team_id IS NOT NULL`;
        return listKind(exchange, TEAM, { among });
      },
      POST: async (exchange) => {
        const role = await seenRole(exchange);
        const id = requiredId(exchange, 'team');
        const team = await findTeam(exchange.service.database, id);
        if (team === null) throw badRequest(`No team has the ID ${id}.`);
        return changeRoleOfTeam(exchange, role, team);
      },
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/teams/:id/roles/',
    name: 'Roles of a team',
    description:
      'The roles that the members of this team get from it. POST {"id": N} grants a role; with "disassociate": true it withdraws the role.',
    fields: roleFields,
    attaches: true,
    handlers: {
      GET: ofSeen(TEAM, (exchange, { id }) =>
        listHeld(exchange, sql`SELECT g.role_id FROM service_role_grant g WHERE g.team_id = ${id}`),
      ),
      POST: ofSeen(TEAM, async (exchange, team) =>
        changeRoleOfTeam(exchange, await namedRole(exchange), team),
      ),
    },
  });
}

/** Whether the caller may grant the role in the path. */
async function maySeenGive(exchange: Exchange): Promise<boolean> {
  return mayGive(exchange, await seenRole(exchange));
}

function requiredId({ request }: Exchange, noun: string): number {
  const id = idIn(jsonObject(request), noun);
  if (id === null) throw invalid({ msg: '"id" is required.' });
  return id;
}

/** The role in the body. Throws 400. */
async function namedRole(exchange: Exchange): Promise<RoleRecord> {
  const id = requiredId(exchange, 'role');
  const role = await findRole(exchange.service.database, id);
  if (role === null) throw badRequest(`No role has the ID ${id}.`);
  return role;
}

/** Grants a role to a team or removes it. Its members and admins then have the role. */
async function changeRoleOfTeam(exchange: Exchange, role: RoleRecord, team: TeamRecord): Promise<undefined> {
  const { service, request } = exchange;
  if (isMembership(role) || role.resource_type === 'team') {
    const of = role.resource_type === 'team' ? 'a Team' : 'an Organization participation';
    throw invalid({ msg: `You cannot assign ${of} role as a child role for a Team.` });
  }
  if (!(await mayGive(exchange, role))) throw forbidden();
  if (!(await canSee(exchange, TEAM, team.id))) throw forbidden();
  const operation = 'disassociate' in jsonObject(request) ? 'disassociate' : 'associate';
  await service.database.transaction(async (transaction) => {
    const change = { operation, roleId: role.id, teamId: team.id } as const;
    if (!(await changeGrant(transaction, change))) return;
    const { resource_type: type, resource_id: id } = role;
    await logChange(exchange, transaction, {
      ...linkChange(operation, 'awx.main.models.rbac.Role_parents', [
        ['team', team.id],
        [type, role.id],
      ]),
      relationship: roleRelation(type, role.role),
      ...(type === 'organization' ? { organizationId: id } : { resource: { type, id } }),
    });
  });
}

const roleFields: FieldSet = {
  type: 'role',
  fields: {
    ...roleLeadingFields(),
    ...declared('x', {
      name: { helpText: 'Name of this role.', column: null },
      description: { helpText: 'What the role allows.', column: null },
      role_field: { column: sql`x.role || '_role'`, hidden: true },
      object_id: { type: 'integer', label: 'Object ID', column: sql`x.resource_id`, hidden: true },
      // The controller's system roles are fields of users here.
      singleton_name: { column: sql`NULL::text`, hidden: true },
    }),
  },
  relations: {
    content_type: {
      searchFields: ['model'],
      fields: declared('x', { model: { column: sql`replace(x.resource_type, '_', '')` } }),
    },
  },
  searchFields: ['role_field'],
  order: ['id'],
};

function roleLeadingFields(): FieldSet['fields'] {
  const { created, modified, ...fields } = leadingFields({
    type: 'role',
    name: 'role',
    alias: 'x',
    summary: 'The object of this role.',
  });
  return fields;
}

function listRoles(
  exchange: Exchange,
  condition: Condition = EVERY_ROW,
  render: (role: RoleRecord) => unknown = (role) => roleJson(role),
): Promise<unknown> {
  const { user } = exchange.caller;
  return list<RoleRecord>(exchange, {
    fields: roleFields,
    columns: ROLE_COLUMNS,
    from: ROLE_FROM,
    ...seenAnd(visibleRoles(user), condition),
    counting:
      condition === EVERY_ROW
        ? countingRoles((type) => roleNames(type).length, visibleRoles(user, isObjectIn))
        : undefined,
    render: (roles) => roles.map(render),
  });
}

/** The role in the path. Throws 404, or 403 if the caller may not see it. */
async function seenRole({ service, caller, params }: Exchange): Promise<RoleRecord> {
  const role = await findRole(service.database, pathId(params['id']));
  if (role === null) throw notFound();
  const visible = sql`SELECT FROM ${ROLE_FROM} WHERE (${visibleRoles(caller.user)}) AND x.id = ${role.id}`;
  if (!(await visible.exists(service.database))) throw forbidden();
  return role;
}

/** Lists a holder's roles, by these ids, each with whether the caller may remove it. */
async function listHeld(exchange: Exchange, among: Sql): Promise<unknown> {
  const mayTake = await unattaching(exchange);
  return listRoles(exchange, { among }, (role) =>
    roleJson(role, { user_capabilities: { unattach: mayTake(role) } }),
  );
}

async function rolesOfUser(exchange: Exchange): Promise<unknown> {
  const { id } = await seenUser(exchange);
  return listHeld(
    exchange,
    sql`SELECT a.role_id FROM ${HELD_FROM} WHERE a.user_id = ${id} AND a.team_id IS NULL`,
  );
}

async function changeRoleOfUser(exchange: Exchange): Promise<undefined> {
  const { id: userId } = await seenUser(exchange);
  const role = await namedRole(exchange);
  const operation = 'disassociate' in jsonObject(exchange.request) ? 'disassociate' : 'associate';
  return changeHolder(exchange, role, { userId, operation, rolesOfUser: role.id });
}

function roleJson(role: RoleRecord, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const { id, resource_type: type, resource_id, resource_name } = role;
  const url = `/api/v2/roles/${id}/`;
  return {
    id,
    type: 'role',
    url,
    related: { users: `${url}users/`, teams: `${url}teams/`, [type]: resourcePath(type, resource_id) },
    summary_fields: {
      ...more,
      resource_name,
      resource_type: type,
      resource_type_display_name: displayName(type),
      resource_id,
    },
    ...roleText(type, role.role),
  };
}

/** For example, `Job Template` for `job_template`. */
function displayName(type: string): string {
  return type
    .split('_')
    .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
    .join(' ');
}
