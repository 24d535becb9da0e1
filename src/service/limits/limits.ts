import type { RequestFailure } from '../failure.ts';
import { tooManyRequests } from '../failure.ts';
import { Buckets } from './buckets.ts';

/** Somebody who tries a password. */
export interface Attempt {
  /** What the client is counted under. */
  readonly network: string;
  readonly username: string;
}

/** Wrong passwords for one name from one network: ten, then one in six seconds. */
const PAIR = { burst: 10, refillSeconds: 6 };
/** For one name from anywhere: fifty, then one in five seconds. */
const NAME = { burst: 50, refillSeconds: 5 };
/** For any name from one network: two hundred, then one a second. */
const NETWORK = { burst: 200, refillSeconds: 1 };
/** So many wrong passwords a network may try for a name whose own allowance others have used up. */
const FREE = 3;
const PROVEN_SECONDS = 30 * 86_400;

/**
 * Slows the guessing of passwords down: only wrong ones count, by name, by network and by both.
 *
 * Nobody is locked out for good. An allowance grows again with time, however often is tried meanwhile; a
 * network from which this user logged in before, or that has hardly tried, is not held up by what others did;
 * a right password takes nothing. An attempt is counted when it begins and given back when it succeeds, so
 * that many at once are no way round.
 */
export class PasswordLimits {
  readonly #pairs: Buckets;
  readonly #names: Buckets;
  readonly #networks: Buckets;
  readonly #proven: Buckets;

  /** @param clock Milliseconds that never go back. */
  constructor(clock: () => number) {
    this.#pairs = new Buckets(PAIR, clock);
    this.#names = new Buckets(NAME, clock);
    this.#networks = new Buckets(NETWORK, clock);
    // A bucket of one that fills up after thirty days: taken where a login succeeded since.
    this.#proven = new Buckets({ burst: 1, refillSeconds: PROVEN_SECONDS }, clock);
  }

  /**
   * Begins an attempt.
   *
   * @returns What to call when the password was right.
   * @throws RequestFailure 429
   */
  begin(attempt: Attempt): () => void {
    const { network } = attempt;
    const pair = `${network} ${attempt.username}`;
    const wait = this.#wait(network, pair, attempt.username);
    if (wait > 0) throw refused(wait);
    this.#pairs.take(pair);
    const ofName = this.#names.take(attempt.username);
    const ofNetwork = this.#networks.take(network);
    return () => {
      this.#pairs.forget(pair);
      this.#names.giveBack(attempt.username, ofName);
      this.#networks.giveBack(network, ofNetwork);
      this.#proven.take(pair);
    };
  }

  #wait(network: string, pair: string, username: string): number {
    const own = this.#pairs.wait(pair);
    if (this.#proven.taken(pair) > 0) return own;
    const name = this.#pairs.taken(pair) < FREE ? 0 : this.#names.wait(username);
    return Math.max(own, name, this.#networks.wait(network));
  }
}

function refused(wait: number): RequestFailure {
  return tooManyRequests('Too many attempts with a wrong password.', wait);
}
