import { words } from '@tokenctl/common/text.ts';
import type { RightsPurpose } from '../../operations/ports/target.ts';
import { ID_TOKENS, type Layout } from './tables.ts';

/** A right on columns of a table that the queries need; without columns, on the whole table. */
export interface RequiredRight {
  readonly table: string;
  readonly privilege: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
  readonly columns?: readonly string[];
}

/** The rights for each purpose. Every purpose also needs the rights of `read`. */
type RightsByPurpose = Readonly<Record<RightsPurpose, readonly RequiredRight[]>>;

function select(table: string, columns: string): RequiredRight {
  return { table, privilege: 'SELECT', columns: words(columns) };
}

function insert(table: string, columns: string): RequiredRight {
  return { table, privilege: 'INSERT', columns: words(columns) };
}

function update(table: string, columns: string): RequiredRight {
  return { table, privilege: 'UPDATE', columns: words(columns) };
}

function deleteFrom(table: string): RequiredRight {
  return { table, privilege: 'DELETE' };
}

function wholeTable(table: string): RequiredRight {
  return { table, privilege: 'SELECT' };
}

/** The tables with the history of user names, which are checked before users are deactivated by name. */
export const NAME_TABLES = {
  controller: ['auth_user', 'conf_setting', 'main_activitystream', 'main_activitystream_user'],
  gateway: [
    'aap_gateway_api_preference',
    'aap_gateway_api_user',
    'dab_activitystream_entry',
    'django_content_type',
  ],
} as const;

/** Without the code itself, which is stored in plain text. */
const AUTHORIZATION_CODE = 'id user_id application_id created expires';

function controllerRights(): RightsByPurpose {
  const activity = 'main_activitystream';
  const activityLinks = 'main_activitystream_o_auth2_access_token';
  const accessTokens = 'main_oauth2accesstoken';
  const refreshTokens = 'oauth2_provider_refreshtoken';
  const authorizationCodes = 'oauth2_provider_grant';
  const writeActivity = insert(
    activity,
    'operation timestamp changes object_relationship_type object1 object2 action_node setting',
  );
  const revoke = [
    // Locking a row requires the right to update one of its columns.
    update(accessTokens, 'source_refresh_token_id'),
    deleteFrom(accessTokens),
    select(refreshTokens, 'updated'),
    update(refreshTokens, 'access_token_id revoked updated'),
    deleteFrom(authorizationCodes),
    deleteFrom(activityLinks),
    writeActivity,
  ];
  return {
    read: [
      select('auth_user', 'id username password is_superuser is_active last_login'),
      select('main_profile', 'user_id ldap_dn'),
      select('social_auth_usersocialauth', 'user_id'),
      select('sso_userenterpriseauth', 'user_id'),
      select('main_oauth2application', 'id name client_type authorization_grant_type created'),
      select(
        accessTokens,
        'id token expires scope created description last_used application_id user_id source_refresh_token_id',
      ),
      select(refreshTokens, 'id token access_token_id application_id user_id created revoked'),
      select(authorizationCodes, AUTHORIZATION_CODE),
      select('conf_setting', 'id key value user_id'),
      select('django_session', 'session_key expire_date'),
      select('main_usersessionmembership', 'session_id user_id created'),
      select(activity, 'id timestamp operation changes object1 actor_id'),
      select(activityLinks, 'activitystream_id oauth2accesstoken_id'),
    ],
    revoke,
    sessions: [
      update('django_session', 'expire_date'),
      deleteFrom('django_session'),
      deleteFrom('main_usersessionmembership'),
    ],
    settings: [
      insert('conf_setting', 'created modified key value'),
      // On the whole table, because it is locked against other writers.
      { table: 'conf_setting', privilege: 'UPDATE' },
      writeActivity,
    ],
    create: [
      insert(accessTokens, 'token expires scope created updated modified description user_id'),
      writeActivity,
      insert(activityLinks, 'activitystream_id oauth2accesstoken_id'),
    ],
    ends: [
      update(accessTokens, 'expires updated modified'),
      writeActivity,
      insert(activityLinks, 'activitystream_id oauth2accesstoken_id'),
    ],
    cleanup: [...revoke, deleteFrom(refreshTokens)],
    applications: [
      ...revoke,
      deleteFrom(refreshTokens),
      select(
        'main_oauth2application',
        'description client_id client_secret redirect_uris skip_authorization organization_id',
      ),
      update('main_oauth2application', 'client_secret updated'),
      deleteFrom('main_oauth2application'),
      select('main_activitystream_o_auth2_application', 'oauth2application_id'),
      insert('main_activitystream_o_auth2_application', 'activitystream_id oauth2application_id'),
      deleteFrom('main_activitystream_o_auth2_application'),
    ],
    users: [
      update('auth_user', 'is_active'),
      writeActivity,
      insert('main_activitystream_user', 'activitystream_id user_id'),
      ...NAME_TABLES.controller.map(wholeTable),
    ],
    contacts: [select('auth_user', 'email')],
  };
}

