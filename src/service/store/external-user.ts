/**
 * Whether a row `u` of auth_user comes from an identity provider, in SQL: the rule of `externalAccount`,
 * for queries that need nothing else of the user.
 */
export const IS_EXTERNAL = `(
  (u.password LIKE '!%'
   AND EXISTS (SELECT FROM main_profile p WHERE p.user_id = u.id AND p.ldap_dn <> ''))
  OR EXISTS (SELECT FROM social_auth_usersocialauth s WHERE s.user_id = u.id)
  OR EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id))`;
