import type { Queryable } from '../../db/database.ts';
import { IS_EXTERNAL } from './external-user.ts';
import { GONE_COLUMNS, NOTE_GONE } from './issued-tokens.ts';

/** Whether DISABLE_LOCAL_AUTH is on, in SQL. */
const LOCAL_IS_OFF = `EXISTS (
  SELECT FROM conf_setting c WHERE c.key = 'DISABLE_LOCAL_AUTH' AND c.user_id IS NULL AND c.value = 'true')`;

/**
 * Whether the credentials of a row `u` of auth_user are accepted, in SQL: of an active user, and not of a
 * local one while DISABLE_LOCAL_AUTH is on.
 */
export const IS_ADMITTED = `(u.is_active AND (NOT ${LOCAL_IS_OFF} OR ${IS_EXTERNAL}))`;

/**
 * Ends what local users hold: their sessions, codes, access tokens (each with its entry in the activity
 * stream) and refresh tokens.
 */
export async function endLocalCredentials(
  transaction: Queryable,
  ending: { readonly at: Date; readonly node: string },
): Promise<void> {
  await transaction.execute(
    `DELETE FROM django_session WHERE session_key IN (
       SELECT m.session_id FROM main_usersessionmembership m
       JOIN auth_user u ON u.id = m.user_id WHERE NOT ${IS_EXTERNAL})`,
  );
  await transaction.execute(
    `DELETE FROM oauth2_provider_grant WHERE user_id IN (SELECT u.id FROM auth_user u WHERE NOT ${IS_EXTERNAL})`,
  );
  await transaction.execute(
    `WITH gone AS (
       DELETE FROM main_oauth2accesstoken t USING auth_user u WHERE u.id = t.user_id AND NOT ${IS_EXTERNAL}
       RETURNING ${GONE_COLUMNS}
     ) ${NOTE_GONE}`,
    [ending.at, ending.node],
  );
  await transaction.execute(
    `UPDATE oauth2_provider_refreshtoken SET revoked = $1, updated = $1
     WHERE revoked IS NULL AND user_id IN (SELECT u.id FROM auth_user u WHERE NOT ${IS_EXTERNAL})`,
    [ending.at],
  );
}
