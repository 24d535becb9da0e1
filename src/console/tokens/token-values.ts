import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { leakedReport } from '../../cli/incident/leaked-flow.ts';
import type { LeakedTokens } from '../../operations/revocation/find-leaked.ts';
import { readLeaked } from '../../operations/revocation/leaked-input.ts';
import type { Places } from '../places.ts';

const MAX_TEXT = 4_000;

/** In the body: URLs are written to histories and logs. */
const valueBody = z.strictObject({ place: z.string().max(300), text: z.string().min(1).max(MAX_TEXT) });

/** The tokens of a context that have a value. */
export interface ValueRead {
  readonly found: readonly Pick<LeakedTokens['found'][number], 'kind' | 'live' | 'ids' | 'user'>[];
}

/**
 * Serves the owner of a token's value, which the command finds in a database by its hash. The value is
 * neither stored nor sent anywhere. Over REST it would be presented, which may count as a use by the
 * intruder: the command asks for that and records it.
 */
export function serveValues(app: FastifyInstance, places: Places): void {
  app.post('/api/tokens/value', { config: { readsOnly: true } }, async ({ body }): Promise<ValueRead> => {
    const { place, text } = valueBody.parse(body);
    const { json } = await places.work(place, async (runtime) => {
      if ((await runtime.target()).identifies !== 'by_hash')
        throw new TokenctlError('unsupported', `The context ${place} can only find a value by using it`, {
          hint: 'Run tokenctl tokens find --leaked - in a terminal, which records the use.',
        });
      const input = () => readLeaked(chunksOf(text));
      return await leakedReport({ runtime, flags: { 'dry-run': true }, input });
    });
    return { found: json.found.map(({ kind, live, ids, user }) => ({ kind, live, ids, user })) };
  });
}

async function* chunksOf(text: string): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode(text);
}
