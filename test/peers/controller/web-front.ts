import { readFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

const BUILT = fileURLToPath(new URL('../../../dist/web/', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
};
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'";

/** A server that puts the built web interface in front of a controller: one origin for both. */
export interface WebFront extends AsyncDisposable {
  readonly url: string;
}

/** Starts a front of the controller at `controller` on a free port of the loopback interface. */
export async function startWebFront(controller: string): Promise<WebFront> {
  const server = createServer((request, response) => {
    const answer = isApi(request.url ?? '/')
      ? pass(controller, request, response)
      : sendFile(request, response);
    answer.catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function isApi(path: string): boolean {
  return /^\/(api|sso|static)\//.test(path);
}

/** With the Host of the browser, which the controller compares with the Origin. */
async function pass(controller: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, headers, url = '/' } = request;
  const onward = httpRequest(new URL(url, controller), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}

/** A built file, or the page for every address of the interface. */
async function sendFile(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, asset] = /^\/(assets\/[\w.-]+|favicon\.svg)$/.exec(request.url ?? '/') ?? [];
  const name = asset ?? 'index.html';
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  response.writeHead(200, {
    'Content-Type': type,
    ...(asset === undefined && { 'Content-Security-Policy': POLICY }),
  });
  response.end(await readFile(`${BUILT}${name}`));
}
