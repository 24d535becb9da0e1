/** A run that wants to begin. */
interface Wanted {
  /** The context that it works in; null for one that works in none. */
  readonly context: string | null;
  /** Its due time: the most overdue run begins first. */
  readonly due: Date;
}

interface Waiting extends Wanted {
  readonly grant: () => void;
}

/** How many runs one process may have in progress. */
export interface RunLimits {
  /** In all contexts together. */
  readonly atOnce: number;
  /** In one context, as each run has connections of its own to the controller. */
  readonly perContext: number;
}

/**
 * The places for runs in one process. Whoever is most overdue gets the next free place; a run whose context has no place left
 * keeps no other context waiting.
 */
export class RunSlots {
  readonly #limits: RunLimits;
  readonly #running = new Map<string, number>();
  #taken = 0;
  #waiting: Waiting[] = [];

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  /** Waits for a place, and gives it back when disposed of. Null if `signal` is aborted before. */
  async take(wanted: Wanted, signal: AbortSignal): Promise<Disposable | null> {
    if (signal.aborted) return null;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { ...wanted, grant: () => resolve(true) };
    const leave = () => {
      this.#waiting = this.#waiting.filter((each) => each !== waiting);
      resolve(false);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(waiting);
    this.#grant();
    const granted = await promise;
    signal.removeEventListener('abort', leave);
    return granted ? { [Symbol.dispose]: () => this.#release(wanted) } : null;
  }

  #grant(): void {
    this.#waiting.sort((one, other) => one.due.getTime() - other.due.getTime());
    for (const waiting of [...this.#waiting]) {
      if (this.#taken >= this.#limits.atOnce) return;
      if (!this.#hasRoom(waiting)) continue;
      this.#waiting = this.#waiting.filter((each) => each !== waiting);
      this.#count(waiting, 1);
      waiting.grant();
    }
  }

  #hasRoom({ context }: Wanted): boolean {
    return context === null || (this.#running.get(context) ?? 0) < this.#limits.perContext;
  }

  #release(run: Wanted): void {
    this.#count(run, -1);
    this.#grant();
  }

  #count({ context }: Wanted, change: 1 | -1): void {
    this.#taken += change;
    if (context === null) return;
    const running = (this.#running.get(context) ?? 0) + change;
    if (running === 0) this.#running.delete(context);
    else this.#running.set(context, running);
  }
}
