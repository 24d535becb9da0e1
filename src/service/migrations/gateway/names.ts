import type { Migration } from '../../../db/migrate.ts';
import { NAMES } from './schema.ts';

/** The names under which `store/` reads and writes what stands in the gateway's tables. */
export const names: Pick<Migration, 'name' | 'sql'> = {
  name: 'gateway-names',
  sql: `
CREATE VIEW ${NAMES}.auth_user AS
  SELECT id, password, last_login, is_superuser, username, first_name, last_name, email, is_staff, is_active,
    date_joined
  FROM aap_gateway_api_user;

CREATE VIEW ${NAMES}.social_auth_usersocialauth AS
  SELECT id, provider_id AS provider, uid, user_id, created, modified, extra_data
  FROM dab_authentication_authenticatoruser;

CREATE VIEW ${NAMES}.main_organization AS
  SELECT id, created, modified, description, name, created_by_id, modified_by_id, max_hosts
  FROM aap_gateway_api_organization;

CREATE VIEW ${NAMES}.main_oauth2application AS
  SELECT id, client_id, redirect_uris, client_type, authorization_grant_type, client_secret, name,
    skip_authorization, created, modified AS updated, description, user_id, organization_id, algorithm
  FROM dab_oauth2_provider_oauth2application;

CREATE VIEW ${NAMES}.main_oauth2accesstoken AS
  SELECT id, token, expires, scope, created, updated, description, last_used, application_id, user_id,
    source_refresh_token_id, modified
  FROM dab_oauth2_provider_oauth2accesstoken;

CREATE VIEW ${NAMES}.oauth2_provider_refreshtoken AS
  SELECT id, token, access_token_id, application_id, user_id, created, modified AS updated, revoked, family, scope
  FROM dab_oauth2_provider_oauth2refreshtoken;

CREATE VIEW ${NAMES}.main_usersessionmembership AS
  SELECT id, created, session_id, user_id FROM aap_gateway_api_usersessionmembership;
`,
};
