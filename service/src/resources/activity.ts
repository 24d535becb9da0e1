import { identifier, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { seenActivity } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, type Handler, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import { declared, type FieldSet } from '../listing/fields.ts';
import { EVERY_ROW } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import {
  ACTIVITY_COLUMNS,
  ACTIVITY_FROM,
  type ActivityRecord,
  entriesAbout,
  findActivity,
  type LinkedResource,
} from '../store/activity.ts';
import { applicationKind } from './applications.ts';
import { GROUP } from './groups.ts';
import { JOB_TEMPLATE } from './jobs/job-templates.ts';
import type { Kind } from './kind.ts';
import { ORGANIZATION } from './organizations.ts';
import { pathId } from './request-values.ts';
import { namedRelation, personOf, userRelation } from './resource.ts';
import { CREDENTIAL, HOST, INVENTORY, PROJECT } from './resource-kinds.ts';
import { ofSeen } from './seen-resources.ts';
import { TEAM } from './teams.ts';
import { seenToken } from './tokens.ts';
import { seenUser } from './users.ts';

/** `/api/v2/activity_stream/`, its `N/`, and the `activity_stream/` of other resources. */
export function serveActivity(app: FastifyInstance, service: ServiceContext): void {
  const serve = (path: string, description: string, get: Handler) =>
    serveEndpoint(app, service, {
      path: `/api/v2/${path}`,
      name: 'Activity stream',
      description,
      fields: activityFields,
      handlers: { GET: get },
    });
  serve(
    'activity_stream/',
    'Who changed what. Users other than superusers and auditors see entries about resources that they can see.',
    (exchange) => listActivity(exchange, undefined, EVERY_ROW),
  );
  serve('activity_stream/:id(^\\d+$)/', 'One activity stream entry.', show);
  serve('tokens/:id(^\\d+$)/activity_stream/', 'The history of this token.', async (exchange) =>
    listActivity(exchange, entriesAbout('o_auth2_access_token', (await seenToken(exchange)).id)),
  );
  const inOrganizations: readonly Kind[] = [INVENTORY, HOST, GROUP, CREDENTIAL, PROJECT, JOB_TEMPLATE, TEAM];
  for (const kind of [applicationKind(service) as Kind, ORGANIZATION, ...inOrganizations]) {
    const path = `${kind.path.replace('/api/v2/', '')}:id/activity_stream/`;
    const list = ofSeen(kind, (exchange, { id }) => listActivity(exchange, entriesAbout(kind.type, id)));
    serve(path, `The history of this ${kind.label.toLowerCase()}.`, list);
  }
  serve('users/:id/activity_stream/', 'What this user did, and changes to the account.', async (exchange) => {
    const { id } = await seenUser(exchange);
    const about = entriesAbout('user', id);
    return listActivity(
      exchange,
      sql`SELECT s.id FROM main_activitystream s WHERE s.actor_id = ${id} UNION ALL ${about}`,
      sql`s.actor_id = ${id} OR s.id IN (${about})`,
    );
  });
}

/**
 * Lists the entries that the caller may see, or those among these ids.
 * @param condition The same as a condition, if the ids may be most of the visible entries: then each visible
 * entry is checked.
 */
function listActivity(exchange: Exchange, ids: Sql | undefined, condition?: Sql): Promise<unknown> {
  const seen = seenActivity(exchange.caller.user);
  const isTried = seen !== null && condition !== undefined;
  const both = seen === null || ids === undefined ? ids : sql`(${ids}) INTERSECT (${seen})`;
  const among = isTried ? seen : both;
  return list<ActivityRecord>(exchange, {
    fields: activityFields,
    columns: ACTIVITY_COLUMNS,
    from: ACTIVITY_FROM,
    visible: isTried ? condition : EVERY_ROW,
    ...(among !== undefined && { among }),
    render: (entries) => entries.map(activityJson),
  });
}

async function show({ service, caller, params }: Exchange): Promise<unknown> {
  const id = pathId(params['id']);
  const entry = await findActivity(service.database, id, EVERY_ROW);
  if (entry === null) throw notFound();
  const seen = seenActivity(caller.user);
  if (seen !== null && (await findActivity(service.database, id, sql`s.id IN (${seen})`)) === null)
    throw forbidden();
  return activityJson(entry);
}

/** The collections of the API, by the kinds of linked resources. */
const COLLECTIONS: Readonly<Record<LinkedResource, string>> = {
  inventory: 'inventories',
  host: 'hosts',
  group: 'groups',
  credential: 'credentials',
  project: 'projects',
  job_template: 'job_templates',
  team: 'teams',
};

const LINKED = Object.keys(COLLECTIONS);

/** The fields of an activity entry. Filters reach only what the entry itself shows of a related resource. */
export const activityFields: FieldSet = {
  type: 'activity_stream',
  fields: declared('s', {
    id: { type: 'integer', label: 'ID', helpText: 'Database ID of this entry.' },
    type: {
      type: 'choice',
      helpText: 'Type of this resource.',
      choices: [['activity_stream', 'Activity stream']],
      column: null,
    },
    url: { helpText: 'URL of this entry.', column: null },
    related: { type: 'object', helpText: 'URLs of related resources.', column: null },
    summary_fields: {
      type: 'object',
      helpText: 'The changed resources and the user who changed them.',
      column: null,
    },
    timestamp: { type: 'datetime', helpText: 'When it happened.' },
    operation: {
      type: 'choice',
      helpText: 'What was done.',
      choices: [
        ['create', 'Entity Created'],
        ['update', 'Entity Updated'],
        ['delete', 'Entity Deleted'],
        ['associate', 'Entity Associated with another Entity'],
        ['disassociate', 'Entity was Disassociated with another Entity'],
      ],
    },
    changes: { type: 'object', helpText: 'New and changed values. Secrets are masked.' },
    object1: { helpText: 'Type of the changed resource.' },
    object2: { helpText: 'Type of the associated resource.' },
    object_association: { type: 'field', helpText: 'How the two are associated.', column: null },
    action_node: { helpText: 'The node that made the change.' },
    object_type: { type: 'field', helpText: 'Type of the resource that has the association.', column: null },
    actor: { type: 'id', hidden: true },
    user: { type: 'id', column: sql`b.id`, hidden: true },
    organization: { type: 'id', column: sql`o.id`, hidden: true },
    o_auth2_access_token: { type: 'id', label: 'Access token', column: sql`t.id`, hidden: true },
    o_auth2_application: { type: 'id', label: 'Application', column: sql`a.id`, hidden: true },
    ...Object.fromEntries(
      LINKED.map((type) => [type, { type: 'id', column: identifier(`r_${type}.id`), hidden: true } as const]),
    ),
    object_relationship_type: { label: 'Relationship', hidden: true },
  }),
  relations: {
    actor: userRelation('u'),
    user: userRelation('b'),
    organization: namedRelation('o'),
    o_auth2_application: namedRelation('a'),
    ...Object.fromEntries(LINKED.map((type) => [type, namedRelation(`r_${type}`)])),
    o_auth2_access_token: {
      searchFields: ['description'],
      fields: declared('t', {
        id: { type: 'integer', label: 'ID' },
        description: {},
        scope: {},
        user: { type: 'id' },
        application: { type: 'id' },
        token: { secret: true },
      }),
    },
  },
  searchFields: ['changes'],
  order: ['id'],
};

/** An activity stream entry as the API shows it, without deleted resources and in the controller's order. */
function activityJson(entry: ActivityRecord): Record<string, unknown> {
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
    ...one('organization', 'organizations', entry.organization_id),
    ...one('user', 'users', entry.about_id),
    ...Object.assign({}, ...entry.resources.map(({ type, id }) => one(type, COLLECTIONS[type], id))),
    ...one('role', 'roles', entry.role_id),
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
    ...one(
      'organization',
      entry.organization_id,
      named(entry.organization_name, entry.organization_description),
    ),
    ...one('user', entry.about_id, personOf(entry, 'about')),
    ...Object.assign(
      {},
      ...entry.resources.map(({ type, id, name, description }) => one(type, id, named(name, description))),
    ),
    ...one('role', entry.role_id, { role_field: entry.object_relationship_type.split('.').at(-1) }),
    ...actor(entry),
    ...(Object.keys(entry.setting).length > 0 && { setting: [entry.setting] }),
  };
}

/** The user who made the change. A deleted user is shown with names but no id. */
function actor(entry: ActivityRecord): Record<string, unknown> {
  if (entry.actor_id === null) {
    return entry.deleted_actor === null ? {} : { actor: { ...entry.deleted_actor, id: null } };
  }
  return { actor: personOf(entry, 'actor') };
}

/** Every role is called `role`; `changes` contains the exact role. Other relations: `hosts` of `….Group_hosts`. */
function association(relationship: string): string {
  if (relationship.endsWith('_role')) return 'role';
  return relationship.split('.').at(-1)?.split('_')[1] ?? '';
}

/** For example `organization` from `awx.main.models.organization.Organization.admin_role`. */
function objectType(relationship: string): string {
  if (!relationship.endsWith('_role')) return '';
  return relationship.split('.').at(-2)?.toLowerCase() ?? '';
}
