import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { type Person, personColumns } from './users.ts';

/** A new entry of the activity stream. Secrets in `changes` are already masked. */
export interface Activity {
  readonly operation: 'create' | 'update' | 'delete' | 'associate' | 'disassociate';
  readonly at: Date;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly object1: string;
  readonly object2?: string;
  readonly relationship?: string;
  readonly actorId: number | null;
  readonly node: string;
  readonly setting?: Readonly<Record<string, unknown>>;
  readonly tokenId?: number;
  readonly applicationId?: number;
  readonly userId?: number;
  readonly organizationId?: number;
  readonly resource?: { readonly type: LinkedResource; readonly id: number };
  /** The host that a group gained or lost. */
  readonly withHost?: number;
}

/** The types of linked resources, with their tables and link columns. */
const RESOURCES = [
  ['inventory', 'main_inventory', 'inventory_id'],
  ['host', 'main_host', 'host_id'],
  ['group', 'main_group', 'group_id'],
  ['credential', 'main_credential', 'credential_id'],
  ['project', 'service_project', 'project_id'],
  ['job_template', 'service_job_template', 'jobtemplate_id'],
  ['team', 'main_team', 'team_id'],
] as const;

export type LinkedResource = (typeof RESOURCES)[number][0];

/** The tables that link an entry to its objects. */
const LINKS = [
  ['tokenId', 'main_activitystream_o_auth2_access_token', 'oauth2accesstoken_id'],
  ['applicationId', 'main_activitystream_o_auth2_application', 'oauth2application_id'],
  ['userId', 'main_activitystream_user', 'user_id'],
  ['organizationId', 'main_activitystream_organization', 'organization_id'],
] as const;

/** Adds an entry in the transaction of the change. */
export async function insertActivity(transaction: Queryable, activity: Activity): Promise<void> {
  const {
    operation,
    at,
    changes,
    object1,
    object2 = '',
    relationship = '',
    actorId,
    node,
    setting = {},
  } = activity;
  const row = await sql`INSERT INTO main_activitystream
      (operation, timestamp, changes, object1, object2, object_relationship_type, actor_id, action_node,
       setting)
    VALUES (${operation}, ${at}, ${JSON.stringify(changes)}, ${object1}, ${object2}, ${relationship},
      ${actorId}, ${node}, ${JSON.stringify(setting)}::jsonb)
      RETURNING id`.first<{ id: number }>(transaction);
  if (row === null) return;
  for (const [about, table, column] of LINKS) {
    const id = activity[about];
    if (id === undefined) continue;
    await sql`INSERT INTO ${identifier(table)} (activitystream_id, ${identifier(column)})
      VALUES (${row.id}, ${id})`.execute(transaction);
  }
  const { resource, withHost } = activity;
  for (const [type, , column] of RESOURCES) {
    const id = resource?.type === type ? resource.id : type === 'host' ? withHost : undefined;
    if (id === undefined) continue;
    const table = identifier(`main_activitystream_${type}`);
    await sql`INSERT INTO ${table} (activitystream_id, ${identifier(column)})
      VALUES (${row.id}, ${id})`.execute(transaction);
  }
}

type LinkChange = Pick<Activity, 'operation' | 'object1' | 'changes'> & { readonly object2: string };

/** The part of an entry about a link between two objects, each by its type and id. */
export function linkChange(
  operation: 'associate' | 'disassociate',
  relationship: string,
  objects: readonly [first: readonly [string, number], second: readonly [string, number]],
): LinkChange {
  const [[object1, object1_pk], [object2, object2_pk]] = objects;
  const changes = { object1, object1_pk, object2, object2_pk, action: operation, relationship };
  return { operation, object1, object2, changes };
}

export interface ActivityRecord extends Person<'actor'>, Person<'about'> {
  readonly id: number;
  readonly timestamp: Date;
  readonly operation: string;
  readonly changes: string;
  readonly object1: string;
  readonly object2: string;
  readonly object_relationship_type: string;
  readonly action_node: string;
  readonly setting: Readonly<Record<string, unknown>>;
  readonly deleted_actor: Readonly<Record<string, unknown>> | null;
  readonly token_id: number | null;
  readonly token_user_id: number | null;
  readonly token_description: string | null;
  readonly token_application_id: number | null;
  readonly token_scope: string | null;
  readonly application_id: number | null;
  readonly application_name: string | null;
  readonly application_description: string | null;
  readonly organization_id: number | null;
  readonly organization_name: string | null;
  readonly organization_description: string | null;
  /** The role that a user gained or lost. */
  readonly role_id: number | null;
  /** The inventory, host, group, credential, project, job template or team; or a group and the host or group in it. */
  readonly resources: readonly {
    readonly type: LinkedResource;
    readonly id: number;
    readonly name: string;
    readonly description: string;
  }[];
}

