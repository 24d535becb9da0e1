import { setImmediate } from 'node:timers/promises';
import type { Database } from '@tokenctl/common/db/database.ts';
import { RequestFailure, tooManyRequests } from '../failure.ts';

/** How many tasks may run at once, and how many may wait. */
interface Share {
  readonly perUser: number;
  readonly total: number;
}

/** How many tasks of one user may wait. */
const MAX_WAITING = 500;
/** How long a task may wait for its turn, in milliseconds. */
const MAX_WAIT_MS = 30_000;

/** A user's id, or another name of a sender. */
type User = number | string;

interface Waiting {
  readonly begin: () => void;
  readonly refuse: (failure: RequestFailure) => void;
}

/** Shares the database among users: each has a few tasks running at once. A user's requests delay only that user. */
export class FairShare {
  readonly #share: Share;
  readonly #running = new Map<User, number>();
  /** By user, in the order of their turns. */
  readonly #waiting = new Map<User, Set<Waiting>>();
  readonly #stopped = new AbortController();
  #total = 0;

  constructor(share: Share) {
    this.#share = share;
  }

  /**
   * Runs a user's task when its turn comes.
   * @param left Aborted, with the failure to throw, when the client leaves; this ends the wait.
   * @param work Its signal is aborted, with the failure to throw, when the client leaves or the service stops.
   * @throws RequestFailure 429 if too many of this user's tasks wait, or one waits too long; 503 after a stop; the
   * reason of `left`.
   */
  async run<T>(user: User, left: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const end = await this.enter(user, left);
    const ended = new AbortController();
    const signals = [left, this.#stopped.signal];
    const abort = ({ target }: Event) => ended.abort((target as AbortSignal).reason);
    for (const signal of signals) signal.addEventListener('abort', abort);
    try {
      return await work(ended.signal);
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', abort);
      end();
    }
  }

  /** Waits for a user's turn; returns the function that ends it. Throws as {@link run}. */
  async enter(user: User, left: AbortSignal): Promise<() => void> {
    left.throwIfAborted();
    const end = this.enterAtOnce(user);
    if (end !== null) return end;
    const hasWaited = await this.#turn(user, left);
    // Waiting tasks start one by one, so that requests that arrived meanwhile are read in between.
    if (hasWaited) await setImmediate();
    return () => this.#end(user);
  }

  /** Starts a turn if the user need not wait, and returns its end; else null. Throws RequestFailure 503 if stopped. */
  enterAtOnce(user: User): (() => void) | null {
    this.#stopped.signal.throwIfAborted();
    // Other users wait for their own share or for the common one. They do not hold up a user with a share left.
    if (this.#waiting.has(user) || !this.#hasRoom(user)) return null;
    this.#take(user);
    return () => this.#end(user);
  }

  /** Refuses all waiting and later tasks, and aborts the running ones. */
  stop(): void {
    this.#stopped.abort(stopping());
    for (const waiting of [...this.#waiting.values()].flatMap((each) => [...each]))
      waiting.refuse(stopping());
  }

  /** Returns whether it had to wait. */
  async #turn(user: User, signal: AbortSignal): Promise<boolean> {
    const queue = this.#waiting.get(user) ?? new Set();
    if (queue.size >= MAX_WAITING) throw tooManyRequests('Too many of your requests are waiting.', 1);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      begin: resolve,
      refuse: (failure) => {
        // Removed now: a task that stayed in the queue until the rejection is handled could get its turn.
        queue.delete(waiting);
        if (queue.size === 0 && this.#waiting.get(user) === queue) this.#waiting.delete(user);
        reject(failure);
      },
    };
    this.#waiting.set(user, queue.add(waiting));
    const leave = () => waiting.refuse(signal.reason as RequestFailure);
    signal.addEventListener('abort', leave, { once: true });
    const timeout = setTimeout(() => {
      waiting.refuse(tooManyRequests('Too many of your requests are in progress.', 1));
    }, MAX_WAIT_MS);
    this.#next();
    const hasToWait = queue.has(waiting);
    try {
      await promise;
      return hasToWait;
    } finally {
      clearTimeout(timeout);
      signal.removeEventListener('abort', leave);
    }
  }

  #end(user: User): void {
    this.#running.set(user, (this.#running.get(user) ?? 1) - 1);
    if (this.#running.get(user) === 0) this.#running.delete(user);
    this.#total -= 1;
    this.#next();
  }

  #hasRoom(user: User): boolean {
    return this.#total < this.#share.total && (this.#running.get(user) ?? 0) < this.#share.perUser;
  }

  #take(user: User): void {
    this.#total += 1;
    this.#running.set(user, (this.#running.get(user) ?? 0) + 1);
  }

  /** Starts the tasks that may run now: of the next user with a share left. */
  #next(): void {
    for (const [user, queue] of [...this.#waiting]) {
      const [first] = queue;
      if (this.#total >= this.#share.total) return;
      if (first === undefined || !this.#hasRoom(user)) continue;
      this.#take(user);
      queue.delete(first);
      this.#waiting.delete(user);
      if (queue.size > 0) this.#waiting.set(user, queue);
      first.begin();
    }
  }
}

/**
 * The shares of a database. Each sender has a few requests running at once, however many others there are;
 * all lists and all scans have a common limit. The limits leave connections of a pool of ten to other
 * requests; the embedded database runs one statement at a time.
 */
export function databaseShares(kind: Database['kind']) {
  const isEmbedded = kind === 'embedded';
  return {
    requests: new FairShare({ perUser: isEmbedded ? 2 : 4, total: Number.POSITIVE_INFINITY }),
    lists: new FairShare(isEmbedded ? { perUser: 1, total: 2 } : { perUser: 3, total: 5 }),
    scans: new FairShare({ perUser: 1, total: 2 }),
  } as const;
}

/** The failure of a request whose client closed the connection. It is only logged, with nginx's status. */
export function clientLeft(): RequestFailure {
  return new RequestFailure(499, { detail: 'The client closed the connection.' });
}

function stopping(): RequestFailure {
  return new RequestFailure(503, { detail: 'The service is stopping.' }, { 'Retry-After': '5' });
}
