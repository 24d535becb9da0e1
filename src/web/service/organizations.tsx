/** Organizations: list, details, members, creation, change. */
import { Flex, PageSection } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { callApi } from '../shared/api.ts';
import { DeleteButton, type Deletion } from '../shared/deletion.tsx';
import { Facts, LinkedTabs } from '../shared/detail.tsx';
import { ApiForm, type FormField } from '../shared/form.tsx';
import { PageHeading } from '../shared/heading.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { ResourceList } from '../shared/list.tsx';
import { useNotify } from '../shared/notices.tsx';
import { useApi, useMe } from '../shared/queries.ts';
import { Loaded } from '../shared/states.tsx';
import { Time } from '../shared/times.tsx';
import { People } from './people.tsx';
import { KindList } from './resource-pages.tsx';
import { TEAM } from './teams.tsx';

/** An organization as `/api/v2/organizations/` shows it. */
interface Organization {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly max_hosts?: number;
  readonly created: string;
  readonly modified: string;
  readonly related?: { readonly auditors?: string };
  readonly summary_fields: {
    readonly user_capabilities?: { readonly edit: boolean; readonly delete: boolean };
    readonly object_roles?: { readonly auditor_role?: { readonly id: number } };
  };
}

const DELETION: Deletion<Organization> = {
  noun: 'organization',
  path: ({ id }) => `/api/v2/organizations/${id}/`,
  describe: ({ name }) => name,
  consequence:
    'Their teams and applications are deleted with them, and the tokens of these applications are revoked.',
  mayDelete: ({ summary_fields }) => summary_fields.user_capabilities?.delete === true,
};

/** The list of organizations. */
export function Organizations(): ReactNode {
  const me = useMe();
  return (
    <>
      <PageHeading title="Organizations" />
      <PageSection>
        <ResourceList<Organization>
          name="organizations"
          path="/api/v2/organizations/"
          order="name"
          columns={[
            {
              title: 'Name',
              orderBy: 'name',
              show: ({ id, name }) => <Link to={`/organizations/${id}`}>{name}</Link>,
            },
            { title: 'Description', orderBy: 'description', show: ({ description }) => description },
            { title: 'Last changed', orderBy: 'modified', show: ({ modified }) => <Time value={modified} /> },
          ]}
          filters={[
            { name: 'name__icontains', label: 'Name' },
            { name: 'description__icontains', label: 'Description' },
          ]}
          actions={me.is_superuser && <ButtonLink to="/organizations/add">Create organization</ButtonLink>}
          deletion={DELETION}
        />
      </PageSection>
    </>
  );
}

const FIELDS: readonly FormField[] = [
  { name: 'name', label: 'Name', required: true, maxLength: 512 },
  { name: 'description', label: 'Description' },
];

/** The form for a new organization. */
export function AddOrganization(): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  return (
    <>
      <PageHeading title="Create organization" above={[['/organizations', 'Organizations']]} />
      <PageSection>
        <ApiForm
          fields={FIELDS}
          initial={{ name: '', description: '' }}
          submitLabel="Create organization"
          onCancel={() => void navigate('/organizations')}
          send={async (values) => {
            const { id } = await callApi<Organization>('/api/v2/organizations/', {
              method: 'POST',
              body: values,
            });
            notify(`Created the organization ${values['name']}.`);
            await navigate(`/organizations/${id}`);
          }}
        />
      </PageSection>
    </>
  );
}

/** The form for an organization that exists. */
export function EditOrganization(): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<Organization>(`/api/v2/organizations/${id}/`);
  return (
    <Loaded query={query} isPage>
      {(organization) => <EditForm key={organization.id} organization={organization} />}
    </Loaded>
  );
}

function EditForm({ organization }: { readonly organization: Organization }): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const { id, name, description } = organization;
  const back = `/organizations/${id}`;
  return (
    <>
      <PageHeading
        title={`Edit ${name}`}
        above={[
          ['/organizations', 'Organizations'],
          [back, name],
        ]}
      />
      <PageSection>
        <ApiForm
          fields={FIELDS}
          initial={{ name, description }}
          submitLabel="Save"
          onCancel={() => void navigate(back)}
          send={async (values) => {
            await callApi(`/api/v2/organizations/${id}/`, { method: 'PATCH', body: values });
            notify(`Saved ${values['name']}.`);
            await navigate(back);
          }}
        />
      </PageSection>
    </>
  );
}

