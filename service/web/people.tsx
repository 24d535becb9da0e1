import { ResourceList } from '@tokenctl/common/web/list.tsx';
import type { User } from '@tokenctl/common/web/queries.ts';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { AddMember, RemoveMember } from './members.tsx';
import { InactiveUsers, UserState } from './user-state.tsx';

const WITH_ARTICLE = {
  member: 'a member',
  administrator: 'an administrator',
  auditor: 'an auditor',
} as const;
type Noun = keyof typeof WITH_ARTICLE;

export function People(props: {
  readonly mayEdit: boolean;
  /** The collection of the users. It accepts users to add and remove. */
  readonly path: string;
  readonly noun: Noun;
}): ReactNode {
  const { mayEdit, path, noun } = props;
  return (
    <ResourceList<User>
      name={`${noun}s`}
      path={path}
      order="username"
      columns={[
        {
          title: 'Username',
          orderBy: 'username',
          show: ({ id, username }) => <Link to={`/users/${id}`}>{username}</Link>,
        },
        { title: 'State', show: (user) => <UserState user={user} /> },
        { title: 'First name', orderBy: 'first_name', show: ({ first_name }) => first_name },
        { title: 'Last name', orderBy: 'last_name', show: ({ last_name }) => last_name },
      ]}
      filters={[{ name: 'username__icontains', label: 'Username' }]}
      isWhole={mayEdit}
      around={(users, table) => <InactiveUsers users={users}>{table}</InactiveUsers>}
      actions={
        mayEdit && (
          <AddMember
            path={path}
            title={`Add ${noun}`}
            done={`Added ${WITH_ARTICLE[noun]}.`}
            choice={{ label: 'User', collection: '/api/v2/users/', shows: 'username' }}
          />
        )
      }
      {...(mayEdit && {
        rowActions: ({ id, username }: User) => (
          <RemoveMember
            path={path}
            id={id}
            name={username}
            done={`${username} is no longer ${WITH_ARTICLE[noun]}.`}
          />
        ),
      })}
    />
  );
}
