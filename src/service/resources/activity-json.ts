import type { ActivityRecord } from '../store/activity.ts';

/** An entry of the activity stream as the API shows it. What was deleted since is no longer referred to. */
export function activityJson(entry: ActivityRecord): Record<string, unknown> {
  return {
    id: entry.id,
    type: 'activity_stream',
    url: `/api/v2/activity_stream/${entry.id}/`,
    related: related(entry),
    summary_fields: summary(entry),
    timestamp: entry.timestamp,
    operation: entry.operation,
    changes: JSON.parse(entry.changes) as unknown,
    object1: entry.object1,
    object2: entry.object2,
    object_association: association(entry.object_relationship_type),
    action_node: entry.action_node,
    object_type: objectType(entry.object_relationship_type),
  };
}

function related(entry: ActivityRecord): Record<string, unknown> {
  const one = (name: string, collection: string, id: number | null) =>
    id === null ? {} : { [name]: [`/api/v2/${collection}/${id}/`] };
  return {
    ...(entry.actor_id !== null && { actor: `/api/v2/users/${entry.actor_id}/` }),
    ...('category' in entry.setting && { setting: `/api/v2/settings/${entry.setting['category']}/` }),
    ...one('o_auth2_access_token', 'tokens', entry.token_id),
    ...one('o_auth2_application', 'applications', entry.application_id),
    ...one('user', 'users', entry.about_user_id),
    ...one('organization', 'organizations', entry.organization_id),
  };
}

function summary(entry: ActivityRecord): Record<string, unknown> {
  const one = (name: string, id: number | null, more: Record<string, unknown>) =>
    id === null ? {} : { [name]: [{ id, ...more }] };
  const named = (name: string | null, description: string | null) => ({ name, description });
  return {
    ...one('o_auth2_access_token', entry.token_id, {
      user_id: entry.token_user_id,
      description: entry.token_description,
      ...(entry.token_application_id !== null && { application_id: entry.token_application_id }),
      scope: entry.token_scope,
    }),
    ...one(
      'o_auth2_application',
      entry.application_id,
      named(entry.application_name, entry.application_description),
    ),
    ...one('user', entry.about_user_id, {
      username: entry.about_username,
      first_name: entry.about_first_name,
      last_name: entry.about_last_name,
    }),
    ...one(
      'organization',
      entry.organization_id,
      named(entry.organization_name, entry.organization_description),
    ),
    ...actor(entry),
    ...(Object.keys(entry.setting).length > 0 && { setting: [entry.setting] }),
  };
}

/** Who did it. Of a user who is gone, the names stay and the id, which leads nowhere, does not. */
function actor(entry: ActivityRecord): Record<string, unknown> {
  if (entry.actor_id === null) {
    return entry.deleted_actor === null ? {} : { actor: { ...entry.deleted_actor, id: null } };
  }
  return {
    actor: {
      id: entry.actor_id,
      username: entry.actor_username,
      first_name: entry.actor_first_name,
      last_name: entry.actor_last_name,
    },
  };
}

/** Roles are called just that; the kinds of a role are in `changes`. */
function association(relationship: string): string {
  return relationship.endsWith('_role') ? 'role' : '';
}

/** Of `awx.main.models.organization.Organization.admin_role` the `organization`. */
function objectType(relationship: string): string {
  return relationship.split('.').at(-2)?.toLowerCase() ?? '';
}
