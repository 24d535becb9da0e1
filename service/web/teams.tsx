import { Link } from 'react-router';
import { HeldRoles } from './access.tsx';
import { People } from './people.tsx';
import { pagesOf } from './resource-forms.tsx';
import {
  mayEdit,
  ORGANIZATION,
  ORGANIZATION_FIELD,
  organizationOf,
  type Resource,
  type ResourceKind,
} from './resource-pages.tsx';

interface Team extends Resource {
  readonly organization: number;
}

export const TEAM: ResourceKind<Team> = {
  noun: 'team',
  plural: 'Teams',
  path: '/teams',
  api: '/api/v2/teams/',
  columns: [
    ORGANIZATION,
    { title: 'Description', orderBy: 'description', show: ({ description }) => description },
  ],
  filters: [{ name: 'organization__name__icontains', label: 'Organization' }],
  consequence: 'Members lose the access that they have through the team.',
  facts: (team) => [
    ['Organization', organizationOf(team)],
    [
      'Activity',
      <Link key="activity" to={`/activity?team=${team.id}`}>
        Changes to this team
      </Link>,
    ],
  ],
  // Only superusers can move a team to another organization.
  fields: (team, me) => (team === undefined || me.is_superuser ? [ORGANIZATION_FIELD] : []),
  tabs: [
    [
      'users',
      'Members',
      (team) => <People mayEdit={mayEdit(team)} noun="member" path={`/api/v2/teams/${team.id}/users/`} />,
    ],
    [
      'admins',
      'Administrators',
      (team) => (
        <People
          mayEdit={mayEdit(team)}
          noun="administrator"
          // They have a role of the team. The API has no other list of them.
          path={`/api/v2/roles/${team.summary_fields.object_roles?.['admin_role']?.id ?? 0}/users/`}
        />
      ),
    ],
    ['roles', 'Roles', ({ id }) => <HeldRoles path={`/api/v2/teams/${id}/roles/`} />],
  ],
};

export const TEAMS = pagesOf(TEAM);
