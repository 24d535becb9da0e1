import { joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { type Layout, TABLES } from './tables.ts';

/** The `action_node` of entries in a controller's activity stream. A controller itself writes its node's name there. */
const ACTION_NODE = literal('tokenctl');

/** The object types of entries: a controller's name, and a gateway's content type. */
const OBJECT_TYPES = {
  access_token: { object: 'o_auth2_access_token', app: 'dab_oauth2_provider', model: 'oauth2accesstoken' },
  refresh_token: { object: 'o_auth2_refresh_token', app: 'dab_oauth2_provider', model: 'oauth2refreshtoken' },
  application: { object: 'o_auth2_application', app: 'dab_oauth2_provider', model: 'oauth2application' },
  user: { object: 'user', app: 'aap_gateway_api', model: 'user' },
  setting: { object: 'setting', app: 'aap_gateway_api', model: 'preference' },
} as const;

type ObjectType = keyof typeof OBJECT_TYPES;

/** SQL for the id of the user that a gateway's management commands write as; null if it is missing. */
export const SYSTEM_USER = sql`(SELECT u.id FROM aap_gateway_api_user u WHERE u.username = '_system')`;

/** Entries of the activity stream as management commands write them. All SQL is constants and parameters. */
interface Entries {
  readonly operation: 'create' | 'update' | 'delete';
  readonly objectType: ObjectType;
  /** SQL for the changes in the layout's form: text for a controller, jsonb for a gateway. */
  readonly changes: Sql;
  /** SQL for the object's id. A controller has it only in the changes. */
  readonly id: Sql;
  /** SQL for the changed setting, as jsonb. Only for a controller. */
  readonly setting?: Sql;
  /** The FROM clause, with everything after it, that selects one row per entry. */
  readonly from: Sql;
}

/** SQL that adds entries to the activity stream, one per row. */
export function insertEntries(layout: Layout, entries: Entries): Sql {
  const { objectType, changes, id, setting = sql`'{}'`, from } = entries;
  const operation = literal(entries.operation);
  if (layout === 'gateway') {
    return sql`INSERT INTO dab_activitystream_entry
        (operation, created, changes, content_type_id, object_id, created_by_id)
      SELECT ${operation}, now(), ${changes}, ${contentTypeId(objectType)}, (${id})::text, ${SYSTEM_USER} ${from}`;
  }
  return sql`INSERT INTO main_activitystream
      (operation, timestamp, changes, object_relationship_type, object1, object2, action_node, setting)
    SELECT ${operation}, now(), ${changes}, '', ${literal(OBJECT_TYPES[objectType].object)}, '', ${ACTION_NODE},
      ${setting} ${from}`;
}

/** SQL for the id of a gateway's content type. If it does not exist, the statement fails. */
export function contentTypeId(objectType: ObjectType): Sql {
  const { app, model } = OBJECT_TYPES[objectType];
  return sql`(SELECT c.id FROM django_content_type c
    WHERE c.app_label = ${literal(app)} AND c.model = ${literal(model)})`;
}

/** SQL for a gateway's changes (jsonb) with fields of one kind. */
export function gatewayChanges(kind: 'added_fields' | 'removed_fields' | 'changed_fields', fields: Sql): Sql {
  const others = ['added_fields', 'removed_fields', 'changed_fields'].filter((other) => other !== kind);
  return sql`jsonb_build_object(${literal(kind)}, ${fields},
    ${joined(others.map((other) => sql`${literal(other)}, '{}'::jsonb`))})`;
}

/** A controller's changes for an access token `t` with its application's name: JSON with Python's spaces. */
const CONTROLLER_TOKEN = sql`'{"description": ' || to_json(t.description::text)
    || ', "application": ' || coalesce(to_json(t.application::text)::text, 'null')
    || ', "scope": ' || to_json(t.scope::text) || ', "id": ' || t.id || ', "token": "************"}'`;

/** A gateway's fields of an access token `t`. Like a gateway, it has values as strings and masks tokens. */
const GATEWAY_TOKEN = sql`jsonb_build_object('id', t.id::text, 'user', t.user_id::text,
    'application', t.application_id::text, 'scope', t.scope, 'description', t.description,
    'created', t.created, 'modified', t.modified, 'expires', t.expires,
    'source_refresh_token', t.source_refresh_token_id::text, 'token', '$encrypted$',
    'id_token', t.id_token_id::text, 'created_by', t.created_by_id::text, 'modified_by', t.modified_by_id::text)`;

/** A gateway omits the last use from the entry of a new token. */
const DELETED_TOKEN = sql`${GATEWAY_TOKEN} || jsonb_build_object('last_used', t.last_used)`;

const GATEWAY_REFRESH_TOKEN = sql`jsonb_build_object('id', t.id::text, 'user', t.user_id::text,
    'application', t.application_id::text, 'access_token', t.access_token_id::text, 'revoked', t.revoked,
    'created', t.created, 'modified', t.modified, 'token', '$encrypted$',
    'created_by', t.created_by_id::text, 'modified_by', t.modified_by_id::text)`;

/** SQL for what a gateway also records about a new token. */
const NEW_TOKEN = sql`, NULL::bigint AS id_token_id, ${SYSTEM_USER} AS created_by_id, ${SYSTEM_USER} AS modified_by_id`;

/** SQL that records the creation of the personal access token in the CTE `token`. */
export function insertTokenCreated(layout: Layout): Sql {
  return insertEntries(layout, {
    operation: 'create',
    objectType: 'access_token',
    id: sql`t.id`,
    changes: layout === 'gateway' ? gatewayChanges('added_fields', GATEWAY_TOKEN) : CONTROLLER_TOKEN,
    from: sql`FROM (SELECT token.*, token.created AS modified, NULL::text AS application${layout === 'gateway' ? NEW_TOKEN : sql``}
      FROM token) t RETURNING id`,
  });
}

/**
 * SQL that records the deletion of the access tokens in the CTE `selected`, before they are deleted. A
 * gateway records all fields: they are read from the table, so `selected` does not need them.
 */
export function insertTokensDeleted(layout: Layout): Sql {
  const isGateway = layout === 'gateway';
  return insertEntries(layout, {
    operation: 'delete',
    objectType: 'access_token',
    id: sql`t.id`,
    changes: isGateway ? gatewayChanges('removed_fields', DELETED_TOKEN) : CONTROLLER_TOKEN,
    from: isGateway
      ? sql`FROM ${TABLES.gateway.accessTokens} t WHERE t.id = ANY(ARRAY(SELECT s.id FROM selected s)) ORDER BY t.id`
      : sql`FROM selected t ORDER BY t.id`,
  });
}

/**
 * SQL for another CTE that records the revocation of refresh tokens, by their `id` in the rows of `from`.
 * Empty except for a gateway: a controller does not record it. A gateway does not record the removal of the
 * access token either.
 */
export function refreshTokensRevokedCte(layout: Layout, from: Sql): Sql {
  if (layout !== 'gateway') return sql``;
  const changed = sql`jsonb_build_object('revoked', jsonb_build_array(NULL, now()))`;
  return sql`, refresh_entries AS (
      ${insertEntries(layout, {
        operation: 'update',
        objectType: 'refresh_token',
        id: sql`t.id`,
        changes: gatewayChanges('changed_fields', changed),
        from: sql`FROM (${from}) t ORDER BY t.id`,
      })}
    )`;
}

/** Like {@link refreshTokensRevokedCte}, for the deletion of the refresh tokens in the CTE `selected`. */
export function refreshTokensDeletedCte(layout: Layout): Sql {
  if (layout !== 'gateway') return sql``;
  return sql`, refresh_entries AS (
      ${insertEntries(layout, {
        operation: 'delete',
        objectType: 'refresh_token',
        id: sql`t.id`,
        changes: gatewayChanges('removed_fields', GATEWAY_REFRESH_TOKEN),
        from: sql`FROM ${TABLES.gateway.refreshTokens} t WHERE t.id = ANY(ARRAY(SELECT s.id FROM selected s)) ORDER BY t.id`,
      })}
    )`;
}
