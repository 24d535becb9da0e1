import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '@tokenctl/common/secret.ts';
import { onTestFinished } from 'vitest';
import { ProviderClient } from '../../src/directories/provider-client.ts';

/** What a provider answers; `cut` closes the connection in the middle of the body. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly cut?: boolean;
}

/** A request as a provider gets it. */
export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly form: URLSearchParams;
}

/** A server that answers as a provider's documentation says. */
export async function providerServer(answer: (asked: Asked) => Answer) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
      const { method = '', headers } = request;
      const each = { method, url, headers, form: new URLSearchParams(body) };
      asked.push(each);
      const { status = 200, headers: more = {}, body: content = {}, cut = false } = answer(each);
      response.writeHead(status, { 'content-type': 'application/json', ...more });
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      if (cut) response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
      else response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(stop);
  const client = (path = '', token = 'Bearer t') => {
    const made = new ProviderClient({
      name: 'The provider',
      url: new URL(path, url),
      authorization: () => Promise.resolve(new Secret(token)),
      pauses: [1, 1],
    });
    onTestFinished(() => made.close());
    return made;
  };
  return { url, asked, client, stop };
}
