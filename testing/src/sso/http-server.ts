import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on loopback, for as long as a test needs it. */
export interface LoopbackServer {
  /** Its base URL, without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a server on a free port; who answers is made once its URL is known. */
export async function listenOnLoopback(answer: (url: string) => RequestListener): Promise<LoopbackServer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('request', answer(url));
  return { url, close: () => closeServer(server) };
}

/** The fields of a form that was posted. */
export async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part;
  return new URLSearchParams(body);
}

/** A page of a provider that asks who logs in, as people see it. */
export function accountPage(provider: string, hidden: Readonly<Record<string, string>> = {}): string {
  const fields = Object.entries(hidden).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${value.replaceAll('"', '&quot;')}">`,
  );
  return `<!doctype html><html lang="en"><title>${provider}</title><h1>${provider}</h1>
<form method="post">${fields.join('')}<label>Account <input name="account"></label><button>Continue</button></form>`;
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
