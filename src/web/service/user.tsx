/** One user: what is known, organizations and tokens. */
import { Flex, PageSection } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { useNavigate, useParams } from 'react-router';
import { DeleteButton } from '../shared/deletion.tsx';
import { Facts, LinkedTabs, PageHeading } from '../shared/detail.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { type User, useApi } from '../shared/queries.ts';
import { Loaded } from '../shared/states.tsx';
import { Time } from '../shared/times.tsx';
import { Roles } from './users.tsx';

/** The details of a user. */
export function UserDetails(): ReactNode {
  return <UserPage>{(user) => <Details user={user} />}</UserPage>;
}

/** The heading and the tabs of a user around one of these. */
function UserPage({ children }: { readonly children: (user: User) => ReactNode }): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<User>(`/api/v2/users/${id}/`);
  const path = `/users/${id}`;
  return (
    <Loaded query={query}>
      {(user) => (
        <>
          <PageHeading
            title={user.username}
            above={[['/users', 'Users']]}
            actions={<Actions user={user} />}
          />
          <LinkedTabs label={`About ${user.username}`} tabs={[[path, 'Details']]} />
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
      ]}
    />
  );
}
