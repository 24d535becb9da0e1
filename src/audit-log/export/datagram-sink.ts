import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { TokenctlError } from '../../domain/errors.ts';
import type { LogSink } from '../../operations/ports/log-sink.ts';
import { unreachable } from './sink-failure.ts';

/** The most that a datagram holds over IPv4, in bytes. */
const LARGEST = 65_507;

/**
 * Sends a datagram for each record (RFC 5426). Nobody tells whether one arrived: use it where a lost record does
 * not matter.
 */
export function datagramSink({
  name,
  host,
  port,
}: {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}): LogSink {
  let socket: Socket | null = null;
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
  socket: Socket,
  to: { readonly record: string; readonly address: string; readonly port: number; readonly name: string },
): Promise<void> {
  const bytes = Buffer.from(to.record);
  if (bytes.length > LARGEST) {
    throw new TokenctlError('unsupported', `A record of ${bytes.length} bytes is too large for a datagram`, {
      hint: 'Use tcp:// or tls:// instead.',
    });
  }
  return new Promise((resolve, reject) => {
    socket.send(bytes, to.port, to.address, (error) => (error ? reject(error) : resolve()));
  });
}
