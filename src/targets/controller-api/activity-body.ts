import { z } from 'zod';
import type { Activity, UserReference } from '../../core/token.ts';
import { id, instant } from './bodies.ts';

const person = z.object({ id, username: z.string() });
const linked = z.array(z.object({ id })).catch([]);

const activity = z
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
    (body): LinkedActivity => ({
      id: body.id,
      at: body.timestamp,
      operation: body.operation,
      // A user who is gone is shown without an id.
      actor: actorOf(body.summary_fields.actor),
      object: body.object1,
      changes: body.changes,
      tokenIds: body.summary_fields.o_auth2_access_token.map((token) => token.id),
    }),
  );

/** An entry of the activity stream, and the access tokens that it links to: none once they are deleted. */
export interface LinkedActivity extends Activity {
  readonly tokenIds: readonly number[];
}

/** Reads an entry of the activity stream; null for what is none. */
export function readActivity(body: unknown): LinkedActivity | null {
  return activity.safeParse(body).data ?? null;
}

function actorOf(actor: z.infer<typeof person> | null): UserReference | null {
  return actor === null ? null : { id: actor.id, username: actor.username };
}