/** The service also has a role table. */
function serviceRights(): RightsByPurpose {
  const rights = controllerRights();
  return {
    ...rights,
    read: [...rights.read, select('service_role', 'user_id role'), select('oauth2_provider_grant', 'used')],
  };
}

function gatewayRights(): RightsByPurpose {
  const activity = 'dab_activitystream_entry';
  const accessTokens = 'dab_oauth2_provider_oauth2accesstoken';
  const refreshTokens = 'dab_oauth2_provider_oauth2refreshtoken';
  const authorizationCodes = 'oauth2_provider_grant';
  const users = 'aap_gateway_api_user';
  const sessionMemberships = 'aap_gateway_api_usersessionmembership';
  const settings = 'aap_gateway_api_preference';
  const writeActivity = insert(activity, 'operation created changes content_type_id object_id created_by_id');
  const revoke = [
    select(accessTokens, 'modified id_token_id created_by_id modified_by_id'),
    // Locking a row requires the right to update one of its columns.
    update(accessTokens, 'source_refresh_token_id'),
    deleteFrom(accessTokens),
    select(refreshTokens, 'modified created_by_id modified_by_id'),
    update(refreshTokens, 'access_token_id revoked modified'),
    deleteFrom(authorizationCodes),
    writeActivity,
  ];
  return {
    read: [
      select(users, 'id username is_superuser is_active last_login'),
      select('dab_authentication_authenticator', 'slug type'),
      select('dab_authentication_authenticatoruser', 'id user_id provider_id'),
      select('dab_rbac_roledefinition', 'id name'),
      select('dab_rbac_roleuserassignment', 'user_id role_definition_id'),
      select('dab_oauth2_provider_oauth2application', 'id name client_type authorization_grant_type created'),
      select(
        accessTokens,
        'id token expires scope created description last_used application_id user_id source_refresh_token_id',
      ),
      select(refreshTokens, 'id token access_token_id application_id user_id created revoked'),
      select(authorizationCodes, AUTHORIZATION_CODE),
      select(settings, 'id section name raw_value'),
      select('django_session', 'session_key expire_date'),
      select(sessionMemberships, 'session_id user_id created'),
      select(activity, 'id created operation changes content_type_id object_id created_by_id'),
      select('django_content_type', 'id app_label model'),
    ],
    revoke,
    sessions: [
      update('django_session', 'expire_date'),
      deleteFrom('django_session'),
      deleteFrom(sessionMemberships),
    ],
    settings: [
      insert(settings, 'section name raw_value'),
      // On the whole table, because it is locked against other writers.
      { table: settings, privilege: 'UPDATE' },
      writeActivity,
    ],
    create: [
      insert(
        accessTokens,
        'token expires scope created modified description user_id created_by_id modified_by_id',
      ),
      select('dab_authentication_authenticator', 'name'),
      writeActivity,
    ],
    ends: [update(accessTokens, 'expires modified'), writeActivity],
    cleanup: [...revoke, deleteFrom(refreshTokens)],
    applications: [
      ...revoke,
      deleteFrom(refreshTokens),
      select(
        'dab_oauth2_provider_oauth2application',
        'description client_id client_secret redirect_uris skip_authorization organization_id',
      ),
      update('dab_oauth2_provider_oauth2application', 'client_secret modified'),
      deleteFrom('dab_oauth2_provider_oauth2application'),
      select(ID_TOKENS.text, 'application_id'),
      deleteFrom(ID_TOKENS.text),
    ],
    users: [update(users, 'is_active modified'), writeActivity, ...NAME_TABLES.gateway.map(wholeTable)],
    contacts: [select(users, 'email')],
  };
}

const RIGHTS: Readonly<Record<Layout, RightsByPurpose>> = {
  controller: controllerRights(),
  service: serviceRights(),
  gateway: gatewayRights(),
};

/** Every purpose, in display order. */
export const PURPOSES = Object.keys(RIGHTS.controller) as readonly RightsPurpose[];

/** The rights that a purpose needs in addition to those of `read`. */
export function requiredRights(purpose: RightsPurpose, layout: Layout): readonly RequiredRight[] {
  return RIGHTS[layout][purpose];
}

/** The tables that a layout must have, each with the columns in the queries. Contacts are optional. */
export function requiredColumns(layout: Layout): ReadonlyMap<string, readonly string[]> {
  const tables = new Map<string, readonly string[]>();
  const { contacts: _, ...needed } = RIGHTS[layout];
  for (const { table, columns = [] } of Object.values(needed).flat()) {
    tables.set(table, [...new Set([...(tables.get(table) ?? []), ...columns])]);
  }
  return tables;
}
