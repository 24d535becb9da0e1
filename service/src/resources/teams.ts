import { sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { administersOrganization, administersTeam, visibleTeams, visibleTeamsOfOthers } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { serveEndpoint } from '../endpoint.ts';
import { declared } from '../listing/fields.ts';
import { teamsWithRole } from '../role-levels.ts';
import { TEAMS, type TeamRecord } from '../store/teams.ts';
import { addresses, type Kind } from './kind.ts';
import { assign, type Held, listHolders } from './memberships.ts';
import { create, serveKind } from './named-resources.ts';
import { ORGANIZATION } from './organizations.ts';
import { fields, namedRelation, userRelation } from './resource.ts';
import { listKind, mayChangeSeen, ofSeen } from './seen-resources.ts';
import { userFields } from './user-json.ts';
import { seenUser } from './users.ts';

export const TEAM: Kind<TeamRecord> = {
  type: 'team',
  path: '/api/v2/teams/',
  label: 'Team',
  plural: 'Teams',
  about: {
    list: 'Your teams, and the teams of your organizations.',
    one: 'One team, by ID or by NAME++ORGANIZATION.',
  },
  storage: TEAMS,
  fields: fields(
    'team',
    {
      ...declared('x', {
        organization: {
          type: 'id',
          helpText: 'The organization of this team. Only superusers can change it.',
          writable: 'change',
          required: true,
        },
        created_by: { type: 'id', hidden: true },
        modified_by: { type: 'id', hidden: true },
      }),
    },
    { organization: namedRelation('o'), created_by: userRelation('c'), modified_by: userRelation('m') },
    {
      summary: 'Its organization, its roles, who created it and last changed it, and your permissions on it.',
    },
  ),
  namedBy: ['name', 'organization_name'],
  nameTaken: { __all__: ['Team with this Organization and Name already exists.'] },
  visible: visibleTeams,
  withRole: teamsWithRole,
  mayChange: (user, held, { id, organization = null }) =>
    administersOrganization(user, organization) || administersTeam(held, id),
  related: (url) => addresses(url, ['users', 'roles', 'activity_stream']),
};

/** `/api/v2/teams/`, its `N/` and `N/users/`, and the `teams/` of organizations and users. */
export function serveTeams(app: FastifyInstance, service: ServiceContext): void {
  serveKind(app, service, TEAM);
  serveEndpoint(app, service, {
    path: '/api/v2/teams/:id/users/',
    name: 'Members of a team',
    description:
      'POST {"id": N} makes a user a member; with "disassociate": true it removes the member. POST of a user without an ID creates the user as a member.',
    fields: userFields,
    allows: (exchange) => mayChangeSeen(exchange, TEAM),
    handlers: {
      GET: ofSeen(TEAM, (exchange, team) => listHolders(exchange, membership(team))),
      POST: ofSeen(TEAM, (exchange, team) => assign(exchange, membership(team))),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/:id/teams/',
    name: 'Teams of an organization',
    description: 'The teams of this organization. POST creates one in it.',
    fields: TEAM.fields,
    allows: (exchange) => mayChangeSeen(exchange, ORGANIZATION),
    handlers: {
      GET: ofSeen(ORGANIZATION, (exchange, { id }) =>
        listKind(exchange, TEAM, sql`x.organization_id = ${id}`),
      ),
      POST: ofSeen(ORGANIZATION, (exchange, { id }) => create(exchange, TEAM, { organization: id })),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/teams/',
    name: 'Teams of a user',
    description: 'The teams in which this user is a member or an admin, among those you can see.',
    fields: TEAM.fields,
    handlers: {
      GET: async (exchange) => {
        const { id } = await seenUser(exchange);
        const held = sql`EXISTS (
          SELECT FROM service_team_role h WHERE h.team_id = x.id AND h.user_id = ${id})`;
        return listKind(exchange, TEAM, held, visibleTeamsOfOthers(exchange.caller.user));
      },
    },
  });
}

function membership({ id, organization }: TeamRecord): Held {
  return { role: 'member', resource_type: 'team', resource_id: id, organization_id: organization };
}
