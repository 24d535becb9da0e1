import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { type RequestFailure, tooManyRequests } from '../failure.ts';

/** A browser in which a user logged in before, known by its cookie. */
export interface Device {
  readonly userId: number;
  readonly id: string;
}

export interface Attempt {
  readonly network: string;
  readonly username: string;
  /** The browser, if the user logged in there before. */
  readonly device?: Device | null;
}

/** An attempt that counts as failed unless one of these is called. */
interface BegunAttempt {
  /** Call it if the password was correct. */
  readonly succeeded: () => void;
  /** Call it if the password was not verified. */
  readonly canceled: () => void;
}

/** Wrong passwords for one name from one network: ten, then one every six seconds. */
const PAIR = { burst: 10, refillSeconds: 6 };
/** For one name from anywhere: fifty, then one every five seconds. */
const NAME = { burst: 50, refillSeconds: 5 };
/** For any name from one network: two hundred, then one a second. */
const NETWORK = { burst: 200, refillSeconds: 1 };
/** For one user from one browser in which the user logged in before: ten, then one every six seconds. */
const DEVICE = PAIR;
/** For one user from all such browsers, including stolen cookies: fifty, then one every five seconds. */
const DEVICES = NAME;
/** How many wrong passwords a network may try for a name after other networks used up the name's allowance. */
const FREE = 3;
const PROVEN_SECONDS = 30 * 86_400;

/**
 * Rate limits for wrong passwords, by name, by network and by both.
 *
 * No user is locked out: an allowance refills with time, regardless of further attempts. Attempts of others do not
 * affect a network from which the user logged in before or that has few attempts. A correct password costs nothing.
 * An attempt is counted when it begins and refunded when it succeeds, so concurrent attempts cannot bypass the limit.
 *
 * A browser in which the user logged in before (a device cookie) has its own limits, so attacks from its network do
 * not affect it. Once they are used up, it counts as any other browser of its network.
 */
export class PasswordLimits {
  readonly #pairs: Buckets;
  readonly #names: Buckets;
  readonly #networks: Buckets;
  readonly #proven: Buckets;
  readonly #device: Buckets;
  readonly #devices: Buckets;

  /** @param clock Monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#pairs = new Buckets(PAIR, clock);
    this.#names = new Buckets(NAME, clock);
    this.#networks = new Buckets(NETWORK, clock);
    this.#device = new Buckets(DEVICE, clock);
    this.#devices = new Buckets(DEVICES, clock);
    // A bucket of one that refills in thirty days. A successful login empties it.
    this.#proven = new Buckets({ burst: 1, refillSeconds: PROVEN_SECONDS }, clock);
  }

  /** Whether the user of this name logged in from this network in the last thirty days. */
  isProven({ network, username }: Attempt): boolean {
    return this.#proven.taken(pairOf(network, username)) > 0;
  }

  /** Begins an attempt. Throws RequestFailure 429. */
  begin(attempt: Attempt): BegunAttempt {
    const { network, device = null } = attempt;
    const ofDevice = device === null ? null : this.#beginOnDevice(device);
    if (ofDevice !== null) return ofDevice;
    const pair = pairOf(network, attempt.username);
    const wait = this.#wait(network, pair, attempt.username);
    if (wait > 0) throw refused(wait);
    const ofPair = this.#pairs.take(pair);
    const ofName = this.#names.take(attempt.username);
    const ofNetwork = this.#networks.take(network);
    const giveBack = () => {
      this.#names.giveBack(attempt.username, ofName);
      this.#networks.giveBack(network, ofNetwork);
    };
    return {
      succeeded: () => {
        this.#pairs.forget(pair);
        giveBack();
        this.#proven.take(pair);
      },
      canceled: () => {
        this.#pairs.giveBack(pair, ofPair);
        giveBack();
      },
    };
  }

