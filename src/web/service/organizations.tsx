/** Organizations: list, details, members, creation, change. */
import type { ReactNode } from 'react';
import { Time } from '../shared/times.tsx';
import { Access } from './access.tsx';
import { APPLICATION } from './applications.tsx';
import { People } from './people.tsx';
import { AddResource, EditResource } from './resource-forms.tsx';
import { KindList, KindPage, type Resource, type ResourceKind, ResourcePage } from './resource-pages.tsx';
import { TEAM } from './teams.tsx';

/** An organization as `/api/v2/organizations/` shows it. */
interface Organization extends Resource {
  readonly max_hosts?: number;
  readonly related?: { readonly auditors?: string };
}

const ORGANIZATION: ResourceKind<Organization> = {
  noun: 'organization',
  plural: 'Organizations',
  path: '/organizations',
  api: '/api/v2/organizations/',
  columns: [
    { title: 'Description', orderBy: 'description', show: ({ description }) => description },
    { title: 'Last changed', orderBy: 'modified', show: ({ modified }) => <Time value={modified} /> },
  ],
  consequence:
    'Their teams and applications are deleted with them, and the tokens of these applications are revoked.',
  facts: ({ max_hosts }) => [['Maximum number of hosts', max_hosts === 0 ? 'No limit' : max_hosts]],
  fields: () => [],
  values: () => ({}),
  mayCreate: ({ is_superuser }) => is_superuser,
  tabs: [
    ['users', 'Members'],
    ['admins', 'Administrators'],
    ['auditors', 'Auditors'],
    ['teams', 'Teams'],
    ['applications', 'Applications'],
    ['access', 'Access'],
  ],
};

/** Who has which of the other roles of an organization. */
export function OrganizationAccess(): ReactNode {
  return (
    <ResourcePage kind={ORGANIZATION}>
      {(organization) => <Access resource={organization} isOrganization />}
    </ResourcePage>
  );
}

/** The list of organizations. */
export function Organizations(): ReactNode {
  return <KindPage kind={ORGANIZATION} />;
}

/** The form for a new organization. */
export function AddOrganization(): ReactNode {
  return <AddResource kind={ORGANIZATION} />;
}

/** The form for an organization that exists. */
export function EditOrganization(): ReactNode {
  return <EditResource kind={ORGANIZATION} />;
}

/** The details of an organization. */
export function OrganizationDetails(): ReactNode {
  return <ResourcePage kind={ORGANIZATION} />;
}

/** The members of an organization. */
export function OrganizationMembers(): ReactNode {
  return <Holders noun="member" path={({ id }) => `/api/v2/organizations/${id}/users/`} />;
}

/** The administrators of an organization. */
export function OrganizationAdmins(): ReactNode {
  return <Holders noun="administrator" path={({ id }) => `/api/v2/organizations/${id}/admins/`} />;
}

/** The auditors of an organization, who see everything in it. */
export function OrganizationAuditors(): ReactNode {
  return <Holders noun="auditor" path={auditorsOf} />;
}

/** The people with a role in an organization, by the collection that takes users to add and to remove. */
function Holders({
  noun,
  path,
}: {
  readonly noun: 'member' | 'administrator' | 'auditor';
  readonly path: (organization: Organization) => string;
}): ReactNode {
  return (
    <ResourcePage kind={ORGANIZATION}>
      {(organization) => <People mayEdit={mayEdit(organization)} noun={noun} path={path(organization)} />}
    </ResourcePage>
  );
}

function mayEdit({ summary_fields: { user_capabilities: capabilities } }: Organization): boolean {
  return capabilities?.edit === true;
}

/** A collection of the service; a controller has the users of a role instead. */
function auditorsOf({ id, related, summary_fields: { object_roles } }: Organization): string {
  const role = object_roles?.['auditor_role'];
  return (
    related?.auditors ?? (role ? `/api/v2/roles/${role.id}/users/` : `/api/v2/organizations/${id}/auditors/`)
  );
}

/** The teams of an organization. */
export function OrganizationTeams(): ReactNode {
  return (
    <ResourcePage kind={ORGANIZATION}>
      {(organization) => (
        <KindList
          kind={TEAM}
          api={`/api/v2/organizations/${organization.id}/teams/`}
          add={mayEdit(organization) ? `/teams/add?organization=${organization.id}` : null}
        />
      )}
    </ResourcePage>
  );
}

/** The applications of an organization. */
export function OrganizationApplications(): ReactNode {
  return (
    <ResourcePage kind={ORGANIZATION}>
      {(organization) => (
        <KindList
          kind={APPLICATION}
          api={`/api/v2/organizations/${organization.id}/applications/`}
          add={mayEdit(organization) ? `/applications/add?organization=${organization.id}` : null}
        />
      )}
    </ResourcePage>
  );
}
