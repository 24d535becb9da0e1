import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { type RequestFailure, tooManyRequests } from '../failure.ts';

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

/** Where grants are asked for: what is refused there counts. Wrong passwords at the login count by themselves. */
const LIMITED = ['authorize/', 'token/', 'revoke_token/', 'introspect/'];

/** Refused requests from one network: three hundred, then two a second. */
const REFUSALS = { burst: 300, refillSeconds: 0.5 };

/**
 * Slows down a client whose requests for an authorization or a token are refused again and again:
 * 429 until its allowance has grown again. Requests that are granted take nothing, so that a busy client is
 * never slowed.
 */
export function limitRefusedRequests(app: FastifyInstance, clock: () => number): void {
  const limited: ReadonlySet<string> = new Set(LIMITED.map((name) => `/api/o/${name}`));
  const refusals = new Buckets(REFUSALS, clock);
  app.addHook('onRequest', async (request) => {
    if (!limited.has(request.routeOptions.url ?? '')) return;
    const wait = refusals.wait(request.network);
    if (wait > 0) throw tooManyRequests('Too many requests that were refused.', wait);
  });
  app.addHook('onResponse', async (request, reply) => {
    if (!limited.has(request.routeOptions.url ?? '')) return;
    if ([400, 401, 403].includes(reply.statusCode)) refusals.take(request.network);
  });
}

/** How much is allowed. */
interface Allowance {
  /** So many at once. */
  readonly burst: number;
  /** After that, one in so many seconds. */
  readonly refillSeconds: number;
  /** So many keys are remembered at the most; the one not used for longest is forgotten first. */
  readonly keys?: number;
}

const MAX_KEYS = 50_000;

/** Token buckets by key. What a key was is not kept, only a digest of it: a name may be long, or a password typed into the wrong field. */
export class Buckets {
  readonly #allowance: Allowance;
  readonly #clock: () => number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** @param clock Milliseconds that never go back. */
  constructor(allowance: Allowance, clock: () => number) {
    this.#allowance = allowance;
    this.#clock = clock;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Seconds until one may be taken: 0 where it may be taken now. */
  wait(key: string): number {
    const { left } = this.#level(digest(key));
    return left >= 1 ? 0 : (1 - left) * this.#allowance.refillSeconds;
  }

  /** How many were taken and not filled up again by now. */
  taken(key: string): number {
    return this.#allowance.burst - this.#level(digest(key)).left;
  }

  /**
   * Takes one, or what is left: a bucket is never less than empty, so that insisting does not make it longer.
   *
   * @returns How much was taken, to be given back.
   */
  take(key: string): number {
    const name = digest(key);
    const { left, at } = this.#level(name);
    const taken = Math.min(1, left);
    this.#put(name, { left: left - taken, at });
    return taken;
  }

  /** Puts back what was taken. */
  giveBack(key: string, taken: number): void {
    const name = digest(key);
    const { left, at } = this.#level(name);
    this.#put(name, { left: Math.min(this.#allowance.burst, left + taken), at });
  }

  /** Fills it up. */
  forget(key: string): void {
    this.#buckets.delete(digest(key));
  }

  #put(name: string, level: { left: number; at: number }): void {
    this.#buckets.delete(name);
    this.#buckets.set(name, level);
    if (this.#buckets.size <= (this.#allowance.keys ?? MAX_KEYS)) return;
    const oldest = this.#buckets.keys().next();
    if (!oldest.done) this.#buckets.delete(oldest.value);
  }

  #level(name: string): { left: number; at: number } {
    const at = this.#clock();
    const bucket = this.#buckets.get(name);
    const { burst, refillSeconds } = this.#allowance;
    if (bucket === undefined) return { left: burst, at };
    return { left: Math.min(burst, bucket.left + (at - bucket.at) / 1000 / refillSeconds), at };
  }
}

function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22);
}
