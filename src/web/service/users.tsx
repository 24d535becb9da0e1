/** The users: list, creation, change. */
import { Label, LabelGroup, PageSection } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { callApi } from '../shared/api.ts';
import { ApiForm, type FormField, type FormValues } from '../shared/form.tsx';
import { PageHeading } from '../shared/heading.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { type Column, ResourceList } from '../shared/list.tsx';
import { useNotify } from '../shared/notices.tsx';
import { type User, useApi, useMe } from '../shared/queries.ts';
import { Loaded } from '../shared/states.tsx';
import { Time } from '../shared/times.tsx';
import { useMayCreate } from './resource-pages.tsx';

const COLUMNS: readonly Column<User>[] = [
  {
    title: 'Username',
    orderBy: 'username',
    show: ({ id, username }) => <Link to={`/users/${id}`}>{username}</Link>,
  },
  { title: 'First name', orderBy: 'first_name', show: ({ first_name }) => first_name },
  { title: 'Last name', orderBy: 'last_name', show: ({ last_name }) => last_name },
  { title: 'Role', show: (user) => <Roles user={user} /> },
  { title: 'Last login', orderBy: 'last_login', show: ({ last_login }) => <Time value={last_login} /> },
];

/** What is special about a user: more rights than others, or an account elsewhere. */
export function Roles({ user }: { readonly user: User }): ReactNode {
  const roles = [
    ...(user.is_superuser ? ['Superuser'] : []),
    ...(user.is_system_auditor ? ['System auditor'] : []),
    ...(user.external_account === null ? [] : [`External (${user.external_account})`]),
  ];
  if (roles.length === 0) return 'Normal user';
  return (
    <LabelGroup aria-label="Role" numLabels={3}>
      {roles.map((role) => (
        <Label key={role} isCompact>
          {role}
        </Label>
      ))}
    </LabelGroup>
  );
}

/** The list of users. */
export function Users(): ReactNode {
  const mayCreate = useMayCreate();
  return (
    <>
      <PageHeading title="Users" />
      <PageSection>
        <ResourceList<User>
          name="users"
          path="/api/v2/users/"
          columns={COLUMNS}
          order="username"
          filters={[
            { name: 'username__icontains', label: 'Username' },
            { name: 'search', label: 'Any name or email address' },
            { name: 'is_superuser', label: 'Superuser', choices: YES_OR_NO },
          ]}
          actions={mayCreate && <ButtonLink to="/users/add">Create user</ButtonLink>}
          deletion={{
            noun: 'user',
            path: ({ id }) => `/api/v2/users/${id}/`,
            describe: ({ username }) => username,
            consequence: 'Their tokens and sessions end with them.',
            mayDelete: ({ summary_fields }) => summary_fields.user_capabilities?.delete === true,
          }}
        />
      </PageSection>
    </>
  );
}

const YES_OR_NO = [
  ['true', 'Yes'],
  ['false', 'No'],
] as const;

const ROLES = [
  ['normal', 'Normal user'],
  ['auditor', 'System auditor: sees everything, changes nothing'],
  ['superuser', 'Superuser: sees and changes everything'],
] as const;

function fieldsOf(me: User, user?: User): readonly FormField[] {
  const isLocal = (user?.external_account ?? null) === null;
  return [
    { name: 'username', label: 'Username', required: true, maxLength: 150, isDisabled: !isLocal },
    { name: 'email', label: 'Email address', kind: 'email', maxLength: 254 },
    { name: 'first_name', label: 'First name', maxLength: 150 },
    { name: 'last_name', label: 'Last name', maxLength: 150 },
    ...(me.is_superuser ? [{ name: 'role', label: 'Role', kind: 'select', choices: ROLES } as const] : []),
    ...(user === undefined
      ? [
          {
            name: 'organization',
            label: 'Organization',
            kind: 'lookup',
            collection: me.is_superuser
              ? '/api/v2/organizations/'
              : `/api/v2/users/${me.id}/admin_of_organizations/`,
            required: !me.is_superuser,
            ...(!me.is_superuser && { help: 'One that you administer.' }),
          } as const,
        ]
      : []),
    ...(isLocal
      ? [
          {
            name: 'password',
            label: user === undefined ? 'Password' : 'New password',
            kind: 'password',
            required: user === undefined,
            help:
              user === undefined
                ? undefined
                : 'Empty leaves it as it is. A new one ends all sessions of the user.',
          } as const,
        ]
      : []),
  ];
}

function bodyOf({
  role,
  organization: _organization,
  password,
  ...texts
}: FormValues): Record<string, unknown> {
  return {
    ...texts,
    ...(role !== undefined && { is_superuser: role === 'superuser', is_system_auditor: role === 'auditor' }),
    ...(password !== '' && { password }),
  };
}

/** The form for a new user. */
export function AddUser(): ReactNode {
  const me = useMe();
  const navigate = useNavigate();
  const notify = useNotify();
  const initial = {
    username: '',
    email: '',
    first_name: '',
    last_name: '',
    role: 'normal',
    organization: '',
    password: '',
  };
  return (
    <>
      <PageHeading title="Create user" above={[['/users', 'Users']]} />
      <PageSection>
        <ApiForm
          fields={fieldsOf(me)}
          initial={initial}
          submitLabel="Create user"
          onCancel={() => void navigate('/users')}
          send={async (values) => {
            const { organization } = values;
            const path =
              organization === '' ? '/api/v2/users/' : `/api/v2/organizations/${organization}/users/`;
            const { id } = await callApi<User>(path, { method: 'POST', body: bodyOf(values) });
            notify(`Created the user ${values['username']}.`);
            await navigate(`/users/${id}`);
          }}
        />
      </PageSection>
    </>
  );
}

/** The form for a user that exists. */
export function EditUser(): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<User>(`/api/v2/users/${id}/`);
  return (
    <Loaded query={query} isPage>
      {(user) => <EditForm key={user.id} user={user} />}
    </Loaded>
  );
}

function EditForm({ user }: { readonly user: User }): ReactNode {
  const me = useMe();
  const navigate = useNavigate();
  const notify = useNotify();
  const back = `/users/${user.id}`;
  const { username, email, first_name, last_name } = user;
  const role = user.is_superuser ? 'superuser' : user.is_system_auditor ? 'auditor' : 'normal';
  return (
    <>
      <PageHeading
        title={`Edit ${username}`}
        above={[
          ['/users', 'Users'],
          [back, username],
        ]}
      />
      <PageSection>
        <ApiForm
          fields={fieldsOf(me, user)}
          initial={{ username, email, first_name, last_name, password: '', ...(me.is_superuser && { role }) }}
          submitLabel="Save"
          onCancel={() => void navigate(back)}
          send={async (values) => {
            await callApi(`/api/v2/users/${user.id}/`, { method: 'PATCH', body: bodyOf(values) });
            notify(`Saved ${values['username']}.`);
            await navigate(back);
          }}
        />
      </PageSection>
    </>
  );
}
