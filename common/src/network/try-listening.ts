import { createServer } from 'node:net';

/** Listens on an address for a moment, before a slow start. Throws the system's error, such as EADDRINUSE. */
export async function tryListening({ host, port }: { host: string; port: number }): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port }, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}
