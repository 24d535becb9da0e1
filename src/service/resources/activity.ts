import type { FastifyInstance } from 'fastify';
import { maySeeToken, visibleActivity } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, type Handler, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import { allOf, type Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { ACTIVITY_COLUMNS, ACTIVITY_FROM, type ActivityRecord, findActivity } from '../store/activity.ts';
import { findToken } from '../store/tokens.ts';
import { activityFields } from './activity-fields.ts';
import { activityJson } from './activity-json.ts';
import { seenApplication } from './applications.ts';
import { seenOrganization } from './organizations.ts';
import { pathId } from './path-id.ts';
import { seenUser } from './users.ts';

/** `/api/v2/activity_stream/`, its `N/`, and what it holds about one token, application, user or organization. */
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
    'Who changed what. Others than superusers and auditors see what concerns things that they see.',
    (exchange) => listActivity(exchange),
  );
  serve('activity_stream/:id(^\\d+$)/', 'One entry of the activity stream.', show);
  serve('tokens/:id(^\\d+$)/activity_stream/', 'What happened to this token.', async (exchange) =>
    listActivity(exchange, about('t.id', await seenTokenId(exchange))),
  );
  serve('applications/:id/activity_stream/', 'What happened to this application.', async (exchange) =>
    listActivity(exchange, about('a.id', (await seenApplication(exchange)).id)),
  );
  serve('organizations/:id/activity_stream/', 'What happened to this organization.', async (exchange) =>
    listActivity(exchange, about('o.id', (await seenOrganization(exchange)).id)),
  );
  serve(
    'users/:id/activity_stream/',
    'What this user did, and what was done to the account.',
    async (exchange) => {
      const { id } = await seenUser(exchange);
      return listActivity(exchange, (first) => ({
        sql: `s.actor_id = $${first} OR b.id = $${first}`,
        values: [id],
      }));
    },
  );
}

function about(column: 't.id' | 'a.id' | 'o.id', id: number): (first: number) => Condition {
  return (first) => ({ sql: `${column} = $${first}`, values: [id] });
}

/** Lists the entries that the caller sees and for which a condition holds. */
function listActivity(
  { service, request, caller }: Exchange,
  condition: (first: number) => Condition = () => ({ sql: 'TRUE', values: [] }),
): Promise<unknown> {
  return list<ActivityRecord>(service.database, request.url, {
    fields: activityFields,
    columns: ACTIVITY_COLUMNS,
    from: ACTIVITY_FROM,
    visible: allOf(visibleActivity(caller.user), condition),
    render: activityJson,
  });
}

async function show({ service, caller, params }: Exchange): Promise<unknown> {
  const id = pathId(params['id']);
  const entry = await findActivity(service.database, id, { sql: 'TRUE', values: [] });
  if (entry === null) throw notFound();
  if ((await findActivity(service.database, id, visibleActivity(caller.user, 2))) === null) throw forbidden();
  return activityJson(entry);
}

async function seenTokenId({ service, caller, params }: Exchange): Promise<number> {
  const token = await findToken(service.database, pathId(params['id']));
  if (token === null) throw notFound();
  if (!maySeeToken(caller.user, token)) throw forbidden();
  return token.id;
}
