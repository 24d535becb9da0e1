import { insert, type Need, type Needs, read, remove, update } from './need.ts';

const ACTIVITY = 'dab_activitystream_entry';
const ACCESS = 'dab_oauth2_provider_oauth2accesstoken';
const REFRESH = 'dab_oauth2_provider_oauth2refreshtoken';
const USER = 'aap_gateway_api_user';
const MEMBERSHIP = 'aap_gateway_api_usersessionmembership';
const PREFERENCE = 'aap_gateway_api_preference';

const READ: readonly Need[] = [
  read(USER, 'id', 'username', 'is_superuser', 'is_active', 'last_login'),
  read('dab_authentication_authenticator', 'slug', 'type'),
  read('dab_authentication_authenticatoruser', 'id', 'user_id', 'provider_id'),
  read('dab_rbac_roledefinition', 'id', 'name'),
  read('dab_rbac_roleuserassignment', 'user_id', 'role_definition_id'),
  read(
    'dab_oauth2_provider_oauth2application',
    ...['id', 'name', 'client_type', 'authorization_grant_type', 'created'],
  ),
  read(
    ACCESS,
    ...['id', 'token', 'expires', 'scope', 'created', 'description', 'last_used', 'application_id'],
    ...['user_id', 'source_refresh_token_id'],
  ),
  read(REFRESH, 'id', 'token', 'access_token_id', 'application_id', 'user_id', 'created', 'revoked'),
  read(PREFERENCE, 'id', 'section', 'name', 'raw_value'),
  read('django_session', 'session_key', 'expire_date'),
  read(MEMBERSHIP, 'session_id', 'user_id', 'created'),
  read(
    ACTIVITY,
    ...['id', 'created', 'operation', 'changes', 'content_type_id', 'object_id', 'created_by_id'],
  ),
  read('django_content_type', 'id', 'app_label', 'model'),
];

const NOTE = insert(ACTIVITY, 'operation', 'created', 'changes', 'content_type_id', 'object_id');

/** Rows are locked before they go, which takes the right to update a column, whichever. */
const REVOKE: readonly Need[] = [
  read(ACCESS, 'modified'),
  update(ACCESS, 'source_refresh_token_id'),
  remove(ACCESS),
  read(REFRESH, 'modified'),
  update(REFRESH, 'access_token_id', 'revoked', 'modified'),
  NOTE,
];

/** What is needed in a platform gateway's database. */
export const GATEWAY_NEEDS: Needs = {
  read: READ,
  revoke: REVOKE,
  sessions: [update('django_session', 'expire_date'), remove('django_session'), remove(MEMBERSHIP)],
  settings: [
    insert(PREFERENCE, 'section', 'name', 'raw_value'),
    // On the whole table: it is locked against others who write.
    { table: PREFERENCE, privilege: 'UPDATE' },
    NOTE,
  ],
  create: [
    insert(ACCESS, 'token', 'expires', 'scope', 'created', 'modified', 'description', 'user_id'),
    NOTE,
  ],
  cleanup: [...REVOKE, remove(REFRESH)],
  users: [update(USER, 'is_active', 'modified'), NOTE],
};
