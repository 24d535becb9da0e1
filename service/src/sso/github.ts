import { isLoopback } from '@tokenctl/common/network-address.ts';
import { jsonOrNull } from '@tokenctl/common/text.ts';
import type { Configuration, CustomFetch } from 'openid-client';
import { z } from 'zod';
import { CLOCK_TOLERANCE_S, type Identity, SsoFailure } from './backends.ts';
import { GITHUB, type GithubConfiguration } from './configuration.ts';
import type { LoginRequest, ProviderCallback, ProviderRedirect } from './openid.ts';
import { fetchBounded, isUnavailable, libraryFailure, PROVIDER_TIMEOUT_S } from './provider-client.ts';

/** Sends a GET request to GitHub's API on behalf of the user. */
type AskGithub = (path: string) => Promise<Answer>;

interface Answer {
  readonly body: unknown;
  /** Whether GitHub says that it omitted data because organizations with SAML single sign-on hide it from this app. */
  readonly isPartial: boolean;
}

/** For the user, their addresses, and their organizations and teams. */
const SCOPE = 'read:user user:email read:org';
/** The limit for all API requests of one login together, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Starts a login at GitHub: OAuth2 with PKCE and state. GitHub is not an OpenID provider and has no discovery. */
export async function beginGithub(
  configuration: GithubConfiguration,
  { redirectUri, state }: LoginRequest,
): Promise<ProviderRedirect> {
  const library = await import('openid-client');
  const verifier = library.randomPKCECodeVerifier();
  const url = library.buildAuthorizationUrl(await providerOf(configuration), {
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: SCOPE,
    state,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { url: url.href, details: { verifier } };
}

/** Exchanges the code for an access token. Throws SsoFailure. */
export async function completeGithub(
  configuration: GithubConfiguration,
  { state, query, details }: ProviderCallback,
): Promise<AskGithub> {
  const library = await import('openid-client');
  const provider = await providerOf(configuration);
  const refuse = (error: unknown): never => {
    throw libraryFailure(error);
  };
  const { access_token } = await library
    .authorizationCodeGrant(provider, new URL(`${details.redirectUri}?${query}`), {
      expectedState: state,
      pkceCodeVerifier: details.verifier ?? '',
    })
    .catch(refuse);
  const until = performance.now() + TIMEOUT_MS;
  return async (path) => {
    if (performance.now() > until) throw new SsoFailure('unreachable', 'GitHub responds too slowly');
    const url = new URL(`${configuration.apiUrl}${path}`);
    const headers = new Headers({ accept: 'application/vnd.github+json' });
    const response = await library
      .fetchProtectedResource(provider, access_token, url, 'GET', undefined, headers)
      .catch(refuse);
    if (!response.ok)
      throw libraryFailure(new Error(`GitHub returned ${response.status} for ${path.split('?')[0]}`));
    const isPartial = /^partial-results/i.test(response.headers.get('x-github-sso') ?? '');
    return { body: await response.json().catch(refuse), isPartial };
  };
}

const TOKEN_REFUSAL = z.object({ error: z.string().regex(/^\w{1,100}$/) });

/** `fetch` for GitHub's errors: a rate limit is 403 or 429, and the token endpoint sends errors with status 200. */
const fetchFromGithub: CustomFetch = async (url, options) => {
  const response = await fetchBounded(url, options);
  const { status, headers } = response;
  const isLimited = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0';
  if (isUnavailable(status) || (status === 403 && isLimited)) {
    const why = status < 500 ? ': the rate limit is reached' : '';
    throw new SsoFailure('unreachable', `GitHub returned ${status} for ${new URL(url).pathname}${why}`);
  }
  if (options.method !== 'POST' || status !== 200) return response;
  const text = await response.text();
  const refused = TOKEN_REFUSAL.safeParse(jsonOrNull(text));
  if (refused.success) {
    throw new SsoFailure('unverified', `GitHub rejected the code (error ${refused.data.error})`);
  }
  return new Response(text, response);
};

async function providerOf({ url, clientId, clientSecret }: GithubConfiguration): Promise<Configuration> {
  const library = await import('openid-client');
  const provider = new library.Configuration(
    {
      // The `iss` of GitHub's responses (RFC 9207). A response without one is accepted.
      issuer: `${url}/login/oauth`,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
    },
    clientId,
    { [library.clockTolerance]: CLOCK_TOLERANCE_S },
    library.ClientSecretPost(clientSecret),
  );
  provider.timeout = PROVIDER_TIMEOUT_S;
  provider[library.customFetch] = fetchFromGithub;
  if (isLoopback(new URL(url).hostname)) library.allowInsecureRequests(provider);
  return provider;
}

const PAGE_SIZE = 100;
const MAX_PAGES = 10;

const USER = z.object({ id: z.number().int(), login: z.string().min(1), name: z.string().nullish() });
const EMAILS = z.array(z.object({ email: z.string(), verified: z.boolean(), primary: z.boolean() }));
const MEMBERSHIPS = z.array(z.object({ state: z.string(), organization: z.object({ login: z.string() }) }));
const TEAMS = z.array(
  z.object({ id: z.number().int(), slug: z.string(), organization: z.object({ login: z.string() }) }),
);

/**
 * The user's identity at GitHub. The account's number identifies it, because a user name can pass to another
 * person. Only a verified primary address is used.
 * @throws SsoFailure `not_allowed` if the user is not in the configured organization or team, `unverified` if
 * a response does not have the documented shape.
 */
export async function githubIdentity(configuration: GithubConfiguration, ask: AskGithub): Promise<Identity> {
  const user = parse(USER, (await ask('/user')).body);
  const emails = parse(EMAILS, (await ask(`/user/emails?per_page=${PAGE_SIZE}`)).body);
  const memberships = await pages(ask, '/user/memberships/orgs?state=active', MEMBERSHIPS);
  const teams = await pages(ask, '/user/teams', TEAMS);
  const organizations = memberships.items
    .filter(({ state }) => state === 'active')
    .map(({ organization }) => organization.login);
  requireMember('organization', configuration.organization, { among: organizations, of: memberships });
  requireMember('team', configuration.team, { among: teams.items.map(({ id }) => String(id)), of: teams });
  const email = emails.find(({ primary, verified }) => primary && verified)?.email.toLowerCase() ?? '';
  const [firstName = '', ...rest] = (user.name ?? '').split(' ');
  return {
    backend: 'github',
    // GitHub Enterprise has its own account numbers.
    uid: configuration.url === GITHUB ? String(user.id) : `${configuration.url}|${user.id}`,
    username: user.login,
    email,
    firstName,
    lastName: rest.join(' '),
    names: [user.login, ...(email === '' ? [] : [email])],
    attributes: new Map([
      ['login', [user.login]],
      ['organizations', organizations],
      ['teams', teams.items.map(({ organization, slug }) => `${organization.login}/${slug}`)],
    ]),
    withheld: [...(memberships.isWhole ? [] : ['organizations']), ...(teams.isWhole ? [] : ['teams'])],
  };
}

function requireMember(
  what: 'organization' | 'team',
  wanted: string,
  { among, of }: { among: readonly string[]; of: { readonly isWhole: boolean } },
): void {
  const name = wanted.toLowerCase();
  if (name === '' || among.some((each) => each.toLowerCase() === name)) return;
  throw new SsoFailure(
    'not_allowed',
    of.isWhole
      ? `the account is not in the ${what} ${wanted}`
      : `the ${what} ${wanted} is not among those that GitHub listed, and the list is incomplete`,
  );
}

/** Reads pages as long as they are full. The list is incomplete if it continues beyond the limit or GitHub says so. */
async function pages<T>(ask: AskGithub, path: string, schema: z.ZodType<T[]>) {
  const items: T[] = [];
  let isWhole = true;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const separator = path.includes('?') ? '&' : '?';
    const { body, isPartial } = await ask(`${path}${separator}per_page=${PAGE_SIZE}&page=${page}`);
    const found = parse(schema, body);
    items.push(...found);
    isWhole &&= !isPartial;
    if (found.length < PAGE_SIZE) return { items, isWhole };
  }
  return { items, isWhole: false };
}

function parse<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (!parsed.success) throw new SsoFailure('unverified', 'GitHub returned an unexpected response');
  return parsed.data;
}