/**
 * Rows `s` of main_activitystream with the actor `u` and their objects: the token `t` (of the application
 * `ta`), the application `a`, the user `b`, the organization `o`, or resources; at most one of each type.
 */
export const ACTIVITY_FROM = sql`main_activitystream s
  LEFT JOIN auth_user u ON u.id = s.actor_id
  LEFT JOIN main_activitystream_o_auth2_access_token st ON st.activitystream_id = s.id
  LEFT JOIN main_oauth2accesstoken t ON t.id = st.oauth2accesstoken_id
  LEFT JOIN main_oauth2application ta ON ta.id = t.application_id
  LEFT JOIN main_activitystream_o_auth2_application sa ON sa.activitystream_id = s.id
  LEFT JOIN main_oauth2application a ON a.id = sa.oauth2application_id
  LEFT JOIN main_activitystream_user su ON su.activitystream_id = s.id
  LEFT JOIN auth_user b ON b.id = su.user_id
  LEFT JOIN main_activitystream_organization so ON so.activitystream_id = s.id
  LEFT JOIN main_organization o ON o.id = so.organization_id ${joined(
    RESOURCES.map(([type, table, column]) => {
      const [link, resource] = [`l_${type}`, `r_${type}`];
      return sql`
  LEFT JOIN ${identifier(`main_activitystream_${type}`)} ${identifier(link)}
  ON ${identifier(`${link}.activitystream_id`)} = s.id
  LEFT JOIN ${identifier(table)} ${identifier(resource)}
  ON ${identifier(`${resource}.id`)} = ${identifier(`${link}.${column}`)}`;
    }),
    ' ',
  )}`;

/** The ids of the entries about an object, in SQL. */
export function entriesAbout(
  type: LinkedResource | 'o_auth2_access_token' | 'o_auth2_application' | 'user' | 'organization',
  id: number,
): Sql {
  const table = `main_activitystream_${type}`;
  const column = [...LINKS, ...RESOURCES].find(([kind, name]) => kind === type || name === table)?.[2] ?? '';
  return sql`SELECT l.activitystream_id FROM ${identifier(table)} l WHERE ${identifier(`l.${column}`)} = ${id}`;
}

/** The ids of entries about resources of organizations, in SQL. One about a host and its group is about the host. */
export function entriesIn(organizations: readonly number[]): Sql {
  const ofType = ([type, table, column]: (typeof RESOURCES)[number]) => {
    const [link, resource] = [identifier(`main_activitystream_${type}`), identifier(table)];
    const owner =
      type === 'host' || type === 'group'
        ? sql`JOIN main_inventory i ON i.id = r.inventory_id WHERE i.organization_id`
        : sql`WHERE r.organization_id`;
    const also = sql`AND NOT EXISTS (SELECT FROM main_activitystream_host h WHERE h.activitystream_id = l.activitystream_id)`;
    return sql`SELECT l.activitystream_id FROM ${link} l JOIN ${resource} r ON r.id = ${identifier(`l.${column}`)}
      ${owner} = ANY(${organizations}::integer[]) ${type === 'group' ? also : sql``}`;
  };
  return joined(RESOURCES.map(ofType), ' UNION ALL ');
}

/** The columns of an {@link ActivityRecord} over {@link ACTIVITY_FROM}. */
export const ACTIVITY_COLUMNS = sql`
  s.id, s.timestamp, s.operation, s.changes, s.object1, s.object2, s.object_relationship_type, s.action_node,
  s.setting, ${personColumns('u', 'actor')}, s.deleted_actor, t.id AS token_id, t.user_id AS token_user_id,
  t.description AS token_description, t.application_id AS token_application_id, t.scope AS token_scope,
  a.id AS application_id, a.name AS application_name, a.description AS application_description,
  ${personColumns('b', 'about')}, o.id AS organization_id, o.name AS organization_name,
  o.description AS organization_description,
  to_json(array_remove(ARRAY[${joined(
    RESOURCES.map(([type]) => {
      const [id, named, description] = ['id', 'name', 'description'].map((column) =>
        identifier(`r_${type}.${column}`),
      );
      return sql`CASE WHEN ${id} IS NOT NULL THEN jsonb_build_object('type', ${literal(type)}, 'id', ${id},
      'name', ${named}, 'description', ${description}) END`;
    }),
  )}], NULL)) AS resources, COALESCE(CASE substring(s.object_relationship_type FROM '[a-z_]+_role$')
    WHEN 'admin_role' THEN COALESCE(r_team.admin_role_id, o.admin_role_id)
    WHEN 'auditor_role' THEN o.auditor_role_id
    WHEN 'member_role' THEN COALESCE(r_team.member_role_id, o.member_role_id) END,
    (SELECT e.id FROM service_object_role e
     WHERE e.role || '_role' = substring(s.object_relationship_type FROM '[a-z_]+_role$')
       AND (e.resource_type, e.resource_id) IN (('organization', o.id), ${joined(
         RESOURCES.filter(([type]) => type !== 'host' && type !== 'group').map(
           ([type]) => sql`(${literal(type)}, ${identifier(`r_${type}.id`)})`,
         ),
       )}))) AS role_id`;

