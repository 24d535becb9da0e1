import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { tryListening } from '@tokenctl/common/network/try-listening.ts';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Logger } from 'pino';
import {
  isTrustedProxy,
  limitRequests,
  RETRY_AFTER_S,
  RefusedRequests,
  serverLimits,
} from './request-limits.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** A socket opened by the service manager, instead of host and port. */
  readonly fd?: number | undefined;
  /** The setting of the port, for messages: `signals.port`. */
  readonly setting: string;
}

interface ListenerOptions {
  /** The maximum size of a body, in bytes. */
  readonly bodyLimit: number;
  /** The accepted content types, which are read as text. */
  readonly types: readonly string[];
  readonly log: Logger;
  /** Answers a refused request. */
  readonly refuse: (reply: FastifyReply, status: number, description: string) => FastifyReply;
  /** Whether the program can currently do its work. */
  readonly isReady: () => Promise<boolean>;
  /** The delay of requests from a network with too many refused ones, in milliseconds; 0 by default. */
  readonly slowedMs?: number;
}

/** How long a result of /readyz is cached, in milliseconds: anyone who reaches the port may request it. */
const READY_AGE_MS = 1_000;
/** The statuses that count as refused requests of unknown senders. */
const COUNTED: Readonly<Record<number, true>> = { 400: true, 401: true, 413: true, 415: true };

/** A server with limits for all senders, with `/healthz` and `/readyz`; and the refused requests of each network. */
export function newListener(options: ListenerOptions): {
  readonly app: FastifyInstance;
  readonly refused: RefusedRequests;
} {
  const { bodyLimit, types, log, refuse, isReady, slowedMs = 0 } = options;
  const app = fastify({
    bodyLimit,
    ...serverLimits,
    trustProxy: isTrustedProxy,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 100 },
  });
  limitRequests(app, refuse);
  const refused = new RefusedRequests();
  // Before the body is read, and before the request counts as in flight: meanwhile it costs others nothing.
  if (slowedMs > 0)
    app.addHook('onRequest', async (request) => {
      if (request.method === 'POST' && refused.blocks(request)) await sleep(slowedMs);
    });
  // Requests are verified even if their network is blocked, because valid ones may come from behind the same
  // proxy. Refusals are then neither logged nor explained.
  app.addHook('onResponse', async (request, reply) => {
    if (reply.statusCode in COUNTED) refused.count(request);
  });
  app.removeAllContentTypeParsers();
  for (const type of types)
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error: { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) log.error({ err: error, path: request.routeOptions.url }, 'internal error');
    const known: Readonly<Record<number, string>> = {
      413: 'The request is too large',
      415: 'The content type is not supported',
    };
    return refuse(
      reply,
      status,
      known[status] ?? (status < 500 ? 'The request is invalid' : 'Internal error'),
    );
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'There is nothing at this address'));
  app.get('/healthz', async (_request, reply) => reply.send({ status: 'ok' }));
  const notReady = (error: unknown) => {
    log.error({ reason: String(error) }, 'not ready');
    return false;
  };
  let looked = { at: Number.NEGATIVE_INFINITY, ready: Promise.resolve(false) };
  app.get('/readyz', async (_request, reply) => {
    const now = performance.now();
    if (now - looked.at > READY_AGE_MS) looked = { at: now, ready: isReady().catch(notReady) };
    const ready = await looked.ready;
    return reply.code(ready ? 200 : 503).send({ ready });
  });
  return { app, refused };
}

/** Starts listening. Throws TokenctlError `usage` if the port is in use or the address is not available. */
export async function listen(
  app: FastifyInstance,
  address: ListenAddress,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { host, port, fd } = address;
  try {
    const url = await (fd === undefined ? app.listen({ host, port }) : app.listen({ fd } as never));
    return { url, close: () => app.close() };
  } catch (cause) {
    await app.close();
    throw failure(address, cause);
  }
}

/** Listens for a moment, before a slow start. Throws as {@link listen}. */
export async function requireFree(address: ListenAddress): Promise<void> {
  if (address.fd !== undefined) return;
  await tryListening(address).catch((cause: unknown) => {
    throw failure(address, cause);
  });
}

function failure({ host, port, fd, setting }: ListenAddress, cause: unknown): TokenctlError {
  const code = codeOf(cause) ?? 'unknown error';
  const where = fd === undefined ? `${host}:${port}` : `socket ${fd}`;
  return new TokenctlError('usage', `Cannot listen on ${where}: ${code}`, {
    hint: `Choose another port with ${setting}.`,
    cause,
  });
}

/** The first socket that systemd passes on (sd_listen_fds(3)). */
const FIRST_SOCKET = 3;

/** The socket that systemd opened for this process, if it did. */
export function socketOf(environment: Readonly<Record<string, string | undefined>>): number | undefined {
  const { LISTEN_PID: pid, LISTEN_FDS: count } = environment;
  return Number(pid) === process.pid && Number(count) >= 1 ? FIRST_SOCKET : undefined;
}

export function isType(request: FastifyRequest, type: string): boolean {
  return request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === type;
}

/** Asks the sender to retry later. */
export function tooMany(reply: FastifyReply, refuse: ListenerOptions['refuse']): FastifyReply {
  reply.header('Retry-After', String(RETRY_AFTER_S));
  return refuse(reply, 429, 'Too many requests of this address were refused');
}
