import { z } from 'zod';
import { type Identity, SsoFailure } from './backends.ts';
import type { GithubConfiguration } from './configuration.ts';
import type { AskGithub } from './github.ts';

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
