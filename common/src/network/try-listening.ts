import { createServer } from 'node:net';

/**
 * Listens at an address for a moment, before a start that takes long.
 * @throws The error of the system, such as EADDRINUSE. Another process can take the port afterwards.
 */
export async function tryListening({ host, port }: { host: string; port: number }): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port }, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}
