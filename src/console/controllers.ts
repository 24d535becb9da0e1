import type { FastifyInstance } from 'fastify';
import type { TargetDescription } from '../operations/ports/target.ts';
import { type Problem, problemOf } from './operations.ts';
import type { Places } from './places.ts';

/** A context of a controller. */
interface ControllerPlace {
  readonly place: string;
  /** How it reaches the controller; null where it did not answer. */
  readonly via: 'database' | 'rest' | null;
  readonly address: string | null;
  readonly problem: Problem | null;
}

/** One controller, with all contexts of the console that reach it. */
export interface Controller {
  /** Its id of installation; null where the target states none, or did not answer. */
  readonly installUuid: string | null;
  /** The context that sees and can do the most comes first. */
  readonly places: readonly ControllerPlace[];
}

/** What is known of a context. */
interface Known extends ControllerPlace {
  readonly installUuid: string | null;
  readonly rank: number;
}

/** How long a description of a context is taken for true. */
const KEPT_MS = 60_000;

/** Finds out which contexts of a console are the same controller, by its id of installation. */
export class Controllers {
  readonly #places: Places;
  readonly #known = new Map<string, { readonly until: number; readonly known: Promise<Known> }>();

  constructor(places: Places) {
    this.#places = places;
  }

  /** All contexts, those of one controller together, in the order of their first contexts. */
  async all(): Promise<readonly Controller[]> {
    const known = await Promise.all((await this.#places.names()).map((place) => this.#knownOf(place)));
    const groups = Map.groupBy(known, ({ installUuid, place }) => installUuid ?? `context ${place}`);
    return [...groups.values()].map((group) => ({
      installUuid: group[0]?.installUuid ?? null,
      places: group
        .toSorted((one, other) => other.rank - one.rank)
        .map(({ place, via, address, problem }) => ({ place, via, address, problem })),
    }));
  }

  /** The controller of a context. */
  async of(place: string): Promise<Controller> {
    const found = (await this.all()).find(({ places }) => places.some((each) => each.place === place));
    return found ?? { installUuid: null, places: [] };
  }

  #knownOf(place: string): Promise<Known> {
    const now = performance.now();
    const kept = this.#known.get(place);
    if (kept !== undefined && kept.until > now) return kept.known;
    const known = this.#places
      .work(place, (runtime) => runtime.description())
      .then((description) => knownOf(place, description))
      .catch((error: unknown): Known => {
        // What did not answer is asked again.
        this.#known.delete(place);
        return { place, via: null, address: null, installUuid: null, rank: 0, problem: problemOf(error) };
      });
    this.#known.set(place, { until: now + KEPT_MS, known });
    return known;
  }
}

function knownOf(place: string, description: TargetDescription): Known {
  const { address, installUuid, credential, visibility, standby } = description;
  const via = credential === 'database_role' ? 'database' : 'rest';
  // A standby changes nothing; a database ends and lists more than the REST API.
  const rank =
    (standby === undefined ? 4 : 0) + (via === 'database' ? 2 : 0) + (visibility.kind === 'all' ? 1 : 0);
  return { place, via, address, installUuid, rank, problem: null };
}

/** Serves which contexts are the same controller. */
export function serveControllers(app: FastifyInstance, controllers: Controllers): void {
  app.get('/api/controllers', async () => ({ controllers: await controllers.all() }));
}
