import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { exchange } from '@tokenctl/common/network/exchange.ts';
import { openOutgoing } from '@tokenctl/common/network/outgoing.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { LogSink } from '../../operations/ports/log-sink.ts';
import { withTimeout } from '../failures.ts';

interface StreamSinkOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Null for plain TCP. For TLS, the CA certificate if the CA is not a public one. */
  readonly tls: { readonly ca: string | undefined } | null;
  readonly framing: Framing;
  /** The timeout for connecting and sending together. */
  readonly timeoutMs: number;
}

/**
 * Sends records over TCP or TLS (1.2 or later, with certificate verification). The connection is opened at
 * the first use, kept open, and reopened after an error. The protocols have no acknowledgements: records in
 * the operating system's buffers are lost if the connection breaks.
 */
export function streamSink(options: StreamSinkOptions): LogSink {
  return new StreamSink(options);
}

class StreamSink implements LogSink {
  readonly name: string;
  readonly #options: StreamSinkOptions;
  #socket: Socket | null = null;
  /** The last write. Writes are sequential. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: StreamSinkOptions) {
    this.name = options.name;
    this.#options = options;
  }

  send(records: readonly string[]): Promise<void> {
    const { framing, timeoutMs } = this.#options;
    const turn = this.#last.then(() => this.#write(framed(records, framing)));
    this.#last = turn.catch(() => undefined);
    const onTimeout = () => timedOut(this.name, timeoutMs);
    return withTimeout(turn, { timeoutMs, onTimeout }).catch((cause: unknown) => {
      this.#socket?.destroy();
      this.#socket = null;
      throw unreachable(this.name, cause);
    });
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null || socket.destroyed) return;
    const closed = once(socket, 'close');
    socket.end();
    await withTimeout(closed, {
      timeoutMs: this.#options.timeoutMs,
      onTimeout: () => new Error('late'),
    }).catch(() => socket.destroy());
  }

  async #write(bytes: Buffer): Promise<void> {
    const socket = await this.#connected();
    await orClosed(socket, (resolve, reject) => {
      socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  async #connected(): Promise<Socket> {
    if (this.#socket?.writable === true && !this.#socket.readableEnded) return this.#socket;
    this.#socket?.destroy();
    const { host, port, tls } = this.#options;
    const options = { host, port, keepAlive: true, keepAliveInitialDelay: 30_000 };
    const socket =
      tls === null
        ? connectTcp(options)
        : connectTls({
            ...options,
            ca: tls.ca,
            minVersion: 'TLSv1.2',
            ...(isIP(host) === 0 && { servername: host }),
          });
    // Stored before it is open, so that a timeout can close it.
    this.#socket = socket;
    await orClosed(socket, (resolve) => socket.once(tls === null ? 'connect' : 'secureConnect', resolve));
    // Discards incoming data, which is necessary to notice the end of the connection.
    socket.on('error', () => undefined).resume();
    return socket;
  }
}

/** Waits for an event of a connection. Rejects if the connection is closed first. */
async function orClosed(socket: Socket, work: (resolve: () => void, reject: (error: Error) => void) => void) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const closed = () => reject(Object.assign(new Error('The connection was closed'), { code: 'EPIPE' }));
  socket.once('error', reject).once('close', closed);
  work(resolve, reject);
  try {
    await promise;
  } finally {
    socket.off('error', reject).off('close', closed);
  }
}

/** How records are separated on a connection. */
type Framing = 'octets' | 'lines';

/** The bytes of records: each with its length (RFC 5425, section 4.3; RFC 6587, section 3.4.1), or one per line. */
function framed(records: readonly string[], framing: Framing): Buffer {
  if (framing === 'lines') return Buffer.from(`${records.join('\n')}\n`);
  return Buffer.from(records.map((record) => `${Buffer.byteLength(record)} ${record}`).join(''));
}

/** The maximum size of a datagram over IPv4, in bytes. */
const MAX_DATAGRAM_BYTES = 65_507;