function OrganizationPage({
  children,
}: {
  readonly children: (organization: Organization) => ReactNode;
}): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<Organization>(`/api/v2/organizations/${id}/`);
  const path = `/organizations/${id}`;
  return (
    <Loaded query={query} isPage>
      {(organization) => (
        <>
          <PageHeading
            title={organization.name}
            above={[['/organizations', 'Organizations']]}
            actions={<Actions organization={organization} />}
          />
          <LinkedTabs
            label={`About ${organization.name}`}
            tabs={[
              [path, 'Details'],
              [`${path}/users`, 'Members'],
              [`${path}/admins`, 'Administrators'],
              [`${path}/auditors`, 'Auditors'],
              [`${path}/teams`, 'Teams'],
              [`${path}/applications`, 'Applications'],
            ]}
          />
          <PageSection>{children(organization)}</PageSection>
        </>
      )}
    </Loaded>
  );
}

function Actions({ organization }: { readonly organization: Organization }): ReactNode {
  const navigate = useNavigate();
  const { edit = false, delete: remove = false } = organization.summary_fields.user_capabilities ?? {};
  return (
    <Flex gap={{ default: 'gapSm' }}>
      {edit && <ButtonLink to={`/organizations/${organization.id}/edit`}>Edit</ButtonLink>}
      {remove && (
        <DeleteButton
          deletion={DELETION}
          rows={[organization]}
          onDone={() => void navigate('/organizations')}
        />
      )}
    </Flex>
  );
}

/** The details of an organization. */
export function OrganizationDetails(): ReactNode {
  return (
    <OrganizationPage>
      {({ name, description, max_hosts, created, modified }) => (
        <Facts
          facts={[
            ['Name', name],
            ['Description', description],
            ['Maximum number of hosts', max_hosts === 0 ? 'No limit' : max_hosts],
            ['Created', <Time key="created" value={created} />],
            ['Last changed', <Time key="modified" value={modified} />],
          ]}
        />
      )}
    </OrganizationPage>
  );
}

/** The members of an organization. */
export function OrganizationMembers(): ReactNode {
  return (
    <OrganizationPage>
      {(organization) => (
        <People
          mayEdit={mayEdit(organization)}
          noun="member"
          path={`/api/v2/organizations/${organization.id}/users/`}
        />
      )}
    </OrganizationPage>
  );
}

/** The administrators of an organization. */
export function OrganizationAdmins(): ReactNode {
  return (
    <OrganizationPage>
      {(organization) => (
        <People
          mayEdit={mayEdit(organization)}
          noun="administrator"
          path={`/api/v2/organizations/${organization.id}/admins/`}
        />
      )}
    </OrganizationPage>
  );
}

/** The auditors of an organization, who see everything in it. */
export function OrganizationAuditors(): ReactNode {
  return (
    <OrganizationPage>
      {(organization) => (
        <People mayEdit={mayEdit(organization)} noun="auditor" path={auditorsOf(organization)} />
      )}
    </OrganizationPage>
  );
}

function mayEdit({ summary_fields: { user_capabilities: capabilities } }: Organization): boolean {
  return capabilities?.edit === true;
}

/** A collection of the service; a controller has the users of a role instead. */
function auditorsOf({ id, related, summary_fields: { object_roles } }: Organization): string {
  const role = object_roles?.auditor_role;
  return (
    related?.auditors ?? (role ? `/api/v2/roles/${role.id}/users/` : `/api/v2/organizations/${id}/auditors/`)
  );
}

/** The teams of an organization. */
export function OrganizationTeams(): ReactNode {
  return (
    <OrganizationPage>
      {(organization) => (
        <KindList
          kind={TEAM}
          api={`/api/v2/organizations/${organization.id}/teams/`}
          add={mayEdit(organization) ? `/teams/add?organization=${organization.id}` : null}
        />
      )}
    </OrganizationPage>
  );
}

/** The applications of an organization. */
export function OrganizationApplications(): ReactNode {
  return (
    <OrganizationPage>
      {({ id }) => (
        <ResourceList<Organization>
          name="applications"
          path={`/api/v2/organizations/${id}/applications/`}
          order="name"
          columns={[
            {
              title: 'Name',
              orderBy: 'name',
              show: (each) => <Link to={`/applications/${each.id}`}>{each.name}</Link>,
            },
            { title: 'Description', show: ({ description }) => description },
          ]}
          filters={[{ name: 'name__icontains', label: 'Name' }]}
        />
      )}
    </OrganizationPage>
  );
}
