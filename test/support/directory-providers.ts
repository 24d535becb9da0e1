import type { Answer, Asked } from './provider-server.ts';

/** A user of a provider in a test. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly isActive: boolean;
}

/** What a provider in a test has, and what of it its list shows. */
export interface Provided {
  readonly people: readonly Person[];
  readonly listed: readonly Person[];
}

/** A provider that answers as its documentation says: the page of a list, and a question for one user. */
export interface Provider {
  /** The settings of a directory at an address; the secret is in the variable SECRET. */
  settings(url: URL): object;
  answer(asked: Asked, provided: Provided): Answer;
}

const PAGE = 3;
const TOKEN = { access_token: 'a', token_type: 'Bearer', expires_in: 3600 };
const mailOf = ({ name }: Person) => `${name}@example.org`;
const lastOf = ({ pathname }: URL) => decodeURIComponent(pathname.split('/').at(-1) ?? '');
/** The value in a filter for one value: `userName eq "alice"`. */
const filtered = (filter: string) => /^[^"']*["'](.*?)["']/.exec(filter)?.[1];
const byNames = (people: readonly Person[], value: string | undefined) =>
  people.filter((each) => [each.id, each.name, mailOf(each)].includes(value ?? ''));

function one(people: readonly Person[], form: (person: Person) => object): Answer {
  const [person] = people;
  return person === undefined ? { status: 404 } : { body: form(person) };
}

const scimForm = (each: Person) => ({
  id: each.id,
  userName: each.name,
  active: each.isActive,
  emails: [{ value: mailOf(each) }],
});

/** A user as SCIM has it (RFC 7643 §4.1). */
interface ScimUser {
  readonly id?: string;
  readonly userName?: string;
  readonly externalId?: string;
  readonly active?: unknown;
  readonly emails?: readonly { readonly value: string }[];
}

/** What a SCIM provider answers (RFC 7644 §3.4): a page of its list, or a question for one of all its users. */
export function scimAnswer({ url }: Asked, listed: readonly ScimUser[], all = listed): Answer {
  if (!url.pathname.endsWith('/Users')) {
    const user = all.find(({ id }) => id === lastOf(url));
    return user === undefined ? { status: 404 } : { body: user };
  }
  const filter = url.searchParams.get('filter');
  if (filter !== null) {
    const value = filtered(filter);
    const has = (user: ScimUser) =>
      filter.startsWith('emails.value')
        ? user.emails?.some((email) => email.value === value)
        : user[filter.split(' ')[0] as 'userName'] === value;
    const Resources = all.filter(has);
    return { body: { totalResults: Resources.length, Resources } };
  }
  const from = Number(url.searchParams.get('startIndex')) - 1;
  const count = Math.min(Number(url.searchParams.get('count')), PAGE);
  return { body: { totalResults: listed.length, Resources: listed.slice(from, from + count) } };
}

const scim: Provider = {
  settings: (url) => ({ kind: 'scim', url: `${url}v2`, token: { env: 'SECRET' }, paging: 'index' }),
  answer: (asked, { people, listed }) => scimAnswer(asked, listed.map(scimForm), people.map(scimForm)),
};

const oktaForm = (each: Person) => ({
  id: each.id,
  status: each.isActive ? 'ACTIVE' : 'DEPROVISIONED',
  profile: { login: each.name, email: mailOf(each) },
});

const okta: Provider = {
  settings: (url) => ({ kind: 'okta', url: url.href, token: { env: 'SECRET' } }),
  answer({ url }, { people, listed }) {
    if (url.pathname !== '/api/v1/users') return one(byNames(people, lastOf(url)), oktaForm);
    const filter = url.searchParams.get('filter');
    const shown = filter === null ? listed.filter(({ isActive }) => isActive) : listed;
    if (filter?.startsWith('profile.email'))
      return { body: people.filter((each) => mailOf(each) === filtered(filter)).map(oktaForm) };
    const from = Number(url.searchParams.get('after') ?? 0);
    const all = filter === null ? shown : shown.filter(({ isActive }) => !isActive);
    const next = new URL(url);
    next.searchParams.set('after', String(from + PAGE));
    const link = `<${url.href}>; rel="self"${all.length > from + PAGE ? `, <${next.href}>; rel="next"` : ''}`;
    return { body: all.slice(from, from + PAGE).map(oktaForm), headers: { link } };
  },
};

const graphForm = (each: Person) => ({
  id: each.id,
  userPrincipalName: each.name,
  mail: mailOf(each),
  otherMails: [],
  accountEnabled: each.isActive,
});

const entra: Provider = {
  settings: (url) => ({
    kind: 'entra',
    url: `${url}v1.0`,
    loginUrl: url.href,
    tenant: 'tenant',
    clientId: 'client',
    clientSecret: { env: 'SECRET' },
  }),
  answer({ url, method }, { people, listed }) {
    if (method === 'POST') return { body: TOKEN };
    if (!url.pathname.endsWith('/users')) return one(byNames(people, lastOf(url)), graphForm);
    const filter = url.searchParams.get('$filter');
    if (filter !== null) return { body: { value: byNames(people, filtered(filter)).map(graphForm) } };
    const from = Number(url.searchParams.get('$skiptoken') ?? 0);
    const next = new URL(url);
    next.searchParams.set('$skiptoken', String(from + PAGE));
    return {
      body: {
        '@odata.count': listed.length,
        ...(listed.length > from + PAGE && { '@odata.nextLink': next.href }),
        value: listed.slice(from, from + PAGE).map(graphForm),
      },
    };
  },
};

const keycloakForm = (each: Person) => ({
  id: each.id,
  username: each.name,
  email: mailOf(each),
  enabled: each.isActive,
});

const keycloak: Provider = {
  settings: (url) => ({
    kind: 'keycloak',
    url: url.href,
    realm: 'staff',
    clientId: 'client',
    clientSecret: { env: 'SECRET' },
  }),
  answer({ url, method }, { people, listed }) {
    if (method === 'POST') return { body: TOKEN };
    if (url.pathname.endsWith('/count')) return { body: listed.length };
    if (!url.pathname.endsWith('/users'))
      return one(
        people.filter(({ id }) => id === lastOf(url)),
        keycloakForm,
      );
    const at = (name: string) => url.searchParams.get(name);
    const [username, email] = [at('username'), at('email')];
    if (username !== null || email !== null)
      return {
        body: people.filter((each) => each.name === username || mailOf(each) === email).map(keycloakForm),
      };
    const from = Number(at('first'));
    return { body: listed.slice(from, from + PAGE).map(keycloakForm) };
  },
};

/** The providers whose directories are asked over HTTP without a file of keys. */
export const PROVIDERS: readonly (readonly [string, Provider])[] = [
  ['SCIM', scim],
  ['Okta', okta],
  ['Microsoft Entra ID', entra],
  ['Keycloak', keycloak],
];
