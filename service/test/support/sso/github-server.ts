import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  accountPage,
  formOf,
  type LoopbackServer,
  listenOnLoopback,
} from '@tokenctl/testing/sso/http-server.ts';

/** An account at GitHub, as far as the API tells of it. */
export interface GithubAccount {
  readonly id: number;
  readonly name: string | null;
  readonly emails: readonly {
    readonly email: string;
    readonly verified: boolean;
    readonly primary: boolean;
  }[];
  /** Organizations, with the state of the membership. */
  readonly organizations: Readonly<Record<string, 'active' | 'pending'>>;
  readonly teams: readonly { readonly id: number; readonly slug: string; readonly organization: string }[];
  /** Ids of organizations with a login of their own that the app has no part in: their teams are left out. */
  readonly hidden?: string;
}

/** A client as it is registered. */
interface Registered {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

type Accounts = Readonly<Record<string, GithubAccount>>;
type Answer = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>];

/** What the API of GitHub tells of an account, by path. */
const API: Readonly<Record<string, (login: string, account: GithubAccount) => unknown>> = {
  '/api/v3/user': (login, { id, name }) => ({ id, login, name, email: 'public@example.net' }),
  '/api/v3/user/emails': (_login, { emails }) => emails,
  '/api/v3/user/memberships/orgs': (_login, { organizations }) =>
    Object.entries(organizations).map(([name, state]) => ({ state, organization: { login: name } })),
  '/api/v3/user/teams': (_login, { teams }) =>
    teams.map(({ organization, ...team }) => ({ ...team, organization: { login: organization } })),
};

/** The authorization server of GitHub: codes for users, and access tokens for codes. */
class Authorizations {
  readonly #registered: Registered;
  readonly #codes = new Map<string, { readonly login: string; readonly challenge: string }>();
  readonly #tokens = new Map<string, string>();

  constructor(registered: Registered) {
    this.#registered = registered;
  }

  /** Whether a request for authorization is one of the registered client. */
  knows(query: URLSearchParams): boolean {
    const { clientId, redirectUri } = this.#registered;
    return query.get('client_id') === clientId && query.get('redirect_uri') === redirectUri;
  }

  /** Where a user is sent back to, with a code or an error. */
  authorize({ origin, searchParams: query }: URL, login: string | null): string {
    const back = new URL(this.#registered.redirectUri);
    back.searchParams.set('iss', `${origin}/login/oauth`);
    back.searchParams.set('state', query.get('state') ?? '');
    if (login === null) back.searchParams.set('error', 'access_denied');
    else {
      const code = randomUUID();
      this.#codes.set(code, { login, challenge: query.get('code_challenge') ?? '' });
      back.searchParams.set('code', code);
    }
    return back.href;
  }

  /** An access token for a code. GitHub says what is wrong with status 200. */
  token(form: URLSearchParams): Answer {
    const code = this.#codes.get(form.get('code') ?? '');
    this.#codes.delete(form.get('code') ?? '');
    if (form.get('client_secret') !== this.#registered.clientSecret) {
      return [200, refusal('incorrect_client_credentials')];
    }
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (code === undefined || code.challenge !== verifier) return [200, refusal('bad_verification_code')];
    const token = `gho_${randomUUID()}`;
    this.#tokens.set(token, code.login);
    return [200, { access_token: token, token_type: 'bearer', scope: 'read:org,read:user,user:email' }];
  }

  /** Whose token an Authorization header holds. */
  loginOf(header: string | undefined): string | undefined {
    return this.#tokens.get((header ?? '').replace(/^bearer /i, ''));
  }
}

/** An error in the form of GitHub's token endpoint. */
function refusal(error: string): object {
  return { error, error_description: 'Some words.', error_uri: 'https://docs.example/errors' };
}

/** What the API answers to a path, for whoever the token belongs to. */
function apiAnswer(
  url: URL,
  of: { readonly login: string | undefined; readonly accounts: Accounts },
): Answer {
  const { login = '', accounts } = of;
  const account = accounts[login];
  if (account === undefined) return [401, { message: 'Bad credentials' }];
  const told = API[url.pathname]?.(login, account);
  if (told === undefined) return [404, { message: 'Not Found' }];
  if (!Array.isArray(told)) return [200, told];
  const size = Number(url.searchParams.get('per_page'));
  const end = Number(url.searchParams.get('page') ?? '1') * size;
  const sso = `partial-results; organizations=${account.hidden}`;
  const headers: Record<string, string> = account.hidden === undefined ? {} : { 'x-github-sso': sso };
  return [200, told.slice(end - size, end), headers];
}

/** What the server answers instead, by path: with status and headers, and no JSON. */
export type GithubTroubles = Map<
  string,
  { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
>;

/** Starts a server with the endpoints of GitHub that a login needs, and a page that asks for the account. */
export function startGithub(
  registered: Registered,
  accounts: Accounts,
  troubles: GithubTroubles = new Map(),
): Promise<LoopbackServer> {
  const authorizations = new Authorizations(registered);
  const authorize = async (request: IncomingMessage, response: ServerResponse, url: URL) => {
    if (!authorizations.knows(url.searchParams)) return void response.writeHead(400).end();
    if (request.method === 'GET') {
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(accountPage('GitHub'));
    }
    const login = (await formOf(request)).get('account') ?? '';
    const location = authorizations.authorize(url, login in accounts ? login : null);
    response.writeHead(302, { location }).end();
  };
  return listenOnLoopback((base) => async (request, response) => {
    const url = new URL(request.url ?? '', base);
    const trouble = troubles.get(url.pathname);
    if (trouble !== undefined) {
      return void response.writeHead(trouble.status, trouble.headers).end('<title>Unicorn!</title>');
    }
    if (url.pathname === '/login/oauth/authorize') return authorize(request, response, url);
    const login = authorizations.loginOf(request.headers.authorization);
    const [status, body, headers] =
      url.pathname === '/login/oauth/access_token'
        ? authorizations.token(await formOf(request))
        : apiAnswer(url, { login, accounts });
    response
      .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
      .end(JSON.stringify(body));
  });
}
