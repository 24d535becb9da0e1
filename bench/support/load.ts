// A worker: sends the same requests again and again on a number of connections, and says how long it took.
import { connect, type Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** What to send: each text is a whole HTTP request, sent on one connection, one after the other. */
export interface Load {
  readonly url: string;
  readonly requests: readonly string[];
  readonly connections: number;
  /** What every answer begins with. */
  readonly expected: string;
}

/** One answer with a Content-Length, which all that are measured have. */
function answerLength(buffered: string): number {
  const end = buffered.indexOf('\r\n\r\n');
  if (end < 0) return 0;
  const length = /\r\ncontent-length: (\d+)/i.exec(buffered.slice(0, end + 2))?.[1];
  const total = end + 4 + Number(length ?? 0);
  return buffered.length < total ? 0 : total;
}

function drive(socket: Socket, waiting: Iterator<string>, expected: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let buffered = '';
    const next = () => {
      const { done, value } = waiting.next();
      if (done) socket.end(() => resolve());
      else socket.write(value);
    };
    socket.setNoDelay().setEncoding('latin1').on('error', reject);
    socket.on('data', (part: string) => {
      buffered += part;
      const length = answerLength(buffered);
      if (length === 0) return;
      if (!buffered.startsWith(expected)) return reject(new Error(buffered.slice(0, 500)));
      buffered = buffered.slice(length);
      next();
    });
    next();
  });
}

parentPort?.on('message', async ({ url, requests, connections, expected }: Load) => {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(Number(port), hostname, () => resolve(socket)).once('error', reject);
        }),
    ),
  );
  const waiting = requests.values();
  const started = performance.now();
  try {
    await Promise.all(sockets.map((socket) => drive(socket, waiting, expected)));
    parentPort?.postMessage(performance.now() - started);
  } catch (error) {
    parentPort?.postMessage(String(error));
  }
});
