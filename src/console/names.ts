import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { nearestName } from '../domain/nearest-name.ts';
import { Answers } from './answers.ts';
import { placeQuery } from './command-line.ts';
import type { Controllers } from './controllers.ts';
import { type Problem, problemOf } from './operations.ts';
import type { Places } from './places.ts';

/** How long names are cached: a new user has no history that matters for a lockdown. */
const KEPT_MS = 300_000;
/** The maximum number of cached names per context. */
const MAX_NAMES = 20_000;
/** The maximum number of names that a form suggests. */
const MAX_SUGGESTED = 12;

const namesQuery = placeQuery.extend({
  kind: z.enum(['users', 'applications']),
  text: z.string().max(300).default(''),
});

const accountsQuery = z.object({
  /** Default: all controllers. */
  place: z.string().max(300).optional(),
  text: z.string().max(300),
});

/** The users of a context with this name. */
export interface AccountsRead {
  readonly place: string;
  /** Null while they are read, and if they could not be. */
  readonly names: readonly string[] | null;
  /** The nearest name if no name contains the text; null if there is none. */
  readonly near: string | null;
  /** Why they could not be read. */
  readonly problem: Problem | null;
}

/**
 * Serves the names of users and applications that forms suggest: those that start with a text first, then
 * those that contain it; and the users of all controllers with a name.
 */
export function serveNames(
  app: FastifyInstance,
  { places, controllers }: { places: Places; controllers: Controllers },
): void {
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
    return { names: matching(await (kind === 'users' ? users : applications).whole(place), text) };
  });
  app.get('/api/accounts', async ({ query }): Promise<{ readonly accounts: readonly AccountsRead[] }> => {
    const { place, text } = accountsQuery.parse(query);
    const best = (await controllers.all()).flatMap(({ places: [first] }) => first?.place ?? []);
    const wanted = place === undefined ? best : [place];
    await users.soon(wanted);
    const accounts = wanted.map((each): AccountsRead => {
      const { value, error } = users.of(each);
      const problem = error === undefined ? null : problemOf(error);
      if (value === undefined) return { place: each, names: null, near: null, problem };
      const names = matching(value, text);
      const near = names.length > 0 ? null : (nearestName(text.trim(), value) ?? null);
      return { place: each, names, near, problem: null };
    });
    return { accounts };
  });
}

/** The first names that contain a text. */
function matching(names: readonly string[], text: string): readonly string[] {
  const wanted = text.trim().toLowerCase();
  const having = names.filter((name) => name.toLowerCase().includes(wanted));
  const isFirst = (name: string) => name.toLowerCase().startsWith(wanted);
  // A short name would otherwise be hidden by many longer ones with the same prefix.
  const firsts = having.filter(isFirst).toSorted((one, other) => one.length - other.length);
  const ordered = [...firsts, ...having.filter((name) => !isFirst(name))];
  return ordered.slice(0, MAX_SUGGESTED);
}
