import { hash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { RequestFailure, tooManyRequests } from '../failure.ts';
import { clientLeft, type FairShare } from './fair-share.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The turn of this request; null before it started. */
    turn: Turn | null;
    /** The id of the user whose credentials the request has. */
    provenUser: number | null;
    /** The digest under which the credentials' owner is remembered; null without credentials. */
    credentials: string | null;
  }
}

/** How many credentials are remembered with their owners. */
const MAX_OWNERS = 20_000;
/** When the turn of a client that left ends if the handler has not answered, in milliseconds. */
const ABANDONED_MS = 60_000;

/**
 * Gives every request of the app a turn in its sender's share, on any route. The sender is the user or client
 * of its credentials, or its network. So one sender's requests delay only that sender. A turn starts when the
 * body has arrived and ends when the response is made: neither a slow upload nor a slow reader holds one.
 *
 * The owner of credentials is remembered from earlier requests, under a digest whose key never leaves the
 * process. It decides only whose share is used: each request is still authenticated.
 */
export function shareRequests(
  app: FastifyInstance,
  service: Pick<ServiceContext, 'shares' | 'sessionCookieName'>,
): void {
  const owners = new Owners(service.sessionCookieName);
  const bodies = new PendingBodies();
  app.decorateRequest('turn', null);
  app.decorateRequest('provenUser', null);
  app.decorateRequest('credentials', null);
  const wait = async (turn: Turn, request: FastifyRequest, payload: RequestPayload) => {
    const body = hasBody(request) ? await bodies.receive(request, payload, turn) : null;
    try {
      await turn.begin();
    } finally {
      if (body !== null) bodies.forget(turn.sender, body.length);
    }
    return body === null
      ? payload
      : Object.assign(Readable.from([body]), { receivedEncodedLength: body.length });
  };
  app.addHook('preParsing', (request, reply, payload, done) => {
    const turn = new Turn(service.shares.requests, owners.senderOf(request), reply);
    const begun = (body: RequestPayload) => {
      request.turn = turn;
      reply.raw.once('close', () => turn.abandon());
      done(null, body);
    };
    // Most requests have no body and need not wait. They create neither a promise nor a signal.
    if (!hasBody(request) && turn.beginAtOnce()) begun(payload);
    else wait(turn, request, payload).then(begun, done);
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    request.turn?.end();
    owners.learn(request, reply.statusCode);
    done();
  });
}

/** Runs work without holding the request's turn: work that takes time outside the service or has its own share. */
export async function outsideTurn<T>({ turn }: FastifyRequest, work: () => Promise<T>): Promise<T> {
  if (turn === null) return work();
  turn.end();
  try {
    return await work();
  } finally {
    await turn.begin();
  }
}

/** Runs a part of the work of a request whose response has started, in its own turn. Throws RequestFailure 429. */
export async function inTurn<T>({ turn }: FastifyRequest, work: () => Promise<T>): Promise<T> {
  await turn?.begin();
  try {
    return await work();
  } finally {
    turn?.end();
  }
}

/** Aborted when the client closes the connection before it has its response. */
export function signalOf(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  const { raw } = reply;
  const leave = () => {
    if (!raw.writableFinished) left.abort(clientLeft());
  };
  if (raw.destroyed) leave();
  else raw.once('close', leave);
  return left.signal;
}

/** The turn of a request in its sender's share. */
class Turn {
  readonly sender: string;
  readonly #share: FairShare;
  readonly #reply: FastifyReply;
  #left: AbortSignal | undefined;
  #end: (() => void) | null = null;

  constructor(share: FairShare, sender: string, reply: FastifyReply) {
    this.#share = share;
    this.sender = sender;
    this.#reply = reply;
  }

  get left(): AbortSignal {
    this.#left ??= signalOf(this.#reply);
    return this.#left;
  }

