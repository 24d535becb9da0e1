import { createHash } from 'node:crypto';
import type { RunningService } from '../../src/server.ts';
import {
  ADMIN,
  type Answer,
  basic,
  bearer,
  Client,
  startTestService,
  type TestServiceOptions,
} from '../support/service.ts';

/** Where every application of these tests is answered. */
export const CALLBACK = 'http://127.0.0.1:9999/cb';
/** A code verifier (RFC 7636 §4.1) and its S256 challenge. */
export const VERIFIER = 'v'.repeat(64);
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

/** An application as it was registered. */
export interface Registered {
  readonly id: number;
  readonly clientId: string;
  readonly secret: string;
}

/** A pair of tokens. */
export interface Pair {
  readonly access: string;
  readonly refresh: string;
}

/** A service with the user alice, who has logged in, and with applications. */
export class AuthorizationServer {
  readonly service: RunningService;
  readonly admin: Client;
  readonly alice: Client;
  #organization = 0;
  #aliceId = 0;

  private constructor(service: RunningService) {
    this.service = service;
    this.admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    this.alice = new Client(service.url);
  }

  static async start(options: TestServiceOptions = {}): Promise<AuthorizationServer> {
    const server = new AuthorizationServer(await startTestService(options));
    server.#aliceId = (await server.admin.post('/api/v2/users/', ALICE)).json.id;
    server.#organization = (await server.admin.post('/api/v2/organizations/', { name: 'Acme' })).json.id;
    await server.admin.post(`/api/v2/organizations/${server.#organization}/users/`, { id: server.#aliceId });
    await server.alice.logIn(ALICE.username, ALICE.password);
    return server;
  }

  /** The organization of the applications. Alice is a member. */
  get organization(): number {
    return this.#organization;
  }

  get aliceId(): number {
    return this.#aliceId;
  }

  /** Registers an application: a confidential one for codes unless it is said otherwise. */
  async register(name: string, facts: Readonly<Record<string, unknown>> = {}): Promise<Registered> {
    const { json } = await this.admin.post('/api/v2/applications/', {
      name,
      organization: this.#organization,
      client_type: 'confidential',
      authorization_grant_type: 'authorization-code',
      redirect_uris: CALLBACK,
      ...facts,
    });
    return { id: json.id, clientId: String(json['client_id']), secret: String(json['client_secret']) };
  }

  /** POSTs a form as a client: with Basic authentication unless it has no secret. */
  post(path: string, form: Readonly<Record<string, string>> | string, client?: Registered): Promise<Answer> {
    const headers = client === undefined ? {} : basic(client.clientId, client.secret);
    return new Client(this.service.url).send('POST', path, { form, headers });
  }

  token(form: Readonly<Record<string, string>>, client?: Registered): Promise<Answer> {
    return this.post('/api/o/token/', form, client);
  }

  async passwordPair(client: Registered, scope = 'write'): Promise<Pair> {
    return pairOf(await this.token({ grant_type: 'password', ...ALICE_CREDENTIALS, scope }, client));
  }

  refresh(refresh: string, client: Registered, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.token({ grant_type: 'refresh_token', refresh_token: refresh, ...more }, client);
  }

  /** The status that a token gets at the API: 200 while it lives. */
  async statusOf(access: string): Promise<number> {
    return (await new Client(this.service.url, bearer(access)).get('/api/v2/me/')).status;
  }

  authorize(parameters: Readonly<Record<string, string>>, browser: Client = this.alice): Promise<Answer> {
    return browser.get(`/api/o/authorize/?${new URLSearchParams(parameters)}`);
  }

  /** Sends the consent page's form, with the hidden fields of the page and what is added. */
  answerConsent(page: Answer, more: Readonly<Record<string, string>>): Promise<Answer> {
    return this.alice.send('POST', '/api/o/authorize/', {
      form: { ...hiddenFields(page), ...more },
      headers: { origin: this.service.url },
    });
  }

  /** Lets alice allow a request, and returns where she is sent. */
  async allow(parameters: Readonly<Record<string, string>>): Promise<URL> {
    const page = await this.authorize(parameters);
    const answer = page.status === 302 ? page : await this.answerConsent(page, { allow: 'Authorize' });
    return new URL(String(answer.headers.location));
  }

  /** A code that alice allowed a client. */
  async code(client: Registered, more: Readonly<Record<string, string>> = {}): Promise<string> {
    const url = await this.allow({ ...codeRequest(client), ...more });
    return url.searchParams.get('code') ?? `none: ${url}`;
  }

  exchange(code: string, client: Registered, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.token({ grant_type: 'authorization_code', code, redirect_uri: CALLBACK, ...more }, client);
  }

  /** The same as a public client: by client_id alone. */
  exchangeAsPublic(
    code: string,
    client: Registered,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: CALLBACK,
      client_id: client.clientId,
    };
    return this.token({ ...form, ...more });
  }

  /**
   * Sends requests at the same time, once the service has opened the connections to its database that it
   * needs for that: otherwise the first would be done before the others begin.
   */
  async race(count: number, send: () => Promise<Answer>): Promise<readonly Answer[]> {
    await Promise.all(Array.from({ length: count }, () => this.admin.get('/api/v2/ping/')));
    return Promise.all(Array.from({ length: count }, send));
  }

  close(): Promise<void> {
    return this.service.close();
  }
}

const ALICE = { username: 'alice', password: 'alice’s pass+word %&' };
/** What alice's password grant sends. */
export const ALICE_CREDENTIALS = ALICE;

/** An authorization request for a code. */
export function codeRequest(client: Registered): Record<string, string> {
  return {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: CALLBACK,
    scope: 'read',
    state: 'a b&c',
  };
}

/** The tokens of a successful answer. */
export function pairOf({ status, json }: Answer): Pair {
  if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(json)}`);
  return { access: String(json['access_token']), refresh: String(json['refresh_token']) };
}

/** The hidden fields of a page's form, unescaped. */
export function hiddenFields({ text }: Answer): Record<string, string> {
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  return Object.fromEntries(
    fields.map(([, name = '', value = '']) => [unescapeHtml(name), unescapeHtml(value)]),
  );
}

function unescapeHtml(text: string): string {
  const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => characters[name] ?? '');
}
