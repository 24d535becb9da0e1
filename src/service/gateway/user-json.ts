import { externalAccount } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { UserRecord } from '../store/users.ts';
import { API, MASK } from './related.ts';

/**
 * A user as a gateway shows it. The password shows only that there is a local one; accounts at identity
 * providers are keyed by the provider, which is what the service has of an authenticator.
 */
export function gatewayUserJson(user: UserRecord, _caller: Caller): Record<string, unknown> {
  const url = `${API}users/${user.id}/`;
  return {
    id: user.id,
    url,
    related: {
      authorized_tokens: `${url}authorized_tokens/`,
      organizations: `${url}organizations/`,
      personal_tokens: `${url}personal_tokens/`,
    },
    summary_fields: {},
    created: user.date_joined,
    created_by: null,
    modified: user.last_login ?? user.date_joined,
    modified_by: null,
    username: user.username,
    email: user.email,
    first_name: user.first_name,
    last_name: user.last_name,
    last_login: user.last_login,
    ...(externalAccount(user) === null && { password: MASK }),
    is_superuser: user.is_superuser,
    is_platform_auditor: user.is_system_auditor,
    managed: false,
    associated_authenticators: Object.fromEntries(
      user.social_accounts.map(({ provider, uid }) => [provider, { uid, email: user.email }]),
    ),
  };
}