  /** Starts the turn if it need not wait, and returns whether it did. */
  beginAtOnce(): boolean {
    if (!this.#reply.raw.destroyed) this.#end ??= this.#share.enterAtOnce(this.sender);
    return this.#end !== null;
  }

  /** Waits for the turn. Throws RequestFailure 429, or 499 if the client left. */
  async begin(): Promise<void> {
    if (!this.beginAtOnce()) this.#end = await this.#share.enter(this.sender, this.left);
  }

  end(): void {
    this.#end?.();
    this.#end = null;
  }

  /** Ends the turn later if the client left: the handler may still work. An answered request keeps no timer. */
  abandon(): void {
    if (this.#end !== null) setTimeout(() => this.end(), ABANDONED_MS).unref();
  }
}

/** The senders of requests by credentials, as found by earlier requests. */
class Owners {
  readonly #key = randomBytes(32).toString('hex');
  readonly #owners = new Map<string, string>();
  readonly #cookie: string;

  constructor(cookie: string) {
    this.#cookie = cookie;
  }

  senderOf(request: FastifyRequest): string {
    request.credentials = this.#digest(request);
    const owner = request.credentials === null ? undefined : this.#owners.get(request.credentials);
    return owner ?? `network ${request.network}`;
  }

  /** Remembers the owner of a request's credentials, or forgets it if they are refused. */
  learn(request: FastifyRequest, status: number): void {
    const owner =
      request.provenUser !== null
        ? `user ${request.provenUser}`
        : request.provenClient !== ''
          ? `client ${request.provenClient}`
          : null;
    const { credentials } = request;
    if (credentials === null || (owner === null && status !== 401)) return;
    this.#owners.delete(credentials);
    if (owner === null) return;
    this.#owners.set(credentials, owner);
    if (this.#owners.size <= MAX_OWNERS) return;
    const oldest = this.#owners.keys().next();
    if (!oldest.done) this.#owners.delete(oldest.value);
  }

  #digest({ headers, cookies }: FastifyRequest): string | null {
    const session = cookies?.[this.#cookie] ?? '';
    const { authorization = '' } = headers;
    if (authorization === '' && session === '') return null;
    // The key hides the length and the start of the text. The digest never leaves the process.
    return hash('sha256', JSON.stringify([this.#key, authorization, session]), 'base64');
  }
}

/** Bodies up to this size are always received, in bytes. */
const SMALL_BODY = 16 * 1024;
/** How many bytes of bodies may wait for their turn, for one sender and in total. */
const MAX_PENDING = { sender: 8 * 1024 * 1024, total: 128 * 1024 * 1024 };

/** Bodies that have arrived or are arriving, and wait for their turn to be parsed. */
class PendingBodies {
  readonly #bytes = new Map<string, number>();
  #total = 0;

  /** Receives a body. Throws RequestFailure 413, or 429 if too many large bodies of the sender wait. */
  async receive(
    request: FastifyRequest,
    payload: AsyncIterable<Buffer>,
    { sender, left }: { sender: string; left: AbortSignal },
  ): Promise<Buffer> {
    const { bodyLimit } = request.routeOptions;
    if (Number(request.headers['content-length'] ?? 0) > bodyLimit) throw tooLarge();
    const parts: Buffer[] = [];
    let length = 0;
    try {
      for await (const part of payload) {
        length += part.length;
        this.#add(sender, part.length);
        parts.push(part);
        if (length > bodyLimit) throw tooLarge();
        if (length > SMALL_BODY) this.#requireSpace(sender);
      }
      return Buffer.concat(parts);
    } catch (error) {
      this.forget(sender, length);
      left.throwIfAborted();
      throw error;
    }
  }

  forget(sender: string, bytes: number): void {
    this.#add(sender, -bytes);
  }

  #add(sender: string, bytes: number): void {
    const pending = (this.#bytes.get(sender) ?? 0) + bytes;
    if (pending === 0) this.#bytes.delete(sender);
    else this.#bytes.set(sender, pending);
    this.#total += bytes;
  }

  #requireSpace(sender: string): void {
    if ((this.#bytes.get(sender) ?? 0) <= MAX_PENDING.sender && this.#total <= MAX_PENDING.total) return;
    throw tooManyRequests('Too many large requests are waiting.', 1);
  }
}

function tooLarge(): RequestFailure {
  return new RequestFailure(413, { detail: 'The request body is too large.' });
}

/** Whether the body is read: Fastify ignores bodies of GET and HEAD. */
function hasBody({ method, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
