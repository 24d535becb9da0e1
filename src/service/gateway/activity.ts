import type { FastifyInstance } from 'fastify';
import { seesEverything } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import { list } from '../listing/listing.ts';
import { pathId } from '../resources/path-id.ts';
import { ENTRY_COLUMNS, ENTRY_FROM, type EntryRecord, findEntry } from '../store/entries.ts';
import { entryFields } from './entry-fields.ts';
import { API, references } from './related.ts';

/** `/api/gateway/v1/activitystream/` and `/api/gateway/v1/activitystream/N/`, for superusers and auditors. */
export function serveGatewayActivity(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: `${API}activitystream/`,
    name: 'Activity stream',
    description: 'Who changed what.',
    fields: entryFields,
    handlers: { GET: listEntries },
  });
  serveEndpoint(app, service, {
    path: `${API}activitystream/:id(^\\d+$)/`,
    name: 'Activity stream',
    description: 'One entry of the activity stream.',
    fields: entryFields,
    handlers: { GET: show },
  });
}

async function listEntries({ service, request, caller }: Exchange): Promise<unknown> {
  if (!seesEverything(caller.user)) throw forbidden();
  return list<EntryRecord>(service.database, request.url, {
    fields: entryFields,
    columns: ENTRY_COLUMNS,
    from: ENTRY_FROM,
    visible: { sql: 'TRUE', values: [] },
    render: entryJson,
  });
}

async function show({ service, caller, params }: Exchange): Promise<unknown> {
  if (!seesEverything(caller.user)) throw forbidden();
  const entry = await findEntry(service.database, pathId(params['id']));
  if (entry === null) throw notFound();
  return entryJson(entry);
}

/** An entry as a gateway shows it. What it is about is named by its kind and id, whether it is still there or not. */
function entryJson(entry: EntryRecord): Record<string, unknown> {
  const { id, username, first_name, last_name } = entry;
  const { ids, related, summary } = references({
    created_by: {
      id: entry.created_by_id,
      collection: 'users',
      summary: { username, first_name, last_name },
    },
  });
  return {
    id,
    url: `${API}activitystream/${id}/`,
    related,
    summary_fields: summary,
    created: entry.created,
    ...ids,
    operation: entry.operation,
    changes: entry.changes,
    content_type: entry.content_type_id,
    object_id: entry.object_id,
    related_content_type: entry.related_content_type_id,
    related_object_id: entry.related_object_id,
    content_type_model: entry.model,
    related_content_type_model: entry.related_model,
  };
}
