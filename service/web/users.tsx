import { Label, LabelGroup, PageSection } from '@patternfly/react-core';
import type { FormField } from '@tokenctl/common/web/form-fields.ts';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { ButtonLink } from '@tokenctl/common/web/links.tsx';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import { type User, useMe } from '@tokenctl/common/web/queries.ts';
import { breakable } from '@tokenctl/common/web/table.tsx';
import { Time } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { HeldRoles } from './access.tsx';
import { pagesOf } from './resource-forms.tsx';
import {
  type Body,
  ORGANIZATION,
  ORGANIZATION_FIELD,
  type Resource,
  type ResourceKind,
} from './resource-pages.tsx';
import { CreateToken, EXTERNAL_HINT, TokenList } from './tokens.tsx';
import { ActivationButton, InactiveNotice, InactiveUsers, UserState } from './user-state.tsx';

const YES_OR_NO = [
  ['true', 'Yes'],
  ['false', 'No'],
] as const;

const USER: ResourceKind<User> = {
  noun: 'user',
  plural: 'Users',
  path: '/users',
  api: '/api/v2/users/',
  naming: { field: 'username', label: 'Username' },
  columns: [
    { title: 'First name', orderBy: 'first_name', show: ({ first_name }) => first_name },
    { title: 'Last name', orderBy: 'last_name', show: ({ last_name }) => last_name },
    { title: 'Role', show: (user) => <Roles user={user} /> },
    { title: 'State', show: (user) => <UserState user={user} /> },
    { title: 'Last login', orderBy: 'last_login', show: ({ last_login }) => <Time value={last_login} /> },
  ],
  filters: [
    { name: 'username__icontains', label: 'Username' },
    { name: 'search', label: 'Name or email address' },
    { name: 'is_superuser', label: 'Superuser', choices: YES_OR_NO },
    {
      name: 'is_active',
      label: 'State',
      choices: [
        ['true', 'Active'],
        ['false', 'Deactivated'],
      ],
    },
  ],
  consequence: 'Their tokens are revoked and their sessions end.',
  facts: (user) => [
    ['First name', user.first_name],
    ['Last name', user.last_name],
    ['Email address', user.email],
    ['Role', <Roles key="roles" user={user} />],
    ['State', <UserState key="state" user={user} />],
    ['LDAP DN', user.ldap_dn === '' ? undefined : breakable(user.ldap_dn)],
    ['Accounts at', user.auth?.map(({ provider, uid }) => `${provider}: ${uid}`).join(', ') || undefined],
    ['Last login', <Time key="login" value={user.last_login} />],
    [
      'Activity',
      <Link key="activity" to={`/activity?actor=${user.id}`}>
        Changes by this user
      </Link>,
    ],
  ],
  fields: fieldsOf,
  values: (user) => ({
    role: user?.is_superuser ? 'superuser' : user?.is_system_auditor ? 'auditor' : 'normal',
    // The API shows a mask.
    password: '',
  }),
  written: bodyOf,
  createIn: ({ id }) => `/api/v2/users/${id}/admin_of_organizations/`,
  createAt: ({ organization }) =>
    organization === '' ? '/api/v2/users/' : `/api/v2/organizations/${organization}/users/`,
  actions: (user) => <ActivationButton user={user} />,
  around: (users, content) => <InactiveUsers users={users}>{content}</InactiveUsers>,
  notice: (user) => <InactiveNotice user={user} />,
  tabs: [
    [
      'organizations',
      'Organizations',
      (user) => (
        <Groups
          user={user}
          name="organizations"
          empty={`${user.username} does not belong to an organization.`}
        />
      ),
    ],
    [
      'teams',
      'Teams',
      (user) => (
        <Groups
          user={user}
          name="teams"
          empty={`${user.username} does not belong to a team.`}
          columns={[ORGANIZATION]}
        />
      ),
    ],
    ['roles', 'Roles', ({ id }) => <HeldRoles path={`/api/v2/users/${id}/roles/`} />],
    ['tokens', 'Tokens', (user) => <Tokens user={user} />],
  ],
};

