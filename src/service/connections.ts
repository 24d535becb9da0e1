import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request may be on its way on a connection that was made just now. */
const ARRIVAL_MS = 300;

/** The connections of a server, told apart by whether something is under way on them. */
export interface Connections {
  /**
   * Closes each connection as soon as nothing is under way on it, and after `patience` milliseconds those
   * that are left as well.
   */
  drain(patience: number): void;
}

/**
 * Watches the connections of a server. A server that is closed waits for all of them, also for those that
 * browsers keep open in case they need one, and Node.js closes none that was never used.
 */
export function watchConnections(server: Server): Connections {
  const underWay = new Map<Socket, number>();
  let draining = false;
  const count = (socket: Socket, change: number) => {
    const left = (underWay.get(socket) ?? 0) + change;
    underWay.set(socket, left);
    if (draining && left === 0) socket.end();
  };
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => {
      // Under TLS the bare connection comes first; what is under way is counted on the one above it.
      if (event === 'secureConnection' || !('setSecureContext' in server)) underWay.set(socket, 0);
      socket.once('close', () => underWay.delete(socket));
    });
  }
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    count(socket, 1);
    response.once('close', () => {
      if (underWay.has(socket)) count(socket, -1);
    });
  });
  return {
    drain(patience) {
      draining = true;
      setTimeout(() => {
        for (const [socket, requests] of underWay) if (requests === 0) socket.destroy();
      }, ARRIVAL_MS).unref();
      setTimeout(() => {
        for (const socket of underWay.keys()) socket.destroy();
      }, patience).unref();
    },
  };
}
