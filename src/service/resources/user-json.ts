import { externalAccount, mayChangeUser, mayDeleteUser } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { UserRecord } from '../store/users.ts';
import { namedSegment } from './named-url.ts';

/** A user as the API shows it to a caller. The password shows only that there is a local one. */
export function userJson(user: UserRecord, caller: Caller, detail = false): Record<string, unknown> {
  const url = `/api/v2/users/${user.id}/`;
  const external = externalAccount(user);
  return {
    id: user.id,
    type: 'user',
    url,
    related: {
      ...(detail && { named_url: `/api/v2/users/${namedSegment([user.username])}/` }),
      organizations: `${url}organizations/`,
      admin_of_organizations: `${url}admin_of_organizations/`,
      activity_stream: `${url}activity_stream/`,
      tokens: `${url}tokens/`,
      authorized_tokens: `${url}authorized_tokens/`,
      personal_tokens: `${url}personal_tokens/`,
    },
    summary_fields: {
      user_capabilities: {
        edit: caller.mayWrite && mayChangeUser(caller.user, user),
        delete: caller.mayWrite && mayDeleteUser(caller.user, user),
      },
    },
    created: user.date_joined,
    modified: user.last_login,
    username: user.username,
    first_name: user.first_name,
    last_name: user.last_name,
    email: user.email,
    is_superuser: user.is_superuser,
    is_system_auditor: user.is_system_auditor,
    ...(external === null && { password: '$encrypted$' }),
    ldap_dn: user.ldap_dn,
    last_login: user.last_login,
    external_account: external,
    auth: user.social_accounts,
  };
}
