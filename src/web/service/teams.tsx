/** Teams: list, details, members, administrators, creation, change. */
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { HeldRoles } from './access.tsx';
import { People } from './people.tsx';
import { AddResource, EditResource } from './resource-forms.tsx';
import {
  KindPage,
  ORGANIZATION,
  ORGANIZATION_FIELD,
  organizationOf,
  type Resource,
  type ResourceKind,
  ResourcePage,
} from './resource-pages.tsx';

/** A team as `/api/v2/teams/` shows it. */
interface Team extends Resource {
  readonly organization: number;
}

/** What the pages of teams show. */
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
  consequence: 'Their members lose what the teams give them.',
  facts: (team) => [
    ['Organization', organizationOf(team)],
    [
      'Activity',
      <Link key="activity" to={`/activity?team=${team.id}`}>
        What happened to this team
      </Link>,
    ],
  ],
  // Only superusers can move a team to another organization.
  fields: (team, me) => (team === undefined || me.is_superuser ? [ORGANIZATION_FIELD] : []),
  values: (team) => ({ organization: String(team?.organization ?? '') }),
  tabs: [
    ['users', 'Members'],
    ['admins', 'Administrators'],
    ['roles', 'Roles'],
  ],
};

function mayEdit({ summary_fields: { user_capabilities: capabilities } }: Team): boolean {
  return capabilities?.edit === true;
}

/** The list of teams. */
export function Teams(): ReactNode {
  return <KindPage kind={TEAM} />;
}

/** The details of a team. */
export function TeamDetails(): ReactNode {
  return <ResourcePage kind={TEAM} />;
}

/** The members of a team. */
export function TeamMembers(): ReactNode {
  return (
    <ResourcePage kind={TEAM}>
      {(team) => <People mayEdit={mayEdit(team)} noun="member" path={`/api/v2/teams/${team.id}/users/`} />}
    </ResourcePage>
  );
}

/** The administrators of a team, who have a role of it: the API has no other list of them. */
export function TeamAdmins(): ReactNode {
  return (
    <ResourcePage kind={TEAM}>
      {(team) => (
        <People
          mayEdit={mayEdit(team)}
          noun="administrator"
          path={`/api/v2/roles/${team.summary_fields.object_roles?.['admin_role']?.id ?? 0}/users/`}
        />
      )}
    </ResourcePage>
  );
}

/** The roles that the members of a team have by it. */
export function TeamRoles(): ReactNode {
  return (
    <ResourcePage kind={TEAM}>{({ id }) => <HeldRoles path={`/api/v2/teams/${id}/roles/`} />}</ResourcePage>
  );
}

/** The form for a new team. */
export function AddTeam(): ReactNode {
  return <AddResource kind={TEAM} />;
}

/** The form for a team that exists. */
export function EditTeam(): ReactNode {
  return <EditResource kind={TEAM} />;
}
