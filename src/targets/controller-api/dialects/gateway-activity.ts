import { z } from 'zod';
import { id, instant } from '../bodies.ts';
import type { ActivityDialect, FoundActivity } from '../dialect.ts';
import { listFilter, type Query } from '../query.ts';

/** What the gateway calls access tokens. */
const TOKEN = 'oauth2accesstoken';

const fields = z.record(z.string(), z.unknown()).catch({});

const entry = z
  .object({
    id,
    created: instant,
    operation: z.string(),
    content_type_model: z.string().nullable(),
    object_id: z.string().nullish(),
    changes: z
      .object({ added_fields: fields, removed_fields: fields, changed_fields: fields })
      .partial()
      .nullable()
      .catch(null),
    summary_fields: z
      .object({ created_by: z.object({ id, username: z.string() }).nullish().catch(null) })
      .default({ created_by: null }),
  })
  .transform((body): FoundActivity => {
    const { content_type_model: model, summary_fields: summary, changes } = body;
    const object = Number(body.object_id ?? Number.NaN);
    const isNumbered = Number.isSafeInteger(object);
    return {
      id: body.id,
      at: body.created,
      operation: body.operation,
      actor: summary.created_by ?? null,
      object: OBJECTS[model ?? ''] ?? model ?? '',
      changes: {
        ...changes?.added_fields,
        ...changes?.removed_fields,
        ...changes?.changed_fields,
        ...(isNumbered && { id: object }),
      },
      tokenIds: model === TOKEN && isNumbered ? [object] : [],
    };
  });

/** The controller's words for what it and the gateway both have. */
const OBJECTS: Readonly<Record<string, string>> = {
  [TOKEN]: 'o_auth2_access_token',
  oauth2refreshtoken: 'o_auth2_refresh_token',
  oauth2application: 'o_auth2_application',
  preference: 'setting',
};

/**
 * The gateway's activity stream. An entry keeps the kind and the id of what it is about, also once that is gone;
 * its changes are read in the form that a controller gives them.
 */
export const activity: ActivityDialect = {
  path: 'activitystream/',
  queries: ({ actorIds, tokenIds, since, until }) => {
    const common: Query = [
      ...(since === undefined ? [] : [['created__gte', since.toISOString()] as const]),
      ...(until === undefined ? [] : [['created__lt', until.toISOString()] as const]),
      ...(tokenIds === undefined ? [] : [['content_type__model', TOKEN] as const]),
    ];
    const actors = listFilter('created_by__id', actorIds?.map(String));
    const tokens = listFilter('object_id', tokenIds?.map(String));
    return actors.flatMap((actor) => tokens.map((token) => [...common, ...actor, ...token]));
  },
  lastOf: (userId) => [
    ['created_by__id', String(userId)],
    ['order_by', '-created,-id'],
  ],
  read: (body) => entry.safeParse(body).data ?? null,
};
