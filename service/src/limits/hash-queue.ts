import { availableParallelism } from 'node:os';
import { type RequestFailure, tooManyRequests } from '../failure.ts';
import { Buckets } from './limits.ts';

/** The source and the account that a slow hash counts against. */
export interface HashShare {
  /** The client's network, or something more specific: a browser, an application, an authenticated user. */
  readonly source: string;
  /** The account's name, whether it exists or not. */
  readonly account: string;
}

/** Slow hashes run on the four threads of libuv. One thread stays free for file access and DNS. */
const MAX_RUNNING = Math.min(3, availableParallelism());
const MAX_WAITING = 64;
const MAX_WAITING_OF_SOURCE = 16;
const MAX_WAIT_MS = 10_000;
const RETRY_SECONDS = 2;
/** How long a computed hash counts against its source and its account, in seconds. */
const USE = { burst: 1_000, refillSeconds: 60 };

interface Taken {
  readonly ofSource: number;
  readonly ofAccount: number;
}

interface Waiting {
  readonly share: HashShare;
  /** @param taken What the hash takes from source and account. */
  readonly begin: (taken: Taken) => void;
  readonly refuse: (failure: RequestFailure) => void;
}

/**
 * The queue for slow password hashes, the scarcest resource of the service: about four a second for each
 * core. The next hash is for the source, and then the account, with the fewest recent hashes. So a new
 * visitor waits only for running hashes, however many clients and networks guess passwords. A source may have
 * a few hashes waiting; if the queue is full, the last in order is refused.
 *
 * The queue knows accounts by the names that clients send, never whether they exist: answers and times reveal
 * nothing about that.
 */
export class HashQueue {
  readonly #bySource: Buckets;
  readonly #byAccount: Buckets;
  readonly #maxRunning: number;
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>();
  #running = 0;

  /** @param clock Monotonic, in milliseconds. */
  constructor(clock: () => number, maxRunning = MAX_RUNNING) {
    this.#bySource = new Buckets(USE, clock);
    this.#byAccount = new Buckets(USE, clock);
    this.#maxRunning = maxRunning;
  }

  /**
   * Computes a hash when its turn comes.
   * @param isFree Whether the result does not count against source and account: a correct password.
   * @throws RequestFailure 429 if too many hashes wait, or this one waits too long.
   */
  async run<T>(
    share: HashShare,
    hash: () => Promise<T>,
    isFree: (result: T) => boolean = () => false,
  ): Promise<T> {
    const { ofSource, ofAccount } = await this.#turn(share);
    try {
      const result = await hash();
      if (isFree(result)) {
        this.#bySource.giveBack(share.source, ofSource);
        this.#byAccount.giveBack(share.account, ofAccount);
      }
      return result;
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  async #turn(share: HashShare): Promise<Taken> {
    const { promise, resolve, reject } = Promise.withResolvers<Taken>();
    const waiting: Waiting = {
      share,
      begin: resolve,
      refuse: (failure) => {
        this.#waiting.delete(waiting);
        reject(failure);
      },
    };
    this.#waiting.add(waiting);
    const timeout = setTimeout(() => waiting.refuse(tooMany()), MAX_WAIT_MS);
    this.#refuseSurplus(share.source);
    this.#next();
    try {
      return await promise;
    } finally {
      clearTimeout(timeout);
    }
  }

  #refuseSurplus(source: string): void {
    const inOrder = this.#inOrder();
    const own = inOrder.filter((each) => each.share.source === source);
    if (own.length > MAX_WAITING_OF_SOURCE) own.at(-1)?.refuse(tooMany());
    else if (inOrder.length > MAX_WAITING) inOrder.at(-1)?.refuse(tooMany());
  }

  #next(): void {
    while (this.#running < this.#maxRunning) {
      const [first] = this.#inOrder();
      if (first === undefined) return;
      this.#waiting.delete(first);
      this.#running += 1;
      const { source, account } = first.share;
      first.begin({ ofSource: this.#bySource.take(source), ofAccount: this.#byAccount.take(account) });
    }
  }

  /** The waiting hashes in their current order. Those of one source are ordered by account. */
  #inOrder(): Waiting[] {
    const accounts = new Uses(this.#byAccount);
    const byAccount = [...this.#waiting]
      .map((waiting) => ({ waiting, account: accounts.next(waiting.share.account) }))
      .sort((one, other) => one.account - other.account);
    const sources = new Uses(this.#bySource);
    return byAccount
      .map((each) => ({ ...each, source: sources.next(each.waiting.share.source) }))
      .sort((one, other) => one.source - other.source || one.account - other.account)
      .map(({ waiting }) => waiting);
  }
}

/** Counts recent uses by key, including those of hashes ahead in the queue. */
class Uses {
  readonly #buckets: Buckets;
  readonly #counted = new Map<string, number>();

  constructor(buckets: Buckets) {
    this.#buckets = buckets;
  }

  next(key: string): number {
    const uses = this.#counted.get(key) ?? this.#buckets.taken(key);
    this.#counted.set(key, uses + 1);
    return uses;
  }
}

function tooMany(): RequestFailure {
  return tooManyRequests('Too many passwords are being verified.', RETRY_SECONDS);
}