/** What is special about a user: additional rights, or an account at a provider. */
function Roles({ user }: { user: User }): ReactNode {
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

const ROLE: FormField = {
  name: 'role',
  label: 'Role',
  kind: 'select',
  choices: [
    ['normal', 'Normal user'],
    ['auditor', 'System auditor: can see everything, but not change it'],
    ['superuser', 'Superuser: can see and change everything'],
  ],
};

function fieldsOf(user: User | undefined, me: User): readonly FormField[] {
  const isLocal = (user?.external_account ?? null) === null;
  return [
    {
      name: 'username',
      label: 'Username',
      required: isLocal,
      maxLength: 150,
      ...(!isLocal && {
        isDisabled: true,
        help: 'Managed by the identity provider. It cannot be changed here.',
      }),
    },
    { name: 'email', label: 'Email address', kind: 'email', maxLength: 254 },
    { name: 'first_name', label: 'First name', maxLength: 150 },
    { name: 'last_name', label: 'Last name', maxLength: 150 },
    ...(me.is_superuser ? [ROLE] : []),
    ...(user === undefined ? [organizationFor(me)] : []),
    ...(isLocal ? [passwordOf(user)] : []),
  ];
}

function organizationFor(me: User): FormField {
  if (me.is_superuser) return { ...ORGANIZATION_FIELD, required: false };
  const collection = `/api/v2/users/${me.id}/admin_of_organizations/`;
  return { ...ORGANIZATION_FIELD, collection, help: 'An organization you administer.' };
}

function passwordOf(user: User | undefined): FormField {
  if (user === undefined) return { name: 'password', label: 'Password', kind: 'password', required: true };
  const help = "Leave empty to keep the current password. A new password ends all of the user's sessions.";
  return { name: 'password', label: 'New password', kind: 'password', help };
}

/** The role is two fields of the API, and the organization is in the URL. */
function bodyOf({ role, organization: _organization, ...entered }: Body): Body {
  if (role === undefined) return entered;
  return { ...entered, is_superuser: role === 'superuser', is_system_auditor: role === 'auditor' };
}

function Groups(props: {
  readonly user: User;
  readonly name: 'organizations' | 'teams';
  readonly empty: string;
  readonly columns?: readonly Column<Resource>[];
}): ReactNode {
  const { user, name, empty, columns = [] } = props;
  const me = useMe();
  return (
    <ResourceList<Resource>
      name={name}
      path={`/api/v2/users/${user.id}/${name}/`}
      order="name"
      columns={[
        {
          title: 'Name',
          orderBy: 'name',
          show: (group) => <Link to={`/${name}/${group.id}`}>{group.name}</Link>,
        },
        ...columns,
        { title: 'Description', show: ({ description }) => description },
      ]}
      filters={[{ name: 'name__icontains', label: 'Name' }]}
      empty={empty}
      isWhole={user.id === me.id}
    />
  );
}

function Tokens({ user }: { user: User }): ReactNode {
  const me = useMe();
  const isOwn = user.id === me.id;
  return (
    <TokenList
      path={`/api/v2/users/${user.id}/tokens/`}
      about="user"
      isWhole={isOwn}
      {...(isOwn && { createAt: `/users/${user.id}/tokens/add` })}
      {...(isOwn && me.external_account !== null && { why: EXTERNAL_HINT })}
      {...(!isOwn && { why: `Only ${user.username} can create tokens for this account.` })}
    />
  );
}

/** The form for a new token of the logged-in user. */
export function CreateUserToken(): ReactNode {
  const me = useMe();
  const { id } = useParams();
  const back = `/users/${me.id}/tokens`;
  if (id !== String(me.id)) {
    return (
      <>
        <PageHeading title="You can create tokens only for yourself" above={[['/users', 'Users']]} />
        <PageSection>
          <ButtonLink to={`${back}/add`}>Create a token for yourself</ButtonLink>
        </PageSection>
      </>
    );
  }
  return (
    <CreateToken
      above={[
        ['/users', 'Users'],
        [`/users/${me.id}`, me.username],
        [back, 'Tokens'],
      ]}
      back={back}
    />
  );
}

export const USERS = pagesOf(USER);
