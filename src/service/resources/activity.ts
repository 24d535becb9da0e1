import type { FastifyInstance } from 'fastify';
import { maySeeToken, seesEverything } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import type { Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { ACTIVITY_COLUMNS, ACTIVITY_FROM, type ActivityRecord } from '../store/activity.ts';
import { findToken } from '../store/tokens.ts';
import { pathId } from './path-id.ts';

const activityFields: FieldSet = {
  type: 'activity_stream',
  fields: {
    id: { type: 'integer', label: 'ID', column: 's.id' },
    type: { type: 'choice', label: 'Type', choices: [['activity_stream', 'Activity stream']] },
    url: { type: 'string', label: 'Url' },
    related: { type: 'object', label: 'Related' },
    summary_fields: { type: 'object', label: 'Summary fields' },
    timestamp: { type: 'datetime', label: 'Timestamp', column: 's.timestamp' },
    operation: { type: 'string', label: 'Operation', column: 's.operation' },
    changes: { type: 'object', label: 'Changes', helpText: 'New and changed values; secrets are masked.' },
    object1: { type: 'string', label: 'Object1', column: 's.object1' },
    object2: { type: 'string', label: 'Object2', column: 's.object2' },
    action_node: { type: 'string', label: 'Action node', column: 's.action_node' },
    actor: { type: 'id', label: 'Actor', column: 's.actor_id', hidden: true },
  },
  relations: {
    actor: {
      searchFields: ['username'],
      fields: { username: { type: 'string', label: 'Username', column: 'u.username' } },
    },
  },
  searchFields: ['object1', 'operation'],
  order: ['id'],
};

/** `/api/v2/activity_stream/`, and what it holds about one token or one user. */
export function serveActivity(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/activity_stream/',
    name: 'Activity stream',
    description: 'Who changed what. Others than superusers and auditors see what they did themselves.',
    fields: activityFields,
    handlers: { GET: (exchange) => listActivity(exchange, visibleActivity(exchange)) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/tokens/:id(^\\d+$)/activity_stream/',
    name: 'Activity of a token',
    description: 'What happened to this token.',
    fields: activityFields,
    handlers: { GET: ofToken },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id(^\\d+$)/activity_stream/',
    name: 'Activity of a user',
    description: 'What this user did, and what was done to the account.',
    fields: activityFields,
    handlers: { GET: ofUser },
  });
}

function listActivity({ service, request }: Exchange, visible: Condition): Promise<unknown> {
  return list<ActivityRecord>(service.database, request.url, {
    fields: activityFields,
    columns: ACTIVITY_COLUMNS,
    from: ACTIVITY_FROM,
    visible,
    render: activityJson,
  });
}

function visibleActivity({ caller }: Exchange): Condition {
  if (seesEverything(caller.user)) return { sql: 'TRUE', values: [] };
  return { sql: 's.actor_id = $1 OR t.user_id = $1', values: [caller.user.id] };
}

async function ofToken(exchange: Exchange): Promise<unknown> {
  const { service, caller, params } = exchange;
  const token = await findToken(service.database, pathId(params['id']));
  if (token === null) throw notFound();
  if (!maySeeToken(caller.user, token)) throw forbidden();
  return listActivity(exchange, { sql: 't.id = $1', values: [token.id] });
}

function ofUser(exchange: Exchange): Promise<unknown> {
  const id = pathId(exchange.params['id']);
  const { user } = exchange.caller;
  if (!seesEverything(user) && user.id !== id) throw forbidden();
  return listActivity(exchange, { sql: 's.actor_id = $1 OR b.id = $1', values: [id] });
}

function activityJson(entry: ActivityRecord): Record<string, unknown> {
  const actor = entry.actor_id === null ? null : { id: entry.actor_id, username: entry.actor_username };
  return {
    id: entry.id,
    type: 'activity_stream',
    url: `/api/v2/activity_stream/${entry.id}/`,
    related: {
      ...(actor && { actor: `/api/v2/users/${actor.id}/` }),
      ...(entry.token_id !== null && { o_auth2_access_token: [`/api/v2/tokens/${entry.token_id}/`] }),
      ...(entry.about_user_id !== null && { user: [`/api/v2/users/${entry.about_user_id}/`] }),
    },
    summary_fields: {
      ...(entry.token_id !== null && {
        o_auth2_access_token: [
          {
            id: entry.token_id,
            user_id: entry.token_user_id,
            description: entry.token_description,
            scope: entry.token_scope,
          },
        ],
      }),
      ...(entry.about_user_id !== null && {
        user: [{ id: entry.about_user_id, username: entry.about_username }],
      }),
      ...(actor && {
        actor: { ...actor, first_name: entry.actor_first_name, last_name: entry.actor_last_name },
      }),
      ...(!actor && entry.deleted_actor && { actor: { ...entry.deleted_actor } }),
      ...(Object.keys(entry.setting).length > 0 && { setting: [entry.setting] }),
    },
    timestamp: entry.timestamp,
    operation: entry.operation,
    changes: JSON.parse(entry.changes) as unknown,
    object1: entry.object1,
    object2: entry.object2,
    object_association: '',
    action_node: entry.action_node,
    object_type: '',
  };
}