  /** Null if the browser used up its allowance. */
  #beginOnDevice({ userId, id }: Device): BegunAttempt | null {
    const user = String(userId);
    if (this.#device.wait(id) > 0 || this.#devices.wait(user) > 0) return null;
    const ofDevice = this.#device.take(id);
    const ofDevices = this.#devices.take(user);
    return {
      succeeded: () => {
        this.#device.forget(id);
        this.#devices.giveBack(user, ofDevices);
      },
      canceled: () => {
        this.#device.giveBack(id, ofDevice);
        this.#devices.giveBack(user, ofDevices);
      },
    };
  }

  #wait(network: string, pair: string, username: string): number {
    const own = this.#pairs.wait(pair);
    if (this.#proven.taken(pair) > 0) return own;
    const name = this.#pairs.taken(pair) < FREE ? 0 : this.#names.wait(username);
    return Math.max(own, name, this.#networks.wait(network));
  }
}

function pairOf(network: string, username: string): string {
  return `${network} ${username}`;
}

function refused(wait: number): RequestFailure {
  return tooManyRequests('Too many wrong passwords.', wait);
}

/** The OAuth2 endpoints whose rejected requests count. Wrong passwords have their own limits. */
const LIMITED = ['authorize/', 'token/', 'revoke_token/', 'introspect/'];

/** Rejected requests from one network or client: three hundred, then two a second. */
const REFUSALS = { burst: 300, refillSeconds: 0.5 };

declare module 'fastify' {
  interface FastifyRequest {
    /** The client that authenticated with its secret; empty for any other request. */
    provenClient: string;
  }
}

/**
 * Answers OAuth2 requests with 429 for networks with too many rejected ones, until their allowance refills.
 * Successful requests are never held up, because others may share the network. Rejected requests of a client
 * that authenticated with its secret count for that client only. Secrets and codes are too long to be
 * guessed; passwords have their own limits.
 */
export function limitRefusedRequests(app: FastifyInstance, clock: () => number): void {
  const limited: ReadonlySet<string> = new Set(LIMITED.map((name) => `/api/o/${name}`));
  const refusals = new Buckets(REFUSALS, clock);
  app.decorateRequest('provenClient', '');
  app.addHook('onSend', (request, reply, payload, done) => {
    const isRefusal = [400, 401, 403].includes(reply.statusCode);
    if (!isRefusal || !limited.has(request.routeOptions.url ?? '')) return done(null, payload);
    const key = request.provenClient === '' ? request.network : `client ${request.provenClient}`;
    const wait = refusals.wait(key);
    if (wait === 0) {
      refusals.take(key);
      return done(null, payload);
    }
    const { status, headers, body } = tooManyRequests('Too many rejected requests.', wait);
    reply.code(status).headers(headers).type('application/json; charset=utf-8');
    done(null, JSON.stringify(body));
  });
}

interface Allowance {
  /** The maximum number at once. */
  readonly burst: number;
  readonly refillSeconds: number;
  /** The maximum number of keys; the least recently used is dropped first. */
  readonly keys?: number;
}

const MAX_KEYS = 50_000;

/** Token buckets by key. Keys are stored as hashes: a name may be long, or be a password typed into the wrong field. */
export class Buckets {
  readonly #allowance: Allowance;
  readonly #clock: () => number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** @param clock Monotonic, in milliseconds. */
  constructor(allowance: Allowance, clock: () => number) {
    this.#allowance = allowance;
    this.#clock = clock;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Seconds until one is available; 0 if available now. */
  wait(key: string): number {
    const { left } = this.#level(digest(key));
    return left >= 1 ? 0 : (1 - left) * this.#allowance.refillSeconds;
  }

  /** The number taken and not yet refilled. */
  taken(key: string): number {
    return this.#allowance.burst - this.#level(digest(key)).left;
  }

  /** Takes one, or what is left: further attempts do not extend the wait. Returns the amount, for a refund. */
  take(key: string): number {
    const name = digest(key);
    const { left, at } = this.#level(name);
    const taken = Math.min(1, left);
    this.#put(name, { left: left - taken, at });
    return taken;
  }

  giveBack(key: string, taken: number): void {
    const name = digest(key);
    const { left, at } = this.#level(name);
    this.#put(name, { left: Math.min(this.#allowance.burst, left + taken), at });
  }

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
