import type { Layout } from '../layout.ts';

/** What stands as `action_node` in a controller's activity stream, where a controller names its node. */
const ACTION_NODE = 'tokenctl';

/** What an entry is about: a controller's name for it, and a gateway's content type. */
const ABOUT = {
  access_token: { object: 'o_auth2_access_token', app: 'dab_oauth2_provider', model: 'oauth2accesstoken' },
  refresh_token: { object: 'o_auth2_refresh_token', app: 'dab_oauth2_provider', model: 'oauth2refreshtoken' },
  user: { object: 'user', app: 'aap_gateway_api', model: 'user' },
  setting: { object: 'setting', app: 'aap_gateway_api', model: 'preference' },
} as const;

/** One of the things that entries are about. */
type About = keyof typeof ABOUT;

/** Entries of the activity stream, by nobody. What they tell is SQL of constant parts and parameters. */
interface Entries {
  readonly operation: 'create' | 'update' | 'delete';
  readonly about: About;
  /** What changed, in the layout's form: text for a controller, jsonb for a gateway. */
  readonly changes: string;
  /** The id of what it is about; a controller's entry has it in the changes. */
  readonly id: string;
  /** The setting that changed, as jsonb; only a controller tells it apart. */
  readonly setting?: string;
  /** Where the rows come from: a FROM clause with all that follows it. */
  readonly from: string;
}

/** SQL that adds entries to the activity stream, one for each row. */
export function insertEntries(layout: Layout, entries: Entries): string {
  const { operation, about, changes, id, setting = "'{}'", from } = entries;
  if (layout === 'gateway') {
    return `INSERT INTO dab_activitystream_entry (operation, created, changes, content_type_id, object_id)
      SELECT '${operation}', now(), ${changes}, ${contentTypeOf(about)}, (${id})::text ${from}`;
  }
  return `INSERT INTO main_activitystream
      (operation, timestamp, changes, object_relationship_type, object1, object2, action_node, setting)
    SELECT '${operation}', now(), ${changes}, '', '${ABOUT[about].object}', '', '${ACTION_NODE}', ${setting}
    ${from}`;
}

/** SQL for the id of a content type of a gateway; without it nothing can be noted, and nothing is done. */
export function contentTypeOf(about: About): string {
  const { app, model } = ABOUT[about];
  return `(SELECT c.id FROM django_content_type c WHERE c.app_label = '${app}' AND c.model = '${model}')`;
}

/** SQL for a gateway's changes, jsonb, of which all but one kind are empty. */
export function gatewayChanges(
  kind: 'added_fields' | 'removed_fields' | 'changed_fields',
  fields: string,
): string {
  const others = ['added_fields', 'removed_fields', 'changed_fields'].filter((other) => other !== kind);
  return `jsonb_build_object('${kind}', ${fields}, ${others.map((other) => `'${other}', '{}'::jsonb`).join(', ')})`;
}
