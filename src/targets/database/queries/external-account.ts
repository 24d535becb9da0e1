import type { Layout } from '../layout.ts';

/** An LDAP name counts while there is no usable password beside it. */
const CONTROLLER = `CASE
    WHEN u.password LIKE '!%'
      AND EXISTS (SELECT FROM main_profile p WHERE p.user_id = u.id AND p.ldap_dn <> '') THEN 'ldap'
    WHEN EXISTS (SELECT FROM social_auth_usersocialauth s WHERE s.user_id = u.id) THEN 'social'
    WHEN EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id) THEN 'enterprise'
  END`;

/**
 * A gateway knows which authenticators a user came through: whoever came through another than the local one is
 * external, a password or not. An authenticator's type ends in what it is: `….local`, `….ldap`, `….saml`.
 */
const GATEWAY = `(SELECT CASE substring(a.type FROM '[^.]*$') WHEN 'ldap' THEN 'ldap'
      WHEN 'radius' THEN 'enterprise' WHEN 'tacacs' THEN 'enterprise' ELSE 'social' END
    FROM dab_authentication_authenticatoruser l
    JOIN dab_authentication_authenticator a ON a.slug = l.provider_id
    WHERE l.user_id = u.id AND a.type <> 'ansible_base.authentication.authenticator_plugins.local'
    ORDER BY l.id LIMIT 1)`;

/**
 * SQL for which kind of identity provider a user `u` comes from, in the controller's words; null for a local
 * account.
 */
export const EXTERNAL_ACCOUNT: Readonly<Record<Layout, string>> = {
  controller: CONTROLLER,
  service: CONTROLLER,
  gateway: GATEWAY,
};
