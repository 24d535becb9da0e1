import type { Answer, Peer, PeerApplication } from './peer.ts';

/** One way in each; of a user who may not have one (a deactivated user), the value is null. */
export interface Access {
  readonly user: string;
  readonly personal: string | null;
  readonly application: string | null;
  readonly refresh: string | null;
  readonly code: string | null;
  readonly cookie: string | null;
}

/** The ways in that are tried. */
export type WayIn =
  | 'personal'
  | 'application'
  | 'refresh'
  | 'code'
  | 'session'
  | 'basic'
  | 'password'
  | 'login';

/** The HTTP status that a way in was answered with; null: there was no credential to try. */
export type Tried = Readonly<Record<WayIn, number | null>>;

const REDIRECT_URI = 'https://x.org/cb';

/** Makes a user of the fill's kind, a member of no organization, with the password NAMEpw; returns the id. */
export async function makeUser(peer: Peer, name: string, fields: object = {}): Promise<number> {
  const body = { username: name, password: `${name}pw`, email: `${name}@x.org`, ...fields };
  const { id } = expectStatus(
    await peer.request(`${peer.api}users/`, { token: peer.fill.admintoken }, { body }),
    201,
  ).body;
  return Number(id);
}

/** Gets a credential of every kind for a user, as the user would: tokens, an authorization code, a session. */
export async function makeAccess(peer: Peer, user: string): Promise<Access> {
  const pair = await passwordGrant(peer, user, 'AppPwConf');
  const application = textOf(pair.body['access_token']);
  // With a password the answer would take as long as hashing it does.
  const personal =
    application === null
      ? null
      : await peer.request(
          `${peer.api}tokens/`,
          { token: application },
          { body: { scope: 'write', description: 'every way in' } },
        );
  const cookie = await login(peer, user);
  return {
    user,
    personal: textOf(personal?.body['token']),
    application,
    refresh: textOf(pair.body['refresh_token']),
    code: cookie === null ? null : await authorize(peer, cookie),
    cookie,
  };
}

/**
 * Tries every way in, and gives each one's status. A refresh and a code are used up by it, and may leave new tokens
 * behind: compare tables first. A bearer token's `last_used` is overwritten.
 */
export async function tryAccess(peer: Peer, access: Access): Promise<Tried> {
  const { user, personal, application, refresh, code, cookie } = access;
  const me = async (as: Parameters<Peer['request']>[1], headers = {}): Promise<number> =>
    (await peer.request(`${peer.api}me/`, as, { headers })).status;
  return {
    personal: personal === null ? null : await me({ token: personal }),
    application: application === null ? null : await me({ token: application }),
    session: cookie === null ? null : await me(null, { cookie }),
    refresh:
      refresh === null
        ? null
        : (await grant(peer, 'AppPwConf', { grant_type: 'refresh_token', refresh_token: refresh })).status,
    code:
      code === null
        ? null
        : (
            await grant(peer, 'AppCode', {
              grant_type: 'authorization_code',
              code,
              redirect_uri: REDIRECT_URI,
            })
          ).status,
    basic: await me({ user }),
    password: (await passwordGrant(peer, user, 'AppPwConf')).status,
    login: (await login(peer, user)) === null ? 401 : 302,
  };
}

/** The ways in that were open: answered with anything below 400. */
export function openWays(tried: Tried): WayIn[] {
  return (Object.keys(tried) as WayIn[]).filter((way) => (tried[way] ?? 999) < 400);
}

/** A pair of tokens for a user's password, as an application with the password grant gets it. */
export function passwordGrant(peer: Peer, user: string, application: string): Promise<Answer> {
  return grant(peer, application, {
    grant_type: 'password',
    username: user,
    password: `${user}pw`,
    scope: 'write',
  });
}

/** A request to the token endpoint as one of the fill's applications. */
export function grant(
  peer: Peer,
  application: string,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const client = clientOf(peer, application);
  const secret = client.client_secret === undefined ? {} : { client_secret: client.client_secret };
  return peer.request(`${peer.oauth}token/`, null, {
    form: { ...form, client_id: client.client_id, ...secret },
  });
}

/** Logs in as a browser does. Returns the cookies as a header, or null where the login is refused. */
export async function login(peer: Peer, user: string): Promise<string | null> {
  const page = await peer.request(peer.loginPath, null, { headers: { accept: 'text/html' } });
  const cookies = cookiesOf(page);
  const answer = await peer.request(peer.loginPath, null, {
    form: {
      csrfmiddlewaretoken: cookies.get('csrftoken') ?? '',
      username: user,
      password: `${user}pw`,
      next: '/api/',
    },
    headers: { cookie: asHeader(cookies), referer: new URL(peer.loginPath, peer.url).href },
  });
  if (answer.status !== 302) return null;
  return asHeader(new Map([...cookies, ...cookiesOf(answer)]));
}

/** Allows AppCode to act for the user of a session, and returns the code that its redirect carries. */
export async function authorize(peer: Peer, cookie: string): Promise<string> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientOf(peer, 'AppCode').client_id,
    redirect_uri: REDIRECT_URI,
    scope: 'write',
    state: 'peer',
  });
  const path = `${peer.oauth}authorize/?${query}`;
  const headers = { cookie, accept: 'text/html', referer: new URL(path, peer.url).href };
  const page = expectStatus(await peer.request(path, null, { headers }), 200);
  const form: Record<string, string> = { allow: 'Authorize' };
  for (const [input] of page.text.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined) form[name] = unescapeHtml(/value="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  const answer = expectStatus(await peer.request(path, null, { form, headers }), 302);
  const code = new URL(answer.headers.get('location') ?? '', peer.url).searchParams.get('code');
  if (code === null) throw new Error(`no code in ${answer.headers.get('location')}`);
  return code;
}

function clientOf(peer: Peer, application: string): PeerApplication {
  const client = peer.fill.applications[application];
  if (client === undefined) throw new Error(`the fill has no application ${application}`);
  return client;
}

function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status)
    throw new Error(`${answer.status} instead of ${status}: ${answer.text.slice(0, 500)}`);
  return answer;
}

function cookiesOf(answer: Answer): Map<string, string> {
  return new Map(
    answer.headers.getSetCookie().map((line) => {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s, 2);
      return [name, value] as const;
    }),
  );
}

function asHeader(cookies: ReadonlyMap<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function unescapeHtml(text: string): string {
  const entities: Record<string, string> = {
    '&quot;': '"',
    '&#x27;': "'",
    '&lt;': '<',
    '&gt;': '>',
    '&amp;': '&',
  };
  return text.replace(/&(?:quot|#x27|lt|gt|amp);/g, (entity) => entities[entity] ?? entity);
}
