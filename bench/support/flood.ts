// A worker: keeps a number of connections of this machine busy for a limited time, and says how they were answered.
import { Agent, request } from 'node:http';
import { parentPort } from 'node:worker_threads';

/** A request that is sent again and again. */
export interface FloodRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What to send: each connection takes the requests in turn. */
export interface Flood {
  readonly url: string;
  readonly requests: readonly FloodRequest[];
  readonly connections: number;
  /** The addresses of this machine to connect from, in turn. */
  readonly addresses?: readonly string[];
  /** Until when, and at most how many. */
  readonly seconds: number;
  readonly atMost?: number;
}

/** How many answers had which status; 0 counts closed connections. */
export type Flooded = Readonly<Record<number, number>>;

const LOOPBACK = /^http:\/\/127\.\d+\.\d+\.\d+:\d+$/;
const TIMEOUT_MS = 90_000;

parentPort?.on(
  'message',
  async ({ url, requests, connections, addresses = ['127.0.0.1'], seconds, atMost = 1e6 }: Flood) => {
    if (!LOOPBACK.test(url)) throw new Error(`${url} is not this machine`);
    const { hostname, port } = new URL(url);
    const statuses: Record<number, number> = {};
    const until = performance.now() + seconds * 1000;
    let sent = 0;
    const send = ({ method, path, headers = {}, body }: FloodRequest, agent: Agent) =>
      new Promise<void>((resolve) => {
        const answered = (status: number) => {
          statuses[status] = (statuses[status] ?? 0) + 1;
          resolve();
        };
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
        const all = { ...headers, ...length };
        const outgoing = request({ hostname, port, method, path, agent, headers: all, timeout: TIMEOUT_MS });
        outgoing.on('response', (incoming) => {
          incoming.resume().on('close', () => answered(incoming.complete ? (incoming.statusCode ?? 0) : 0));
        });
        outgoing.on('timeout', () => outgoing.destroy()).on('error', () => answered(0));
        outgoing.end(body);
      });
    const connection = async (_: unknown, index: number) => {
      const localAddress = addresses[index % addresses.length] ?? '127.0.0.1';
      const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress });
      while (performance.now() < until && sent < atMost) {
        const next = requests[sent++ % requests.length];
        if (next !== undefined) await send(next, agent);
      }
      agent.destroy();
    };
    await Promise.all(Array.from({ length: connections }, connection));
    parentPort?.postMessage(statuses);
  },
);
