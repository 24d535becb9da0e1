import { createServer as createPlainServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as a server of secrets gets it. */
export interface StoreRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly message: IncomingMessage;
}

/** Its answer; without a body, as for 204, nothing is sent. */
export interface StoreAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a test has happen to a request. `cut before`: the connection ends before the server does anything; `cut after`: once it has. */
export type Incident = StoreAnswer | 'cut before' | 'cut after' | 'cut within' | undefined;

/** A server on a free port of this machine, until the test has finished. */
export async function storeServer(
  answer: (request: StoreRequest) => StoreAnswer,
  { tls }: { tls?: ServerOptions | undefined } = {},
) {
  const asked: StoreRequest[] = [];
  const at = {
    asked,
    url: new URL('http://127.0.0.1'),
    /** What happens to the next requests, in place of their answer. */
    incident: (_request: StoreRequest): Incident => undefined,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const listener: RequestListener = (message, response) => {
    let body = '';
    message.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    message.on('end', () => {
      const { method = '', headers } = message;
      const request = { method, url: new URL(message.url ?? '/', at.url), headers, body, message };
      asked.push(request);
      const incident = at.incident(request);
      if (incident === 'cut before') return message.socket.destroy();
      const isAnswer = typeof incident === 'object';
      const { status, body: content, headers: more = {} } = isAnswer ? incident : answer(request);
      if (incident === 'cut after') return message.socket.destroy();
      response.writeHead(status, { 'content-type': 'application/json', ...more });
      if (content === undefined) return response.end();
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      if (incident !== 'cut within') return response.end(text);
      return response.write(text.slice(0, text.length / 2), () => message.socket.destroy());
    });
  };
  const server = tls === undefined ? createPlainServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  at.url = new URL(`${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`);
  onTestFinished(at.stop);
  return at;
}
