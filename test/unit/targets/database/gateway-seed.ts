import type { Database } from '@tokenctl/common/db/database.ts';

/** Fills a gateway's empty tables with the users and applications that every place has. */
export async function seedGateway(database: Database): Promise<void> {
  await database.execute(
    `INSERT INTO aap_gateway_api_user (username, password, is_superuser, first_name, last_name, email, is_staff,
       is_active, date_joined, last_login, created, modified, managed)
     SELECT name, CASE WHEN name = 'ldap' THEN '!unusable' ELSE 'pbkdf2_sha256$1$a$b' END, name = 'admin', '', '', '',
       false, name <> 'leaver', now(), CASE WHEN name = 'alice' THEN '2026-01-02T03:04:05.678Z'::timestamptz END,
       now(), '2020-01-01', false
     FROM unnest(ARRAY['alice', 'leaver', 'admin', 'ldap', 'mixed', 'social', 'radius']) WITH ORDINALITY AS n(name, i)
     ORDER BY i`,
  );
  await database.execute(
    `INSERT INTO dab_authentication_authenticator (created, modified, name, enabled, create_objects, remove_users,
       configuration, type, "order", slug, category)
     SELECT now(), now(), kind, true, true, false, '{}', 'ansible_base.authentication.authenticator_plugins.' || kind, 1,
       'slug-' || kind, CASE WHEN kind = 'saml' THEN 'sso' ELSE 'password' END
     FROM unnest(ARRAY['local', 'ldap', 'saml', 'radius']) kind`,
  );
  // A user who also has the local authenticator is still external.
  await database.execute(
    `INSERT INTO dab_authentication_authenticatoruser (created, modified, uid, extra_data, claims,
       last_login_map_results, provider_id, user_id)
     SELECT now(), now(), u.username, '{}', '{}', '[]', 'slug-' || l.kind, u.id
     FROM (VALUES ('alice', 'local'), ('ldap', 'local'), ('ldap', 'ldap'), ('mixed', 'local'), ('social', 'saml'),
       ('radius', 'radius')) l(name, kind)
     JOIN aap_gateway_api_user u ON u.username = l.name`,
  );
  await database.execute(
    `INSERT INTO dab_rbac_roleuserassignment (created, role_definition_id, user_id)
     SELECT now(), d.id, u.id FROM dab_rbac_roledefinition d, aap_gateway_api_user u
     WHERE (d.name, u.username) IN (('Platform Auditor', 'mixed'), ('Team Member', 'alice'))`,
  );
  await database.execute(
    `INSERT INTO dab_oauth2_provider_oauth2application (created, modified, client_id, name, description, client_secret,
       client_type, skip_authorization, authorization_grant_type, algorithm, redirect_uris,
       post_logout_redirect_uris, allowed_origins, hash_client_secret)
     SELECT '2020-01-01', now(), name, name, '', '', 'public', false, 'password', '', '', '', '', true
     FROM unnest(ARRAY['github', 'gitlab']) AS n(name)`,
  );
}
