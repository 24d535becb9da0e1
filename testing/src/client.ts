import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

/** A JSON body, with the names that many answers have. */
export interface Body {
  readonly [name: string]: unknown;
  readonly id: number;
  readonly count: number;
  readonly detail: string;
  readonly results: readonly Body[];
  readonly token: string;
  readonly username: string;
}

/** An answer as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The `Set-Cookie` headers, each whole. */
  readonly cookies: readonly string[];
  readonly text: string;
  /** The body as JSON. Throws where it is none. */
  readonly json: Body;
}

/** What is sent along with a request. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>> | string;
  readonly raw?: string;
}

/** The header of Basic authentication (RFC 7617). */
export function basic(username: string, password: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/** The header of a bearer token (RFC 6750). */
export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** Talks to a service over HTTP: sends the same headers with every request, and keeps cookies as a browser does. */
export class Client {
  readonly cookies = new Map<string, string>();
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(base: string, headers: Readonly<Record<string, string>> = {}) {
    this.#base = base;
    this.#headers = headers;
  }

  get = (path: string, sent?: Sent) => this.send('GET', path, sent);
  post = (path: string, json: unknown = {}) => this.send('POST', path, { json });
  patch = (path: string, json: unknown) => this.send('PATCH', path, { json });
  put = (path: string, json: unknown) => this.send('PUT', path, { json });
  delete = (path: string) => this.send('DELETE', path);

  /** Sends a request and follows no redirect. */
  async send(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const [type, body] = encode(sent);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = {
      ...(cookie !== '' && { cookie }),
      ...(type !== undefined && { 'content-type': type }),
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      ...this.#headers,
      ...sent.headers,
    };
    const answer = await exchange(this.#base, { method, path, headers, body });
    for (const cookie of answer.cookies) this.#keep(cookie);
    return answer;
  }

  /** Logs in as the login page (at `path`) does: fetches the CSRF token, sends the form with it. */
  async logIn(
    username: string,
    password: string,
    { path = '/api/login/', ...more }: Sent & { path?: string } = {},
  ): Promise<Answer> {
    await this.get(path);
    const token = this.cookies.get('csrftoken') ?? '';
    return this.send('POST', path, {
      form: { username, password },
      headers: { 'x-csrftoken': token, referer: `${this.#base}${path}` },
      ...more,
    });
  }

  #keep(header: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
    if (/; Max-Age=0/i.test(header)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

function encode({ json, form, raw }: Sent): [type: string | undefined, body: string | undefined] {
  if (json !== undefined) return ['application/json', JSON.stringify(json)];
  if (form === undefined) return [undefined, raw];
  const text = typeof form === 'string' ? form : new URLSearchParams(form).toString();
  return ['application/x-www-form-urlencoded', text];
}

function exchange(
  base: string,
  sent: { method: string; path: string; headers: Record<string, string>; body: string | undefined },
): Promise<Answer> {
  const { method, path, headers, body } = sent;
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ hostname, port, method, path, headers }, async (incoming) => {
      let text = '';
      for await (const part of incoming.setEncoding('utf8')) text += part;
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        cookies: incoming.headers['set-cookie'] ?? [],
        text,
        get json() {
          return JSON.parse(text) as Body;
        },
      });
    });
    outgoing.on('error', reject).end(body);
  });
}
