import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { until } from '@tokenctl/testing/until.ts';
import { onTestFinished } from 'vitest';

/** A collector on a free port of this machine, closed with the test. */
export interface Receiver {
  readonly port: number;
  /** All that came, in the order of arrival. */
  text(): string;
  /** Breaks all connections. */
  drop(): void;
  /** Waits until something holds of what came. */
  until(holds: (text: string) => boolean): Promise<void>;
}

/** Takes whatever comes over TCP, or TLS where options for that are given. */
export async function receiver(tls?: TlsOptions, port = 0): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let received = Buffer.alloc(0);
  const take = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
  };
  const server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  await listening(server, port);
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    drop();
    server.close();
  });
  const text = () => received.toString('utf8');
  return {
    port: (server.address() as AddressInfo).port,
    text,
    drop,
    async until(holds) {
      await until(text, holds);
    },
  };
}

/** Accepts connections and never answers; `connected` resolves with the first. */
export async function silence(): Promise<{ readonly port: number; readonly connected: Promise<void> }> {
  const sockets = new Set<Socket>();
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket.on('error', () => undefined));
    resolve();
  });
  await listening(server, 0);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connected };
}

/** Answers every request with a status, and tells the bodies. */
export async function webServer(status: () => number) {
  const requests: {
    readonly body: string;
    readonly authorization: string | undefined;
    readonly headers: IncomingHttpHeaders;
  }[] = [];
  const server = createHttpServer((request, answer) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      requests.push({ body, authorization: request.headers.authorization, headers: request.headers });
      answer.writeHead(status()).end();
    });
  });
  await listening(server, 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

/** A port without a listener. */
export async function deadPort(): Promise<number> {
  const server = createServer();
  await listening(server, 0);
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The messages of a stream in octet counting; throws where the counting does not hold. */
export function messagesIn(text: string): string[] {
  const messages: string[] = [];
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    const space = rest.indexOf(' ');
    const digits = rest.subarray(0, space).toString();
    if (!/^[1-9]\d*$/.test(digits)) throw new Error(`No length: ${digits}`);
    const end = space + 1 + Number(digits);
    if (end > rest.length) throw new Error('A message was cut short');
    messages.push(rest.subarray(space + 1, end).toString());
    rest = rest.subarray(end);
  }
  return messages;
}

async function listening(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
