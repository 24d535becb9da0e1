import { Time } from '@tokenctl/common/web/times.tsx';
import { Access } from './access.tsx';
import { APPLICATION } from './applications.tsx';
import { People } from './people.tsx';
import { pagesOf } from './resource-forms.tsx';
import { mayEdit, type Resource, type ResourceKind, type Tab, tabWith } from './resource-pages.tsx';
import { TEAM } from './teams.tsx';

interface Organization extends Resource {
  readonly max_hosts?: number;
  readonly related?: { readonly auditors?: string };
}

const API = '/api/v2/organizations/';

const ORGANIZATION: ResourceKind<Organization> = {
  noun: 'organization',
  plural: 'Organizations',
  path: '/organizations',
  api: API,
  columns: [
    { title: 'Description', orderBy: 'description', show: ({ description }) => description },
    { title: 'Last changed', orderBy: 'modified', show: ({ modified }) => <Time value={modified} /> },
  ],
  consequence:
    'Their teams and applications are also deleted, and the tokens of these applications are revoked.',
  facts: ({ max_hosts }) => [['Maximum number of hosts', max_hosts === 0 ? 'No limit' : max_hosts]],
  fields: () => [],
  mayCreate: ({ is_superuser }) => is_superuser,
  tabs: [
    peopleTab('users', 'Members', 'member'),
    peopleTab('admins', 'Administrators', 'administrator'),
    peopleTab('auditors', 'Auditors', 'auditor', auditorsOf),
    tabWith({ api: API, noun: 'organization' }, TEAM),
    tabWith({ api: API, noun: 'organization' }, APPLICATION),
    ['access', 'Access', (organization) => <Access resource={organization} isOrganization />],
  ],
};

/** The tab of the users with a role. Their collection accepts users to add and remove. */
function peopleTab(
  end: string,
  title: string,
  noun: 'member' | 'administrator' | 'auditor',
  path = ({ id }: Organization) => `${API}${id}/${end}/`,
): Tab<Organization> {
  const show = (organization: Organization) => (
    <People mayEdit={mayEdit(organization)} noun={noun} path={path(organization)} />
  );
  return [end, title, show];
}

/** A collection of the service. A controller has the users of a role instead. */
function auditorsOf({ id, related, summary_fields: { object_roles } }: Organization): string {
  const role = object_roles?.['auditor_role'];
  return (
    related?.auditors ?? (role ? `/api/v2/roles/${role.id}/users/` : `/api/v2/organizations/${id}/auditors/`)
  );
}

export const ORGANIZATIONS = pagesOf(ORGANIZATION);
