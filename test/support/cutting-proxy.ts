import net from 'node:net';
import { onTestFinished } from 'vitest';

/** A way to a server, until the test has finished. */
export interface CuttingProxy {
  readonly port: number;
  /** How many connections were cut. */
  cuts(): number;
}

/**
 * Listens on the address of a server, and cuts each connection after this many bytes of its answers, as a network that fails in
 * the middle of a message.
 */
export async function cuttingProxy(
  server: { readonly host: string; readonly port: number },
  bytes: number,
): Promise<CuttingProxy> {
  let cuts = 0;
  const proxy = net.createServer((socket) => {
    let left = bytes;
    const behind = net.connect(server.port, server.host);
    socket
      .on('error', () => undefined)
      .on('close', () => behind.destroy())
      .pipe(behind)
      .on('error', () => undefined);
    behind.on('data', (data: Buffer) => {
      if (left < 0) return;
      left -= data.length;
      socket.write(left < 0 ? data.subarray(0, data.length + left) : data);
      if (left >= 0) return;
      cuts += 1;
      socket.destroySoon();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, server.host, resolve));
  onTestFinished(() => void proxy.close());
  return { port: (proxy.address() as net.AddressInfo).port, cuts: () => cuts };
}
