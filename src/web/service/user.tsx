/** One user: what is known, organizations and tokens. */
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { PageHeading } from '../shared/heading.tsx';
import { type Column, ResourceList } from '../shared/list.tsx';
import { type User, useMe } from '../shared/queries.ts';
import { HeldRoles } from './access.tsx';
import { ORGANIZATION, type Resource, ResourcePage } from './resource-pages.tsx';
import { CreateToken, EXTERNAL_HINT, TokenList } from './tokens.tsx';
import { USER } from './users.tsx';

/** The details of a user. */
export function UserDetails(): ReactNode {
  return <ResourcePage kind={USER} />;
}

/** The organizations of a user. */
export function UserOrganizations(): ReactNode {
  return (
    <ResourcePage kind={USER}>
      {(user) => (
        <Groups user={user} name="organizations" empty={`${user.username} is a member of no organization.`} />
      )}
    </ResourcePage>
  );
}

/** The teams of a user. */
export function UserTeams(): ReactNode {
  return (
    <ResourcePage kind={USER}>
      {(user) => (
        <Groups user={user} name="teams" empty={`${user.username} is in no team.`} columns={[ORGANIZATION]} />
      )}
    </ResourcePage>
  );
}

/** The roles of a user, among those that one may see. */
export function UserRoles(): ReactNode {
  return (
    <ResourcePage kind={USER}>{({ id }) => <HeldRoles path={`/api/v2/users/${id}/roles/`} />}</ResourcePage>
  );
}

/** The tokens of a user. */
export function UserTokens(): ReactNode {
  return <ResourcePage kind={USER}>{(user) => <Tokens user={user} />}</ResourcePage>;
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

function Tokens({ user }: { readonly user: User }): ReactNode {
  const me = useMe();
  const isOwn = user.id === me.id;
  return (
    <TokenList
      path={`/api/v2/users/${user.id}/tokens/`}
      about="user"
      isWhole={isOwn}
      {...(isOwn && { createAt: `/users/${user.id}/tokens/add` })}
      {...(isOwn && me.external_account !== null && { why: EXTERNAL_HINT })}
      {...(!isOwn && { why: `Only ${user.username} can create tokens here: users create their own.` })}
    />
  );
}