/** An entry by id that meets a condition over {@link ACTIVITY_FROM}, or null. */
export function findActivity(database: Queryable, id: number, visible: Sql): Promise<ActivityRecord | null> {
  return sql`SELECT ${ACTIVITY_COLUMNS} FROM ${ACTIVITY_FROM}
    WHERE s.id = ${id} AND (${visible})`.first<ActivityRecord>(database);
}

/** Stores a user's name in the user's entries. Call it before deleting the user. */
export async function keepDeletedActor(
  transaction: Queryable,
  user: { id: number; username: string; first_name: string; last_name: string },
): Promise<void> {
  const { id, username, first_name, last_name } = user;
  await sql`UPDATE main_activitystream SET deleted_actor =
    ${JSON.stringify({ id, username, first_name, last_name })}::jsonb
    WHERE actor_id = ${id}`.execute(transaction);
}

type Deletion = Pick<Activity, 'actorId' | 'at' | 'node'>;

/** Adds the entries of a cascading deletion, as the controller does. Call it before the deletion. */
async function recordDeletions(
  transaction: Queryable,
  { type, changes, from }: { type: string; changes: Sql; from: Sql },
  { at, actorId, node }: Deletion,
): Promise<void> {
  await sql`INSERT INTO main_activitystream (operation, timestamp, changes, object1, actor_id, action_node)
    SELECT 'delete', ${at}, json_build_object(${changes})::text, ${type}, ${actorId}, ${node}
    FROM ${from}`.execute(transaction);
}

/** The object whose deletion also deletes its tokens. */
type Cascade =
  | { readonly applicationId: number }
  | { readonly userId: number }
  | { readonly organizationId: number };

/** Adds an entry for each access token of an application, a user or an organization's applications. */
export function recordTokenDeletions(transaction: Queryable, of: Cascade, by: Deletion): Promise<void> {
  const condition =
    'applicationId' in of
      ? sql`t.application_id = ${of.applicationId}`
      : 'userId' in of
        ? sql`t.user_id = ${of.userId}`
        : sql`a.organization_id = ${of.organizationId}`;
  const changes = sql`'description', t.description, 'application', a.name, 'scope', t.scope, 'id', t.id,
    'token', '************'`;
  const from = sql`main_oauth2accesstoken t LEFT JOIN main_oauth2application a ON a.id = t.application_id
    WHERE ${condition} ORDER BY t.id`;
  return recordDeletions(transaction, { type: 'o_auth2_access_token', changes, from }, by);
}

/** Adds an entry for each token, application and team of an organization. */
export async function recordDeletionsIn(
  transaction: Queryable,
  organizationId: number,
  by: Deletion,
): Promise<void> {
  await recordTokenDeletions(transaction, { organizationId }, by);
  const changes = sql`'name', a.name, 'description', a.description, 'client_type', a.client_type,
    'redirect_uris', a.redirect_uris, 'authorization_grant_type', a.authorization_grant_type,
    'skip_authorization', a.skip_authorization, 'organization', o.name || '-' || o.id, 'id', a.id`;
  const from = sql`main_oauth2application a JOIN main_organization o ON o.id = a.organization_id
    WHERE o.id = ${organizationId} ORDER BY a.id`;
  await recordDeletions(transaction, { type: 'o_auth2_application', changes, from }, by);
  const ofTeam = sql`'name', t.name, 'description', t.description, 'organization', o.name || '-' || o.id,
    'id', t.id`;
  const teams = sql`main_team t JOIN main_organization o ON o.id = t.organization_id
    WHERE o.id = ${organizationId} ORDER BY t.id`;
  await recordDeletions(transaction, { type: 'team', changes: ofTeam, from: teams }, by);
}
