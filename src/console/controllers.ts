import type { FastifyInstance } from 'fastify';
import { byInstallation } from '../cli/multi-context/context-outcomes.ts';
import type { TargetDescription } from '../operations/ports/target.ts';
import { Answers } from './answers.ts';
import type { Places } from './places.ts';

interface ControllerPlace {
  readonly place: string;
  /** How it reaches the controller; null if it did not answer, or not yet. */
  readonly via: 'database' | 'rest' | null;
  readonly address: string | null;
  /** How long it has not answered, in seconds; null after an answer or a failure. */
  readonly waits: number | null;
}

/** One controller, with all contexts of the console that reach it. */
export interface Controller {
  /** The context that sees and can do the most comes first. */
  readonly places: readonly ControllerPlace[];
}

interface Known extends ControllerPlace {
  /** The installation id; null if the target states none, or did not answer. */
  readonly installUuid: string | null;
  readonly rank: number;
}

/** How long a context's description is cached. */
const KEPT_MS = 60_000;

/** Determines which contexts of a console are the same controller, by installation id. */
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

  /** All contexts, grouped by controller, in order. One that does not answer soon is alone until then. */
  async all(): Promise<readonly Controller[]> {
    const names = await this.#places.names();
    await this.#descriptions.soon(names);
    const known = names.map((context) => ({ ...this.#knownOf(context), context }));
    return byInstallation(known).map((group) => ({
      places: group
        .toSorted((one, other) => other.rank - one.rank)
        .map(({ installUuid: _uuid, rank: _rank, context: _context, ...place }) => place),
    }));
  }

  /** Waits for the controller of a context. */
  async of(place: string): Promise<Controller> {
    await this.#descriptions.whole(place).catch(() => undefined);
    const found = (await this.all()).find(({ places }) => places.some((each) => each.place === place));
    return found ?? { places: [] };
  }

  /** Queries all contexts again. */
  forget(): void {
    this.#descriptions.forget();
  }

  #knownOf(place: string): Known {
    const { value, waitsMs } = this.#descriptions.of(place);
    const common = { place, waits: waitsMs === null ? null : Math.floor(waitsMs / 1_000) };
    if (value === undefined) return { ...common, via: null, address: null, installUuid: null, rank: 0 };
    const { address, installUuid, credential, visibility, standby } = value;
    const via = credential === 'database_role' ? 'database' : 'rest';
    // A standby changes nothing; a database ends and lists more than the REST API.
    const rank =
      (standby === undefined ? 4 : 0) + (via === 'database' ? 2 : 0) + (visibility.kind === 'all' ? 1 : 0);
    return { ...common, via, address, installUuid, rank };
  }
}

export function serveControllers(app: FastifyInstance, controllers: Controllers): void {
  app.get('/api/controllers', async () => ({ controllers: await controllers.all() }));
}
