import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy of a service that can hold back the deletion of tokens, or break connections. */
export interface Gate {
  readonly url: string;
  /** Holds back deletions from now on. */
  readonly shut: () => void;
  /** Resolves once a deletion is held back. */
  readonly holds: () => Promise<void>;
  /** Lets through what is held back, and whatever comes. */
  readonly open: () => void;
  /** Breaks every connection from now on, also those of what is held back. */
  readonly cut: () => void;
  readonly close: () => void;
}

/** Starts a gate on a free port of 127.0.0.1. */
export async function startGate(service: string): Promise<Gate> {
  let state: 'open' | 'shut' | 'cut' = 'open';
  let held: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    const pass = () => {
      const { method, url = '/', headers } = request;
      const onward = httpRequest(new URL(url, service), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    };
    if (state === 'cut') response.destroy();
    else if (state === 'open' || request.method !== 'DELETE') pass();
    else {
      held.push(pass);
      for (const resolve of waiting.splice(0)) resolve();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut() {
      state = 'shut';
    },
    holds: () =>
      held.length > 0 ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve)),
    open() {
      state = 'open';
      for (const pass of held.splice(0)) pass();
    },
    cut() {
      state = 'cut';
      held = [];
      server.closeAllConnections();
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
