import { readFileSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isFromProduct } from '@tokenctl/common/product.ts';
import { Agent, request } from 'undici';
import type { RestContext } from '../../src/config/schema.ts';

const REQUEST_TIMEOUT_MS = 60_000;

/** An answer: its status, its headers, and its body as JSON where it is some. */
export interface Answer {
  readonly status: number;
  readonly location: string | null;
  /** Whether a controller says that it is one; the bundled service does not. */
  readonly isController: boolean;
  readonly cookies: ReadonlyMap<string, string>;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Whose credential a request carries; null for none. */
export type As =
  | { readonly user: string; readonly password: string }
  | { readonly token: string }
  | { readonly cookie: string; readonly csrf: string }
  | null;

/** How a request is made; the body is sent as JSON, a form as a form. */
export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests to an installation as its users do, not as tokenctl does. Follows no redirect. */
export class Requests {
  /** The address, with its path and without a slash at its end. */
  readonly url: string;
  readonly #agent: Agent;

  constructor({ url, caFile, verifyTls = true }: RestContext) {
    this.url = url.replace(/\/+$/, '');
    this.#agent = new Agent({
      connect: { rejectUnauthorized: verifyTls, ...(caFile !== undefined && { ca: textOf(caFile) }) },
    });
  }

  /** Sends a request to a path of this address, or to an address. */
  async send(path: string, as: As, options: RequestOptions = {}): Promise<Answer> {
    const { body, form, headers = {} } = options;
    const sent = form === undefined ? body : new URLSearchParams(form).toString();
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const answer = await request(path.startsWith('http') ? path : `${this.url}${path}`, {
      method: options.method ?? (sent === undefined ? 'GET' : 'POST'),
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      headers: { 'content-type': type, referer: `${this.url}/`, ...credential(as), ...headers },
      ...(sent !== undefined && { body: typeof sent === 'string' ? sent : JSON.stringify(sent) }),
    });
    const text = await answer.body.text();
    const { location, 'set-cookie': cookies = [] } = answer.headers;
    return {
      status: answer.statusCode,
      location: typeof location === 'string' ? location : null,
      isController: isFromProduct(answer.headers),
      cookies: new Map([cookies].flat().map(cookieOf)),
      text,
      body: asJson(text),
    };
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}

function textOf(caFile: string): string {
  try {
    return readFileSync(caFile, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError('configuration', `The certificate ${caFile} cannot be read (${code}).`, {
      cause,
    });
  }
}

/** Cookies as a browser sends them. */
export function cookieHeader(cookies: ReadonlyMap<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

/** The answer, if it has one of these statuses. Throws with what was answered otherwise. */
export function expectStatus(answer: Answer, ...statuses: readonly number[]): Answer {
  if (statuses.includes(answer.status)) return answer;
  throw new Error(`${answer.status} instead of ${statuses.join(' or ')}: ${answer.text.slice(0, 300)}`);
}

function credential(as: As): Readonly<Record<string, string>> {
  if (as === null) return {};
  if ('cookie' in as) return { cookie: as.cookie, 'x-csrftoken': as.csrf };
  if ('token' in as) return { authorization: `Bearer ${as.token}` };
  return { authorization: `Basic ${Buffer.from(`${as.user}:${as.password}`).toString('base64')}` };
}

function cookieOf(line: string): [string, string] {
  const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s, 2);
  return [name, value];
}

function asJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
