import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { administersOrganization, canCreate, visibleTeams, visibleTeamsOfOthers } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { requireFieldRights } from '../field-rights.ts';
import type { FieldSet } from '../listing/fields.ts';
import { allOf, type Condition } from '../listing/filters.ts';
import { list, requireMatch } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { teamsWithRole } from '../role-levels.ts';
import { heldRoles } from '../store/object-roles.ts';
import { findOrganization } from '../store/organizations.ts';
import {
  deleteTeam,
  findTeam,
  findTeamId,
  insertTeam,
  lockTeam,
  TEAM_COLUMNS,
  TEAM_FROM,
  type TeamRecord,
  type TeamValues,
  teamsAdministeredBy,
  updateTeam,
} from '../store/teams.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { assign, type Held, listHolders } from './memberships.ts';
import { administersNamed, seenOrganization } from './organizations.ts';
import { namedSegment, namesIn, pathId } from './request-values.ts';
import {
  changedValues,
  leadingFields,
  logChange,
  makersJson,
  nameAndDescription,
  namedRelation,
  userRelation,
} from './resource.ts';
import { objectRoles, roleFields, roleOfField } from './role-texts.ts';
import { userFields } from './user-json.ts';
import { seenUser } from './users.ts';

/** `/api/v2/teams/`, its `N/` and `N/users/`, and the `teams/` of organizations and users. */
export function serveTeams(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/teams/',
    name: 'Teams',
    description: 'Your teams, and the teams of your organizations.',
    fields: teamFields,
    objectRoles: roleFields('team'),
    allows: ({ caller }) => canCreate(caller.user, 'team'),
    handlers: { GET: (exchange) => listTeams(exchange), POST: (exchange) => create(exchange) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/teams/:id/',
    name: 'Team',
    description: 'One team, by id or by NAME++ORGANIZATION.',
    fields: teamFields,
    objectRoles: roleFields('team'),
    allows: administersSeen,
    handlers: {
      GET: async (exchange) => shown(exchange, await matchingTeam(exchange)),
      PUT: (exchange) => change(exchange, 'PUT'),
      PATCH: (exchange) => change(exchange, 'PATCH'),
      DELETE: remove,
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/teams/:id/users/',
    name: 'Members of a team',
    description:
      'POST {"id": N} makes a user a member; with "disassociate": true it removes the member. POST of a user without an id creates the user as a member.',
    fields: userFields,
    allows: administersSeen,
    handlers: {
      GET: async (exchange) => listHolders(exchange, membership(await seenTeam(exchange))),
      POST: async (exchange) => assign(exchange, membership(await seenTeam(exchange))),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/:id/teams/',
    name: 'Teams of an organization',
    description: 'The teams of this organization. POST creates one in it.',
    fields: teamFields,
    allows: administersNamed,
    handlers: {
      GET: async (exchange) => {
        const { id } = await seenOrganization(exchange);
        return listTeams(exchange, (first) => ({ sql: `x.organization_id = $${first}`, values: [id] }));
      },
      POST: async (exchange) => create(exchange, (await seenOrganization(exchange)).id),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/teams/',
    name: 'Teams of a user',
    description: 'The teams of which this user is a member or an admin, among those that you may see.',
    fields: teamFields,
    handlers: {
      GET: async (exchange) => {
        const { id } = await seenUser(exchange);
        const held = (first: number) => ({
          sql: `EXISTS (SELECT FROM service_team_role h WHERE h.team_id = x.id AND h.user_id = $${first})`,
          values: [id],
        });
        return listTeams(exchange, held, visibleTeamsOfOthers(exchange.caller.user));
      },
    },
  });
}

function membership({ id, organization }: TeamRecord): Held {
  return { role: 'member', resource_type: 'team', resource_id: id, organization_id: organization };
}

/** Lists the teams that the caller sees and that meet a condition. */
export async function listTeams(
  exchange: Exchange,
  condition: (first: number) => Condition = () => ({ sql: 'TRUE', values: [] }),
  visible = visibleTeams(exchange.caller.user),
): Promise<unknown> {
  const { service, caller } = exchange;
  const administered = await teamsAdministeredBy(service.database, caller.user.id);
  const held = await heldRoles(service.database, caller.user);
  return list<TeamRecord>(exchange, {
    fields: teamFields,
    columns: TEAM_COLUMNS,
    from: TEAM_FROM,
    visible: allOf(visible, condition),
    withRole: (field, first) => {
      const role = roleOfField('team', field);
      return role === null ? null : teamsWithRole(caller.user, held, { role, first });
    },
    render: (team) =>
      teamJson(team, { mayEdit: caller.mayWrite && administers(exchange, team, administered) }),
  });
}

/** Whether the caller may change a team: as an admin of it or of its organization. */
function administers(
  { caller }: Exchange,
  { id, organization }: TeamRecord,
  administered: ReadonlySet<number>,
): boolean {
  return administered.has(id) || administersOrganization(caller.user, organization);
}

async function administersSeen(exchange: Exchange): Promise<boolean> {
  const team = await seenTeam(exchange);
  const administered = await teamsAdministeredBy(exchange.service.database, exchange.caller.user.id);
  return administers(exchange, team, administered);
}

/** The team that the path names, by id or by name. Throws 404, or 403 if the caller may not see it. */
export async function seenTeam(exchange: Exchange): Promise<TeamRecord> {
  const team = await findTeam(exchange.service.database, await teamId(exchange));
  if (team === null) throw notFound();
  if (!(await canSeeTeam(exchange, team.id))) throw forbidden();
  return team;
}

/** Whether the caller sees a team. */
export async function canSeeTeam({ service, caller }: Exchange, id: number): Promise<boolean> {
  const { sql, values } = visibleTeams(caller.user);
  const rows = await service.database.query(
    `SELECT FROM main_team x WHERE (${sql}) AND x.id = $${values.length + 1}`,
    [...values, id],
  );
  return rows.length > 0;
}

/** The same, if the filters of the query string hold for the team. */
async function matchingTeam(exchange: Exchange): Promise<TeamRecord> {
  const team = await seenTeam(exchange);
  const visible = { sql: 'x.id = $1', values: [team.id] };
  await requireMatch(exchange, { fields: teamFields, from: TEAM_FROM, visible });
  return team;
}

async function teamId({ service, params, request }: Exchange): Promise<number> {
  const { id = '' } = params;
  if (/^\d+$/.test(id)) return pathId(id);
  const [name, organization, ...more] = namesIn(request.url) ?? [];
  if (name === undefined || organization === undefined || more.length > 0) throw notFound();
  const found = await findTeamId(service.database, name, organization);
  if (found === null) throw notFound();
  return found;
}

export const teamFields: FieldSet = {
  type: 'team',
  fields: {
    ...leadingFields({
      type: 'team',
      name: 'team',
      alias: 'x',
      summary: 'Its organization, its roles, who created and last changed it, and what you may do with it.',
    }),
    ...nameAndDescription('team'),
    organization: {
      type: 'id',
      label: 'Organization',
      helpText: 'The organization of this team. Only superusers can change it.',
      column: 'x.organization_id',
      writable: 'change',
      required: true,
    },
    created_by: { type: 'id', label: 'Created by', column: 'x.created_by_id', hidden: true },
    modified_by: { type: 'id', label: 'Modified by', column: 'x.modified_by_id', hidden: true },
  },
  relations: {
    organization: namedRelation('o'),
    created_by: userRelation('c'),
    modified_by: userRelation('m'),
  },
  searchFields: ['name', 'description'],
  order: ['name'],
};

async function shown(exchange: Exchange, team: TeamRecord): Promise<unknown> {
  const { service, caller } = exchange;
  const administered = await teamsAdministeredBy(service.database, caller.user.id);
  return teamJson(team, {
    mayEdit: caller.mayWrite && administers(exchange, team, administered),
    detail: true,
  });
}

/** A team as the API shows it to a caller. */
function teamJson(
  team: TeamRecord,
  { mayEdit, detail = false }: { readonly mayEdit: boolean; readonly detail?: boolean },
): Record<string, unknown> {
  const { id, created, modified, name, description, organization, organization_name } = team;
  const url = `/api/v2/teams/${id}/`;
  const makers = makersJson(team);
  return {
    id,
    type: 'team',
    url,
    related: {
      ...(detail && { named_url: `/api/v2/teams/${namedSegment([name, organization_name])}/` }),
      ...makers.related,
      users: `${url}users/`,
      roles: `${url}roles/`,
      object_roles: `${url}object_roles/`,
      access_list: `${url}access_list/`,
      activity_stream: `${url}activity_stream/`,
      organization: `/api/v2/organizations/${organization}/`,
    },
    summary_fields: {
      organization: { id: organization, name: organization_name, description: team.organization_description },
      ...makers.summary,
      object_roles: objectRoles('team', {
        ...team.roles,
        admin: team.admin_role_id,
        member: team.member_role_id,
      }),
      user_capabilities: { edit: mayEdit, delete: mayEdit },
    },
    created,
    modified,
    name,
    description,
    organization,
  };
}

const BLANK: TeamValues = { name: '', description: '', organization: null };
const NAME_TAKEN = { __all__: ['Team with this Organization and Name already exists.'] };

/** POST: adds a team to an organization that the caller administers. Throws 400 by field, 403. */
async function create(exchange: Exchange, organization?: number): Promise<unknown> {
  const { service, caller, request, reply } = exchange;
  if (!canCreate(caller.user, 'team')) throw forbidden();
  const body = { ...jsonObject(request), ...(organization !== undefined && { organization }) };
  const problems: Problems = {};
  const values = readFields(teamFields, body, { current: BLANK, method: 'POST', problems });
  await requireOrganization(exchange, service.database, { values, problems });
  if (!administersOrganization(caller.user, values.organization)) throw forbidden();
  const made = await service.database.transaction(async (transaction) => {
    const at = service.now();
    const id = await insertTeam(transaction, values, { by: caller.user.id, at });
    if (id === null) throw invalid(NAME_TAKEN);
    const team = await written(transaction, id);
    await logChange(exchange, transaction, {
      object1: 'team',
      operation: 'create',
      changes: { ...facts(team), id },
      resource: { type: 'team', id },
    });
    return team;
  });
  reply.code(201).header('Location', `/api/v2/teams/${made.id}/`);
  return shown(exchange, made);
}

/** Throws what is wrong with the values. Only superusers learn whether an organization exists. */
async function requireOrganization(
  { caller }: Exchange,
  database: Queryable,
  { values: { organization }, problems }: { readonly values: TeamValues; readonly problems: Problems },
): Promise<void> {
  if (caller.user.is_superuser && organization !== null) {
    const found = await findOrganization(database, organization);
    if (found === null) problems['organization'] ??= [noSuchId(organization)];
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
}

/** PUT and PATCH. Throws 400 by field, 403, 404. */
async function change(exchange: Exchange, method: 'PUT' | 'PATCH'): Promise<unknown> {
  const { service, caller, request } = exchange;
  const { id } = await matchingTeam(exchange);
  const body = jsonObject(request);
  const changed = await service.database.transaction(async (transaction) => {
    const before = await changeable(exchange, transaction, id);
    const { name, description, organization } = before;
    const problems: Problems = {};
    const current: TeamValues = { name, description, organization };
    const values = readFields(teamFields, body, { current, method, problems });
    requireFieldRights('team', { caller: caller.user, before, after: values });
    await requireOrganization(exchange, transaction, { values, problems });
    const by = { by: caller.user.id, at: service.now() };
    if (!(await updateTeam(transaction, { id, ...values }, by))) throw invalid(NAME_TAKEN);
    const team = await written(transaction, id);
    const [old, now] = [facts(before), facts(team)];
    const changes = changedValues(Object.keys(now), old, now);
    if (Object.keys(changes).length > 0) {
      const resource = { type: 'team', id } as const;
      await logChange(exchange, transaction, { object1: 'team', operation: 'update', changes, resource });
    }
    return team;
  });
  return shown(exchange, changed);
}

/** DELETE. Throws 403, 404. */
async function remove(exchange: Exchange): Promise<undefined> {
  const { id } = await matchingTeam(exchange);
  await exchange.service.database.transaction(async (transaction) => {
    const team = await changeable(exchange, transaction, id);
    if (!(await deleteTeam(transaction, id))) throw notFound();
    const changes = { ...facts(team), id };
    await logChange(exchange, transaction, { object1: 'team', operation: 'delete', changes });
  });
}

/** The team, locked, if the caller may change it. */
async function changeable(exchange: Exchange, transaction: Queryable, id: number): Promise<TeamRecord> {
  const team = await lockTeam(transaction, id);
  if (team === null) throw notFound();
  const administered = await teamsAdministeredBy(transaction, exchange.caller.user.id);
  if (!administers(exchange, team, administered)) throw forbidden();
  return team;
}

async function written(transaction: Queryable, id: number): Promise<TeamRecord> {
  const team = await findTeam(transaction, id);
  if (team === null) throw new Error('a team vanished inside the transaction that wrote it');
  return team;
}

/** What the activity stream records of a team. */
function facts({ name, description, organization, organization_name }: TeamRecord): Record<string, unknown> {
  return { name, description, organization: `${organization_name}-${organization}` };
}
