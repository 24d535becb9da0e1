import { insert, type Need, type Needs, read, remove, update } from './need.ts';

const ACTIVITY = 'main_activitystream';
const LINK = 'main_activitystream_o_auth2_access_token';
const ACCESS = 'main_oauth2accesstoken';
const REFRESH = 'oauth2_provider_refreshtoken';

const READ: readonly Need[] = [
  read('auth_user', 'id', 'username', 'password', 'is_superuser', 'is_active', 'last_login'),
  read('main_profile', 'user_id', 'ldap_dn'),
  read('social_auth_usersocialauth', 'user_id'),
  read('sso_userenterpriseauth', 'user_id'),
  read('main_oauth2application', 'id', 'name', 'client_type', 'authorization_grant_type', 'created'),
  read(
    ACCESS,
    ...[
      'id',
      'token',
      'expires',
      'scope',
      'created',
      'description',
      'last_used',
      'application_id',
      'user_id',
    ],
    'source_refresh_token_id',
  ),
  read(REFRESH, 'id', 'token', 'access_token_id', 'application_id', 'user_id', 'created', 'revoked'),
  read('conf_setting', 'id', 'key', 'value', 'user_id'),
  read('django_session', 'session_key', 'expire_date'),
  read('main_usersessionmembership', 'session_id', 'user_id', 'created'),
  read(ACTIVITY, 'id', 'timestamp', 'operation', 'changes', 'object1', 'actor_id'),
  read(LINK, 'activitystream_id', 'oauth2accesstoken_id'),
];

const NOTE = insert(
  ACTIVITY,
  ...['operation', 'timestamp', 'changes', 'object_relationship_type', 'object1', 'object2'],
  ...['action_node', 'setting'],
);

/** Rows are locked before they go, which takes the right to update a column, whichever. */
const REVOKE: readonly Need[] = [
  update(ACCESS, 'source_refresh_token_id'),
  remove(ACCESS),
  read(REFRESH, 'updated'),
  update(REFRESH, 'access_token_id', 'revoked', 'updated'),
  remove(LINK),
  NOTE,
];

/** What is needed in a controller's database. */
export const CONTROLLER_NEEDS: Needs = {
  read: READ,
  revoke: REVOKE,
  sessions: [
    update('django_session', 'expire_date'),
    remove('django_session'),
    remove('main_usersessionmembership'),
  ],
  settings: [
    insert('conf_setting', 'created', 'modified', 'key', 'value'),
    // On the whole table: it is locked against others who write.
    { table: 'conf_setting', privilege: 'UPDATE' },
    NOTE,
  ],
  create: [
    insert(
      ACCESS,
      ...['token', 'expires', 'scope', 'created', 'updated', 'modified', 'description', 'user_id'],
    ),
    NOTE,
    insert(LINK, 'activitystream_id', 'oauth2accesstoken_id'),
  ],
  cleanup: [...REVOKE, remove(REFRESH)],
  users: [update('auth_user', 'is_active'), NOTE],
};

/** The same in the service's, which has a table of roles as well. */
export const SERVICE_NEEDS: Needs = {
  ...CONTROLLER_NEEDS,
  read: [...READ, read('service_role', 'user_id', 'role')],
};
