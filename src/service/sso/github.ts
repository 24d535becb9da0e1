import type { Configuration } from 'openid-client';
import { z } from 'zod';
import { isLoopback } from '../settings/checks.ts';
import { type Identity, SsoFailure } from './backends.ts';
import type { GithubConfiguration } from './configuration.ts';
import type { Arrival, Beginning, Departure } from './openid.ts';
import { CLOCK_TOLERANCE, fetchBounded, libraryFailure, PROVIDER_PATIENCE } from './provider-client.ts';

/** A way to ask the API of GitHub in the name of the user who logs in: a path, and the page of it. */
type AskGithub = (path: string) => Promise<unknown>;

/** What is asked of GitHub: who the user is, the addresses, and which organizations and teams. */
const SCOPE = 'read:user user:email read:org';
/** How long all questions of one login may take together, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Begins a login at GitHub: OAuth2 with PKCE and state. GitHub is no OpenID provider, there is nothing to discover. */
export async function beginGithub(
  configuration: GithubConfiguration,
  { redirectUri, state }: Beginning,
): Promise<Departure> {
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

/**
 * Completes it: fetches an access token for the code, to ask the API with.
 *
 * @throws SsoFailure
 */
export async function completeGithub(
  configuration: GithubConfiguration,
  { state, query, details }: Arrival,
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
  const until = performance.now() + PATIENCE_MS;
  return async (path) => {
    if (performance.now() > until) throw new SsoFailure('unreachable', 'GitHub answers too slowly');
    const url = new URL(`${configuration.apiUrl}${path}`);
    const headers = new Headers({ accept: 'application/vnd.github+json' });
    const response = await library
      .fetchProtectedResource(provider, access_token, url, 'GET', undefined, headers)
      .catch(refuse);
    if (!response.ok)
      throw libraryFailure(new Error(`GitHub answered ${path.split('?')[0]} with ${response.status}`));
    return response.json().catch(refuse);
  };
}

async function providerOf({ url, clientId, clientSecret }: GithubConfiguration): Promise<Configuration> {
  const library = await import('openid-client');
  const provider = new library.Configuration(
    {
      // What GitHub calls itself in `iss` of its answers (RFC 9207); one that has none is taken as well.
      issuer: `${url}/login/oauth`,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
    },
    clientId,
    { [library.clockTolerance]: CLOCK_TOLERANCE },
    library.ClientSecretPost(clientSecret),
  );
  provider.timeout = PROVIDER_PATIENCE;
  provider[library.customFetch] = fetchBounded;
  if (isLoopback(new URL(url))) library.allowInsecureRequests(provider);
  return provider;
}

const GITHUB = 'https://github.com';
const PAGE = 100;
const MOST_PAGES = 10;

const USER = z.object({ id: z.number().int(), login: z.string().min(1), name: z.string().nullish() });
const EMAILS = z.array(z.object({ email: z.string(), verified: z.boolean(), primary: z.boolean() }));
const MEMBERSHIPS = z.array(z.object({ state: z.string(), organization: z.object({ login: z.string() }) }));
const TEAMS = z.array(
  z.object({ id: z.number().int(), slug: z.string(), organization: z.object({ login: z.string() }) }),
);

/**
 * Who the user is at GitHub: by the number of the account, since names can change hands. Only the verified
 * primary address is taken.
 *
 * @throws SsoFailure `not_allowed` for a user of none of the organizations or teams that may log in,
 *   `unverified` where GitHub answers something else than it documents.
 */
export async function githubIdentity(configuration: GithubConfiguration, ask: AskGithub): Promise<Identity> {
  const user = understood(USER, await ask('/user'));
  const emails = understood(EMAILS, await ask(`/user/emails?per_page=${PAGE}`));
  const memberships = await pages(ask, '/user/memberships/orgs?state=active', MEMBERSHIPS);
  const teams = await pages(ask, '/user/teams', TEAMS);
  const organizations = memberships
    .filter(({ state }) => state === 'active')
    .map(({ organization }) => organization.login);
  requireMembership(configuration, { organizations, teams: teams.map(({ id }) => String(id)) });
  const email = emails.find(({ primary, verified }) => primary && verified)?.email.toLowerCase() ?? '';
  const [firstName = '', ...rest] = (user.name ?? '').split(' ');
  return {
    backend: 'github',
    // Numbers of accounts of another GitHub could be the same.
    uid: configuration.url === GITHUB ? String(user.id) : `${configuration.url}|${user.id}`,
    username: user.login,
    email,
    firstName,
    lastName: rest.join(' '),
    names: [user.login, ...(email === '' ? [] : [email])],
    attributes: new Map([
      ['login', [user.login]],
      ['organizations', organizations],
      ['teams', teams.map(({ organization, slug }) => `${organization.login}/${slug}`)],
    ]),
  };
}

function requireMembership(
  { organization, team }: GithubConfiguration,
  of: { readonly organizations: readonly string[]; readonly teams: readonly string[] },
): void {
  const wanted = organization.toLowerCase();
  if (wanted !== '' && !of.organizations.some((name) => name.toLowerCase() === wanted)) {
    throw new SsoFailure('not_allowed', `the account is not in the organization ${organization}`);
  }
  if (team !== '' && !of.teams.includes(team)) {
    throw new SsoFailure('not_allowed', `the account is not in the team ${team}`);
  }
}

async function pages<T>(ask: AskGithub, path: string, schema: z.ZodType<T[]>): Promise<readonly T[]> {
  const all: T[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const separator = path.includes('?') ? '&' : '?';
    const found = understood(schema, await ask(`${path}${separator}per_page=${PAGE}&page=${page}`));
    all.push(...found);
    if (found.length < PAGE) break;
  }
  return all;
}

function understood<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (!parsed.success) throw new SsoFailure('unverified', 'GitHub answered something else than it documents');
  return parsed.data;
}
