interface Wanted {
  /** Null for a run without a context. */
  readonly context: string | null;
  /** The due time: the most overdue run starts first. */
  readonly due: Date;
}

interface Waiting extends Wanted {
  readonly grant: () => void;
}

/** The maximum numbers of concurrent runs in one process. */
export interface RunLimits {
  /** In all contexts together. */
  readonly atOnce: number;
  /** In one context, because each run has its own connections to the controller. */
  readonly perContext: number;
}

/** The slots for runs in one process. The most overdue run whose context has a free slot goes first. */
export class RunSlots {
  readonly #limits: RunLimits;
  readonly #running = new Map<string, number>();
  #taken = 0;
  /** The most overdue first: thousands wait if many contexts' jobs are due at the same time. */
  readonly #waiting: Waiting[] = [];

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  /** Waits for a slot, and releases it when disposed of. Null if `signal` is aborted before. */
  async take(wanted: Wanted, signal: AbortSignal): Promise<Disposable | null> {
    if (signal.aborted) return null;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { ...wanted, grant: () => resolve(true) };
    const leave = () => {
      const place = this.#waiting.indexOf(waiting);
      if (place >= 0) this.#waiting.splice(place, 1);
      resolve(false);
    };
    signal.addEventListener('abort', leave, { once: true });
    const later = this.#waiting.findLastIndex(({ due }) => due.getTime() <= wanted.due.getTime());
    this.#waiting.splice(later + 1, 0, waiting);
    this.#grant();
    const granted = await promise;
    signal.removeEventListener('abort', leave);
    return granted ? { [Symbol.dispose]: () => this.#release(wanted) } : null;
  }

  #grant(): void {
    while (this.#taken < this.#limits.atOnce) {
      const place = this.#waiting.findIndex((each) => this.#hasRoom(each));
      const [waiting] = place < 0 ? [] : this.#waiting.splice(place, 1);
      if (waiting === undefined) return;
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
