import type { Queryable } from '../../db/database.ts';

/** Who deletes what these hang on, and when. */
interface Deletion {
  readonly actorId: number;
  readonly at: Date;
  readonly node: string;
}

/** Which tokens go, without being named, because what they hang on is deleted. */
type Cascade =
  | { readonly applicationId: number }
  | { readonly userId: number }
  | { readonly organizationId: number };

/**
 * Notes the end of all access tokens of an application, a user or an organization's applications, an entry
 * each, as the controller does where a deletion takes tokens along. To be called before the deletion.
 */
export async function noteEndOfTokens(transaction: Queryable, of: Cascade, by: Deletion): Promise<void> {
  const [condition, id] =
    'applicationId' in of
      ? ['t.application_id = $1', of.applicationId]
      : 'userId' in of
        ? ['t.user_id = $1', of.userId]
        : ['a.organization_id = $1', of.organizationId];
  await transaction.execute(
    `INSERT INTO main_activitystream (operation, timestamp, changes, object1, actor_id, action_node)
     SELECT 'delete', $2, json_build_object('description', t.description, 'application', a.name,
       'scope', t.scope, 'id', t.id, 'token', '************')::text, 'o_auth2_access_token', $3, $4
     FROM main_oauth2accesstoken t LEFT JOIN main_oauth2application a ON a.id = t.application_id
     WHERE ${condition} ORDER BY t.id`,
    [id, by.at, by.actorId, by.node],
  );
}

/** Notes the end of all applications of an organization, likewise, before it is deleted. */
export async function noteEndOfApplications(
  transaction: Queryable,
  organizationId: number,
  by: Deletion,
): Promise<void> {
  await transaction.execute(
    `INSERT INTO main_activitystream (operation, timestamp, changes, object1, actor_id, action_node)
     SELECT 'delete', $2, json_build_object('name', a.name, 'description', a.description,
       'client_type', a.client_type, 'redirect_uris', a.redirect_uris,
       'authorization_grant_type', a.authorization_grant_type, 'skip_authorization', a.skip_authorization,
       'organization', o.name || '-' || o.id, 'id', a.id)::text, 'o_auth2_application', $3, $4
     FROM main_oauth2application a JOIN main_organization o ON o.id = a.organization_id
     WHERE o.id = $1 ORDER BY a.id`,
    [organizationId, by.at, by.actorId, by.node],
  );
}
