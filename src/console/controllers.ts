import type { FastifyInstance } from 'fastify';
import { byInstallation } from '../cli/multi-context/context-outcomes.ts';
import type { TargetDescription } from '../operations/ports/target.ts';
import { Answers } from './answers.ts';
import { type Problem, problemOf } from './operations.ts';
import type { Places } from './places.ts';

interface ControllerPlace {
  readonly place: string;
  /** How it reaches the controller; null where it did not answer, or not yet. */
  readonly via: 'database' | 'rest' | null;
  readonly address: string | null;
  readonly problem: Problem | null;
  /** For how long it has not answered, in seconds; null once it has, or failed. */
  readonly waits: number | null;
}

/** One controller, with all contexts of the console that reach it. */
export interface Controller {
  /** Its id of installation; null where the target states none, or did not answer. */
  readonly installUuid: string | null;
  /** The context that sees and can do the most comes first. */
  readonly places: readonly ControllerPlace[];
}

/** What is known of a context. */
type Known = Omit<Controller, 'places'> & ControllerPlace & { readonly rank: number };

/** How long a description of a context is taken for true. */
const KEPT_MS = 60_000;

/** Finds out which contexts of a console are the same controller, by its id of installation. */
export class Controllers {
  readonly #places: Places;
  readonly #descriptions: Answers<TargetDescription>;

  constructor(places: Places) {
    this.#places = places;
    this.#descriptions = new Answers(
      (place) => places.work(place, (runtime) => runtime.description()),
      KEPT_MS,
    );
  }

  /**
   * All contexts, those of one controller together, in the order of their first contexts. A context that does not answer soon is on
   * its own until it does.
   */
  async all(): Promise<readonly Controller[]> {
    const names = await this.#places.names();
    await this.#descriptions.soon(names);
    const known = names.map((context) => ({ ...this.#knownOf(context), context }));
    return byInstallation(known).map((group) => ({
      installUuid: group[0]?.installUuid ?? null,
      places: group
        .toSorted((one, other) => other.rank - one.rank)
        .map(({ installUuid: _uuid, rank: _rank, context: _context, ...place }) => place),
    }));
  }

  /** The controller of a context, which is waited for. */
  async of(place: string): Promise<Controller> {
    await this.#descriptions.whole(place).catch(() => undefined);
    const found = (await this.all()).find(({ places }) => places.some((each) => each.place === place));
    return found ?? { installUuid: null, places: [] };
  }

  /** Asks all contexts anew. */
  forget(): void {
    this.#descriptions.forget();
  }

  #knownOf(place: string): Known {
    const { value, error, waitsMs } = this.#descriptions.of(place);
    const common = { place, waits: waitsMs === null ? null : Math.floor(waitsMs / 1_000) };
    if (value === undefined) {
      const problem = error === undefined ? null : problemOf(error);
      return { ...common, via: null, address: null, installUuid: null, rank: 0, problem };
    }
    const { address, installUuid, credential, visibility, standby } = value;
    const via = credential === 'database_role' ? 'database' : 'rest';
    // A standby changes nothing; a database ends and lists more than the REST API.
    const rank =
      (standby === undefined ? 4 : 0) + (via === 'database' ? 2 : 0) + (visibility.kind === 'all' ? 1 : 0);
    return { ...common, via, address, installUuid, rank, problem: null };
  }
}

/** Serves which contexts are the same controller. */
export function serveControllers(app: FastifyInstance, controllers: Controllers): void {
  app.get('/api/controllers', async () => ({ controllers: await controllers.all() }));
}
