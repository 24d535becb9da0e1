import { type Client, type Installation, REDIRECT_URI } from './installation.ts';
import type { Session } from './log-in.ts';
import { type Account, asUser, makeUser } from './own-objects.ts';
import { type Answer, type As, expectStatus } from './requests.ts';

/** One way in each; null where the installation gave none, as to a deactivated user. */
export interface Access {
  readonly account: Account;
  readonly personal: string | null;
  readonly application: string | null;
  readonly refresh: string | null;
  readonly code: string | null;
  readonly session: Session | null;
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
type Tried = Readonly<Record<WayIn, number | null>>;

/** Gets a credential of every kind for a user, as the user would: tokens, an authorization code, a session. */
export async function makeAccess(it: Installation, account: Account): Promise<Access> {
  const pair = await passwordGrant(it, account);
  const application = kept(it, pair.body['access_token']);
  const body = { scope: 'write', description: it.name('personal') };
  const personal = await it.request(
    'tokens/',
    application === null ? asUser(account) : { token: application },
    { body },
  );
  const session = await it.logIn(account);
  return {
    account,
    personal: kept(it, personal.body['token']),
    application,
    refresh: kept(it, pair.body['refresh_token']),
    code: session === null ? null : await authorize(it, session),
    session,
  };
}

/**
 * Tries every way in, and gives each one's status. A refresh and a code are used up by it, and may leave new tokens
 * behind: compare tables first. A bearer token's `last_used` is overwritten.
 */
export async function tryAccess(it: Installation, access: Access): Promise<Tried> {
  const { account, personal, application, refresh, code, session } = access;
  const me = async (as: As): Promise<number> => (await it.request('me/', as)).status;
  return {
    personal: personal === null ? null : await me({ token: personal }),
    application: application === null ? null : await me({ token: application }),
    session: session === null ? null : await me(session),
    refresh:
      refresh === null
        ? null
        : (await grant(it, 'password', { grant_type: 'refresh_token', refresh_token: refresh })).status,
    code: code === null ? null : (await redeem(it, code)).status,
    basic: await me(asUser(account)),
    password: (await passwordGrant(it, account)).status,
    login: (await it.logIn(account)) === null ? 401 : 302,
  };
}

/** The ways in that were open: answered with anything below 400. */
export function openWays(tried: Tried): readonly WayIn[] {
  return (Object.keys(tried) as WayIn[]).filter((way) => (tried[way] ?? 999) < 400);
}

/** The ways in that are no longer open, of those that this installation offers. */
export async function closedWays(it: Installation, access: Access): Promise<readonly WayIn[]> {
  const open = openWays(await tryAccess(it, access));
  return (offeredWays(it) ?? []).filter((way) => !open.includes(way)).sort();
}

const offered = new WeakMap<Installation, readonly WayIn[]>();

/** The ways in that this installation offers to a new user; null before they were tried. */
export function offeredWays(it: Installation): readonly WayIn[] | null {
  return offered.get(it) ?? null;
}

/** Finds out which ways in this installation offers: those that are open to a new user. */
export async function findOfferedWays(it: Installation): Promise<void> {
  const access = await makeAccess(it, await makeUser(it, 'every-way'));
  offered.set(it, openWays(await tryAccess(it, access)));
}

/** Those of these ways in that this installation offers, sorted: what has to be closed where all of them are. */
export function ofOffered(it: Installation, ...ways: readonly WayIn[]): readonly WayIn[] {
  return (offeredWays(it) ?? []).filter((way) => ways.includes(way)).sort();
}

/** A pair of tokens for a user's password, as an application with the password grant gets it. */
export async function passwordGrant(
  it: Installation,
  { name, password }: Account,
  client?: Client,
): Promise<Answer> {
  const form = { grant_type: 'password', username: name, password, scope: 'write' };
  const answer = await grant(it, client ?? 'password', form);
  kept(it, answer.body['access_token']);
  kept(it, answer.body['refresh_token']);
  return answer;
}

/** A request to the token endpoint as one of the run's applications. */
export async function grant(
  it: Installation,
  application: 'password' | 'code' | Client,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const client = typeof application === 'string' ? clientOf(it, application) : application;
  const { client_id, client_secret } = client;
  return it.request(`${it.oauth}token/`, null, { form: { ...form, client_id, client_secret } });
}

/** Allows the application of the code grant to act for the user of a session, and gives the code; null where none is given. */
async function authorize(it: Installation, { cookie }: Session): Promise<string | null> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientOf(it, 'code').client_id,
    redirect_uri: REDIRECT_URI,
    scope: 'write',
    state: 'acceptance',
  });
  const path = `${it.oauth}authorize/?${query}`;
  const headers = { cookie, accept: 'text/html', referer: `${it.requests.url}${path}` };
  const page = await it.request(path, null, { headers });
  if (page.status !== 200) return null;
  const form: Record<string, string> = { allow: 'Authorize' };
  for (const [input] of page.text.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined) form[name] = unescapeHtml(/value="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  const answer = expectStatus(await it.request(path, null, { form, headers }), 302);
  return kept(it, new URL(answer.location ?? '', it.requests.url).searchParams.get('code'));
}

function redeem(it: Installation, code: string): Promise<Answer> {
  return grant(it, 'code', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI });
}

function clientOf(it: Installation, application: 'password' | 'code'): Client {
  const client = it.applications.get(application);
  if (client === undefined) throw new Error('the run has no applications yet');
  return client;
}

function kept(it: Installation, value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? it.keep(value) : null;
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