/** Sends each record as a datagram (RFC 5426), without acknowledgement: some may be lost. */
export function datagramSink({ name, host, port }: { name: string; host: string; port: number }): LogSink {
  let socket: UdpSocket | null = null;
  return {
    name,
    async send(records) {
      try {
        const { address, family } = await lookup(host);
        socket ??= createSocket(family === 6 ? 'udp6' : 'udp4').on('error', () => undefined);
        for (const record of records) await sendOne(socket, { record, address, port, name });
      } catch (cause) {
        throw unreachable(name, cause);
      }
    },
    async close() {
      const open = socket;
      socket = null;
      if (open !== null) await new Promise<void>((resolve) => open.close(() => resolve()));
    },
  };
}

function sendOne(
  socket: UdpSocket,
  to: { readonly record: string; readonly address: string; readonly port: number; readonly name: string },
): Promise<void> {
  const bytes = Buffer.from(to.record);
  if (bytes.length > MAX_DATAGRAM_BYTES) {
    throw new TokenctlError('unsupported', `A record of ${bytes.length} bytes is too large for a datagram`, {
      hint: 'Use tcp:// or tls:// instead.',
    });
  }
  return new Promise((resolve, reject) => {
    socket.send(bytes, to.port, to.address, (error) => (error ? reject(error) : resolve()));
  });
}

interface HttpSinkOptions {
  readonly name: string;
  readonly url: URL;
  /** The media type of a body with several records, one per line. */
  readonly contentType: string;
  /** The CA certificate, if the CA is not a public one. */
  readonly ca: string | undefined;
  /** Sent as a bearer token (RFC 6750). */
  readonly token: Secret | undefined;
  readonly timeoutMs: number;
}

/** Posts several records in one request. Any 2xx status accepts them. Redirects are not followed. */
export function httpSink(options: HttpSinkOptions): LogSink {
  const { name, url, contentType, ca, token, timeoutMs } = options;
  const connect = { timeout: timeoutMs, ...(ca !== undefined && { ca }) };
  const { dispatcher: agent, answeredBy } = openOutgoing(url, { connect });
  return {
    name,
    async send(records) {
      try {
        const response = await exchange(url, {
          method: 'POST',
          body: `${records.join('\n')}\n`,
          headers: {
            'content-type': contentType,
            ...(token !== undefined && { authorization: `Bearer ${token.reveal()}` }),
          },
          dispatcher: agent,
          signal: AbortSignal.timeout(timeoutMs),
          ...{ maxBytes: 65_536, cut: true },
        });
        requireAccepted(answeredBy(name), response.status);
      } catch (cause) {
        const isTimeout = cause instanceof Error && cause.name === 'TimeoutError';
        throw isTimeout ? timedOut(name, timeoutMs) : unreachable(name, failureOf(cause));
      }
    },
    close: () => agent.destroy(),
  };
}

/** The underlying error of `fetch`, which is the cause of its own error. */
function failureOf(error: unknown): unknown {
  return error instanceof TypeError && error.cause !== undefined ? error.cause : error;
}

function requireAccepted(name: string, status: number): void {
  if (status >= 200 && status < 300) return;
  const refused = status === 401 || status === 403;
  throw new TokenctlError(
    refused ? 'permission_refused' : 'target_misbehaved',
    `${name} rejected the records with status ${status}`,
    refused ? { hint: 'Check the token in --token-file, or `token` in the configuration.' } : {},
  );
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  ENOTFOUND: 'unknown host',
  ETIMEDOUT: 'connection timed out',
  ENOSPC: 'the disk is full',
  EFBIG: 'the file has reached the maximum size',
  EDQUOT: 'the disk quota is exceeded',
};

/** The reason for an error of the operating system: a text, or its code. */
export function reasonOf(cause: unknown): string {
  const code = codeOf(cause) ?? 'unknown reason';
  return reasons[code] ?? code;
}

function unreachable(name: string, cause: unknown): TokenctlError {
  if (cause instanceof TokenctlError) return cause;
  return new TokenctlError('target_unreachable', `Could not send records to ${name}: ${reasonOf(cause)}`, {
    hint: 'Check the address, the port and the certificate, and that the sink is running.',
    cause,
  });
}

export function timedOut(name: string, timeoutMs: number): TokenctlError {
  return new TokenctlError(
    'target_unreachable',
    `${name} did not accept the records within ${timeoutMs / 1000} s`,
    { hint: 'Check that the sink is running and not overloaded, and export again.' },
  );
}
