import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A relay between a client and a PostgreSQL server, that can fail as a network does. */
export interface PostgresProxy extends AsyncDisposable {
  /** The server's URL, by way of the relay. */
  readonly url: string;
  /** Passes nothing on any more, in either direction, without a word. */
  silence(): void;
  /** What clients sent since, which was not passed on. */
  unheard(): string;
  /** Lets new connections through again; the silent ones stay so. */
  restore(): void;
  /** Passes the next COMMIT on, and cuts the client off before the answer. */
  cutAfterCommit(): void;
  /** Leads new connections to another server, and cuts the others, as an address does that moves to another machine. */
  redirect(serverUrl: string): void;
}

export async function startProxy(serverUrl: string): Promise<PostgresProxy> {
  let target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isSilent = false;
  let unheard = '';
  let isCutting = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    let isStuck = isSilent;
    const pass = (to: Socket, chunk: Buffer) => {
      isStuck ||= isSilent;
      if (!isStuck) to.write(chunk);
    };
    client.on('data', (chunk) => {
      if (isSilent) unheard += chunk.toString('latin1');
      if (isCutting && chunk.includes('COMMIT\0')) {
        isCutting = false;
        upstream.write(chunk);
        client.destroy();
        return;
      }
      pass(upstream, chunk);
    });
    upstream.on('data', (chunk) => pass(client, chunk));
    client.on('end', () => upstream.end());
    upstream.on('end', () => client.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(serverUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    silence() {
      isSilent = true;
      unheard = '';
    },
    unheard: () => unheard,
    restore() {
      isSilent = false;
    },
    cutAfterCommit() {
      isCutting = true;
    },
    redirect(other) {
      target = new URL(other);
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
