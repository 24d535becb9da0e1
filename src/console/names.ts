import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { Answers } from './answers.ts';
import { placeQuery } from './command-line.ts';
import type { Places } from './places.ts';

/** How long names are taken for true: a new user has no history worth a lockdown. */
const KEPT_MS = 300_000;
/** The names that are kept of a context. */
const MAX_NAMES = 20_000;
/** The names that a form suggests at a time. */
const MAX_SUGGESTED = 12;

const namesQuery = placeQuery.extend({
  kind: z.enum(['users', 'applications']),
  /** A part of the name. */
  text: z.string().max(300).default(''),
});

/** Serves the names of users and applications that forms suggest: those that begin with a text first, then those that contain it. */
export function serveNames(app: FastifyInstance, places: Places): void {
  const users = new Answers<readonly string[]>(
    (place) =>
      places.work(place, async (runtime) => {
        const found: string[] = [];
        for await (const { username } of (await runtime.target()).users.list()) {
          if (found.push(username) >= MAX_NAMES) break;
        }
        return found.sort();
      }),
    KEPT_MS,
  );
  const applications = new Answers<readonly string[]>(
    (place) =>
      places.work(place, async (runtime) =>
        (await (await runtime.target()).applications.list()).map(({ name }) => name).sort(),
      ),
    KEPT_MS,
  );
  app.get('/api/names', async ({ query }) => {
    const { place, kind, text } = namesQuery.parse(query);
    const names = await (kind === 'users' ? users : applications).whole(place);
    const wanted = text.trim().toLowerCase();
    const having = names.filter((name) => name.toLowerCase().includes(wanted));
    const isFirst = (name: string) => name.toLowerCase().startsWith(wanted);
    // A short name would never come up among many longer ones that begin the same.
    const firsts = having.filter(isFirst).toSorted((one, other) => one.length - other.length);
    const ordered = [...firsts, ...having.filter((name) => !isFirst(name))];
    return { names: ordered.slice(0, MAX_SUGGESTED) };
  });
}
