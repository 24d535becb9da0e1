import { z } from 'zod';
import type { UserReference } from '../../../domain/token.ts';
import type { ActivitySelector } from '../../../operations/ports/target-selectors.ts';
import { id, instant } from '../bodies.ts';
import type { ActivityDialect, FoundActivity } from '../dialect.ts';
import { listFilter, parts, type Query } from '../query.ts';

const TOKEN = 'o_auth2_access_token';

const person = z.object({ id, username: z.string() });
const linked = z.array(z.object({ id })).catch([]);

const entry = z
  .object({
    id,
    timestamp: instant,
    operation: z.string(),
    object1: z.string(),
    changes: z.record(z.string(), z.unknown()).catch({}),
    summary_fields: z
      .object({
        actor: person.nullable().catch(null).default(null),
        o_auth2_access_token: linked.default([]),
      })
      .default({ actor: null, o_auth2_access_token: [] }),
  })
  .transform(
    (body): FoundActivity => ({
      id: body.id,
      at: body.timestamp,
      operation: body.operation,
      // A user who is gone is shown without an id.
      actor: actorOf(body.summary_fields.actor),
      object: body.object1,
      changes: body.changes,
      tokenIds: [...body.summary_fields.o_auth2_access_token.map((token) => token.id), ...changedToken(body)],
    }),
  );

/** The controller's activity stream. */
export const activity: ActivityDialect = {
  path: 'activity_stream/',
  queries,
  lastOf: (userId) => [
    ['actor__id', String(userId)],
    ['order_by', '-timestamp,-id'],
  ],
  read: (body) => entry.safeParse(body).data ?? null,
};

/** How many tokens' activity is asked for in one question: each is a search in a text, and a filter of its own. */
const TOKENS_TOGETHER = 40;

/**
 * The questions that together name at least what an activity selector names. A token that is gone is linked
 * from nowhere: its id stands in `changes`, and is looked for there as text.
 */
function queries({ actorIds, tokenIds, since, until }: ActivitySelector): Query[] {
  const common: Query = [
    ...(since === undefined ? [] : [['timestamp__gte', since.toISOString()] as const]),
    ...(until === undefined ? [] : [['timestamp__lt', until.toISOString()] as const]),
  ];
  const actors = listFilter('actor__id', actorIds?.map(String));
  const tokens =
    tokenIds === undefined ? [[]] : parts([...new Set(tokenIds)], TOKENS_TOGETHER).map(aboutTokens);
  return actors.flatMap((actor) => tokens.map((token) => [...common, ...actor, ...token]));
}

function aboutTokens(ids: readonly number[]): Query {
  return [
    ['object1', TOKEN],
    ['or__o_auth2_access_token__id__in', ids.join(',')],
    ...ids.flatMap((id) => [
      // As the controller writes its JSON, and as JSON is written elsewhere.
      ['or__changes__contains', `"id": ${id}`] as const,
      ['or__changes__contains', `"id":${id}`] as const,
    ]),
  ];
}

function actorOf(actor: z.infer<typeof person> | null): UserReference | null {
  return actor === null ? null : { id: actor.id, username: actor.username };
}

/** A token that is deleted is linked from nowhere: its id stands in the changes. */
function changedToken(body: {
  readonly object1: string;
  readonly changes: Readonly<Record<string, unknown>>;
}) {
  const { id: changed } = body.changes;
  return body.object1 === TOKEN && typeof changed === 'number' ? [changed] : [];
}
