import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { LogSink } from '../../operations/ports/log-sink.ts';
import { withTimeout } from '../timeout.ts';
import { type Framing, framed } from './framing.ts';
import { tooLate, unreachable } from './sink-failure.ts';

/** The other end of a connection. */
export interface StreamSinkOptions {
  /** What it is called in messages. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Null for a connection in clear text; for TLS the authority that signed the certificate, where it is not a public one. */
  readonly tls: { readonly ca: string | undefined } | null;
  readonly framing: Framing;
  /** How long connecting and handing over may take together, in milliseconds. */
  readonly patience: number;
}

/**
 * Sends records over TCP or TLS (1.2 or later, the certificate verified). The connection is opened at the first
 * use, kept, and opened anew after it broke. The protocols acknowledge nothing: records that were handed to the
 * operating system when a connection breaks may be lost.
 */
export function streamSink(options: StreamSinkOptions): LogSink {
  return new StreamSink(options);
}

class StreamSink implements LogSink {
  readonly name: string;
  readonly #options: StreamSinkOptions;
  #socket: Socket | null = null;
  /** Writes of one connection follow each other. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: StreamSinkOptions) {
    this.name = options.name;
    this.#options = options;
  }

  send(records: readonly string[]): Promise<void> {
    const { framing, patience } = this.#options;
    const turn = this.#last.then(() => this.#write(framed(records, framing)));
    this.#last = turn.catch(() => undefined);
    const late = () => tooLate(this.name, patience);
    return withTimeout(turn, { timeoutMs: patience, onTimeout: late }).catch((cause: unknown) => {
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
      timeoutMs: this.#options.patience,
      onTimeout: () => new Error('late'),
    }).catch(() => socket.destroy());
  }

  async #write(bytes: Buffer): Promise<void> {
    const socket = await this.#connected();
    await unlessClosed(socket, (resolve, reject) => {
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
    // Kept before it is open, so that whoever loses patience can end it.
    this.#socket = socket;
    await unlessClosed(socket, (resolve) => socket.once(tls === null ? 'connect' : 'secureConnect', resolve));
    // What the other end says is not read into memory; that it ended is noticed.
    socket.on('error', () => undefined).resume();
    return socket;
  }
}

/** Waits for something that a connection does; where it is closed before, also by us, it fails. */
async function unlessClosed(
  socket: Socket,
  work: (resolve: () => void, reject: (error: Error) => void) => void,
): Promise<void> {
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
