import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import { TokenctlError } from '../../domain/errors.ts';
import { type Address, parseAddress } from './address.ts';
import { authorization, type Credential } from './credential.ts';
import { networkFailure } from './network-failure.ts';
import { type Answer, Receiver } from './receiver.ts';
import { withRetries } from './retry.ts';

/** Where and how to connect. */
export interface ConnectionOptions {
  /** The controller's base URL. */
  readonly address: string;
  readonly credential: Credential;
  /** False takes any certificate. */
  readonly verifyTls: boolean;
  /** A PEM file of the authorities to trust instead of the usual ones. */
  readonly caFile?: string;
  /** How long to wait for an answer, in milliseconds. */
  readonly patience?: number;
}

/** One request, by a path below the address. */
export interface Request {
  readonly method: 'GET' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly json?: object;
  /** Another Authorization header than the credential's: to find out whether that is accepted. */
  readonly authorization?: string;
}

const CONNECTIONS = 10;
/** Requests under way on one connection: with ten, a slow round trip costs a tenth. */
const PIPELINING = 10;
/** How many requests are under way at most. */
export const MOST_UNDER_WAY = CONNECTIONS * PIPELINING;
const CONNECT_PATIENCE = 10_000;
const ANSWER_PATIENCE = 60_000;

/** The way to one controller: a pool of connections that carry the credential on every request. */
export class Connection {
  readonly #address: Address;
  readonly #credential: Credential;
  readonly #verifyTls: boolean;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #pool: Pool;
  #answered = false;

  /** @throws TokenctlError `configuration` for an address, credential or CA file that cannot be used. */
  constructor(options: ConnectionOptions) {
    this.#address = parseAddress(options.address);
    this.#credential = options.credential;
    this.#verifyTls = options.verifyTls;
    this.#headers = {
      accept: 'application/json',
      'user-agent': 'tokenctl',
      authorization: authorization(options.credential),
    };
    const patience = options.patience ?? ANSWER_PATIENCE;
    this.#pool = new Pool(this.#address.origin, {
      connections: CONNECTIONS,
      pipelining: PIPELINING,
      allowH2: false,
      headersTimeout: patience,
      bodyTimeout: patience,
      connect: {
        timeout: CONNECT_PATIENCE,
        rejectUnauthorized: options.verifyTls,
        ...(options.caFile === undefined ? {} : { ca: readCa(options.caFile) }),
      },
    });
  }

  /** The controller's address without credentials. */
  get address(): string {
    return this.#address.origin + this.#address.base;
  }

  get credential(): Credential {
    return this.#credential;
  }

  get transport(): 'https' | 'https_unverified' | 'http' {
    if (!this.#address.encrypted) return 'http';
    return this.#verifyTls ? 'https' : 'https_unverified';
  }

  /**
   * Makes a request; GET, PUT and DELETE again where a failure may pass. Follows no redirect: the credential
   * goes nowhere else.
   *
   * @returns The answer, whatever its status.
   * @throws TokenctlError `target_unreachable`, `target_misbehaved`.
   */
  async send(request: Request): Promise<Answer> {
    const idempotent = request.method !== 'POST' && request.method !== 'PATCH';
    const send = () => this.#dispatch(request, idempotent);
    try {
      const answer = await (idempotent
        ? withRetries({ send, answeredBefore: () => this.#answered })
        : send());
      this.#answered = true;
      return answer;
    } catch (cause) {
      throw networkFailure(cause, this.#address.origin);
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #dispatch({ method, path, json, authorization }: Request, idempotent: boolean): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#pool.dispatch(
      {
        method,
        path: this.#address.base + path,
        headers: {
          ...this.#headers,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(authorization !== undefined && { authorization }),
        },
        body: json === undefined ? null : JSON.stringify(json),
        idempotent,
        // A DELETE would otherwise hold its connection alone until it is answered.
        blocking: false,
      },
      new Receiver({ resolve, reject }),
    );
    return promise;
  }
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `The CA file ${path} cannot be read`, {
      hint: 'Give the path of a PEM file.',
      cause,
    });
  }
}
