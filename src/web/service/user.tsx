/** One user: what is known, organizations and tokens. */
import { Flex, PageSection } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { DeleteButton } from '../shared/deletion.tsx';
import { Facts, LinkedTabs } from '../shared/detail.tsx';
import { PageHeading } from '../shared/heading.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { type Column, ResourceList } from '../shared/list.tsx';
import { type User, useApi, useMe } from '../shared/queries.ts';
import { Loaded } from '../shared/states.tsx';
import { Time } from '../shared/times.tsx';
import { ORGANIZATION, type Resource } from './resource-pages.tsx';
import { CreateToken, EXTERNAL_HINT, TokenList } from './tokens.tsx';
import { Roles } from './users.tsx';

/** The details of a user. */
export function UserDetails(): ReactNode {
  return <UserPage>{(user) => <Details user={user} />}</UserPage>;
}

/** The organizations of a user. */
export function UserOrganizations(): ReactNode {
  return (
    <UserPage>
      {(user) => (
        <Groups user={user} name="organizations" empty={`${user.username} is a member of no organization.`} />
      )}
    </UserPage>
  );
}

/** The teams of a user. */
export function UserTeams(): ReactNode {
  return (
    <UserPage>
      {(user) => (
        <Groups user={user} name="teams" empty={`${user.username} is in no team.`} columns={[ORGANIZATION]} />
      )}
    </UserPage>
  );
}

/** The tokens of a user. */
export function UserTokens(): ReactNode {
  return <UserPage>{(user) => <Tokens user={user} />}</UserPage>;
}

/** The form for a new token of the user who is logged in. */
export function CreateUserToken(): ReactNode {
  const me = useMe();
  const { id } = useParams();
  const back = `/users/${me.id}/tokens`;
  if (id !== String(me.id)) return <PageHeading title="Tokens can be created for yourself only" />;
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

/** The heading and the tabs of a user around one of these. */
function UserPage({ children }: { readonly children: (user: User) => ReactNode }): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<User>(`/api/v2/users/${id}/`);
  const path = `/users/${id}`;
  return (
    <Loaded query={query} isPage>
      {(user) => (
        <>
          <PageHeading
            title={user.username}
            above={[['/users', 'Users']]}
            actions={<Actions user={user} />}
          />
          <LinkedTabs
            label={`About ${user.username}`}
            tabs={[
              [path, 'Details'],
              [`${path}/organizations`, 'Organizations'],
              [`${path}/teams`, 'Teams'],
              [`${path}/tokens`, 'Tokens'],
            ]}
          />
          <PageSection>{children(user)}</PageSection>
        </>
      )}
    </Loaded>
  );
}

function Actions({ user }: { readonly user: User }): ReactNode {
  const navigate = useNavigate();
  const { edit = false, delete: remove = false } = user.summary_fields.user_capabilities ?? {};
  return (
    <Flex gap={{ default: 'gapSm' }}>
      {edit && <ButtonLink to={`/users/${user.id}/edit`}>Edit</ButtonLink>}
      {remove && (
        <DeleteButton
          deletion={{
            noun: 'user',
            path: ({ id }: User) => `/api/v2/users/${id}/`,
            describe: ({ username }: User) => username,
            consequence: 'Their tokens and sessions end with them.',
          }}
          rows={[user]}
          onDone={() => void navigate('/users')}
        />
      )}
    </Flex>
  );
}

function Details({ user }: { readonly user: User }): ReactNode {
  return (
    <Facts
      facts={[
        ['Username', user.username],
        ['First name', user.first_name],
        ['Last name', user.last_name],
        ['Email address', user.email],
        ['Role', <Roles key="roles" user={user} />],
        ['LDAP DN', user.ldap_dn === '' ? undefined : user.ldap_dn],
        ['Accounts at', user.auth?.map(({ provider, uid }) => `${provider}: ${uid}`).join(', ') || undefined],
        ['Created', <Time key="created" value={user.created} />],
        ['Last login', <Time key="login" value={user.last_login} />],
        [
          'Activity',
          <Link key="activity" to={`/activity?actor=${user.id}`}>
            What this user changed
          </Link>,
        ],
      ]}
    />
  );
}

/** The organizations or the teams of a user. */
function Groups({
  user,
  name,
  empty,
  columns = [],
}: {
  readonly user: User;
  readonly name: 'organizations' | 'teams';
  readonly empty: string;
  /** The columns between name and description. */
  readonly columns?: readonly Column<Resource>[];
}): ReactNode {
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
    />
  );
}

function Tokens({ user }: { readonly user: User }): ReactNode {
  const me = useMe();
  const isOwn = user.id === me.id;
  return (
    <TokenList
      path={`/api/v2/users/${user.id}/tokens/`}
      about="user"
      {...(isOwn && { createAt: `/users/${user.id}/tokens/add` })}
      {...(isOwn && me.external_account !== null && { why: EXTERNAL_HINT })}
      {...(!isOwn && { why: `Only ${user.username} can create tokens here: users create their own.` })}
    />
  );
}
