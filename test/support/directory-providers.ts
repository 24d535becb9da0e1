import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  mailOf,
  type Person,
  type Provided,
  pageOf,
  type Question,
  replyTo,
  type Source,
  type Tie,
} from './directory-source.ts';
import { type Answer, type Asked, providerServer } from './provider-server.ts';

/** A provider that answers as its documentation says: the page of a list, and a question for one user. */
interface Provider {
  /** The settings of a directory at an address. */
  settings(url: URL): object;
  answer(asked: Asked, provided: Provided): Answer;
}

const BY_ID: Tie = { name: 'id', isId: true, kind: 'account', of: ({ id }) => id };
const BY_NAME: Tie = { name: 'login name', isId: false, kind: 'account', of: ({ name }) => name };
const BY_MAIL: Tie = { name: 'email address', isId: false, kind: 'account', of: mailOf };

function source(provider: Provider, ties: readonly Tie[] = [BY_ID, BY_NAME, BY_MAIL]): Source {
  return {
    ties,
    idOf: ({ id }) => id,
    hasGroup: false,
    async serve(provided) {
      const { url } = await providerServer((asked) => provider.answer(asked, provided()));
      return provider.settings(url);
    },
  };
}

const TOKEN = { access_token: 'a', token_type: 'Bearer', expires_in: 3600 };
const lastOf = ({ pathname }: URL) => decodeURIComponent(pathname.split('/').at(-1) ?? '');
/** The value in a filter for one value: `userName eq "alice"`. */
const filtered = (filter: string) => /^[^"']*["'](.*?)["']/.exec(filter)?.[1];
const has = (person: Person, value: string | undefined) =>
  [person.id, person.name, mailOf(person)].includes(value ?? '');

/** Answers a question: one by a part of the address finds a user or nothing. */
function question<User>(
  provided: Provided<User>,
  asked: Question<User>,
  bodyOf: (found: readonly User[]) => unknown,
): Answer {
  const reply = replyTo(provided, asked);
  if (reply === 'refused') return { status: 403 };
  if (reply === 'not understood') return { status: 400 };
  if (reply === 'unexpected form') return { body: 'hello' };
  return asked.by === 'id' && reply.length === 0 ? { status: 404 } : { body: bodyOf(reply) };
}

/** Answers a question by a part of the address. */
function one<User>(provided: Provided<User>, matches: (user: User) => boolean, form: (user: User) => object) {
  return question(provided, { by: 'id', matches }, (found) => found.map(form)[0]);
}

/** Answers the page of a list. */
function page<User>(
  provided: Provided<User>,
  from: number,
  bodyOf: (page: readonly User[], next: number | null) => unknown,
  {
    size,
    headers,
  }: { size?: number; headers?: (next: number | null) => Readonly<Record<string, string>> } = {},
): Answer {
  const read = pageOf(provided, from, size);
  if (read === 'refused') return { status: 400 };
  return { body: bodyOf(read.page, read.next), ...(headers && { headers: headers(read.next) }) };
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
export function scimAnswer(
  { url }: Asked,
  listed: readonly ScimUser[],
  {
    all = listed,
    ...rest
  }: { all?: readonly ScimUser[] } & Omit<Provided<ScimUser>, 'people' | 'listed'> = {},
): Answer {
  const provided = { ...rest, listed, people: all };
  const at = (name: string) => url.searchParams.get(name);
  if (!url.pathname.endsWith('/Users'))
    return one(
      provided,
      ({ id }) => id === lastOf(url),
      (user) => user,
    );
  const filter = at('filter');
  if (filter !== null) {
    const value = filtered(filter);
    const matches = (user: ScimUser) =>
      filter.startsWith('emails.value')
        ? user.emails?.some((email) => email.value === value) === true
        : user[filter.split(' ')[0] as 'userName'] === value;
    return question(provided, { by: 'filter', matches }, (Resources) => ({
      totalResults: Resources.length,
      Resources,
    }));
  }
  const cursor = at('cursor');
  const { announced = listed.length } = provided;
  return page(
    provided,
    cursor === null ? Number(at('startIndex')) - 1 : Number(cursor),
    (Resources, next) => ({
      ...{ totalResults: announced, Resources },
      ...(cursor !== null && next !== null && { nextCursor: String(next) }),
    }),
    { size: Number(at('count')) },
  );
}

const scim = (paging: 'index' | 'cursor'): Provider => ({
  settings: (url) => ({ kind: 'scim', url: `${url}v2`, token: { env: 'SECRET' }, paging }),
  answer: (asked, { people, listed, ...rest }) =>
    scimAnswer(asked, listed.map(scimForm), { all: people.map(scimForm), ...rest }),
});

const oktaForm = (each: Person) => ({
  id: each.id,
  status: each.isActive ? 'ACTIVE' : 'DEPROVISIONED',
  profile: { login: each.name, email: mailOf(each) },
});

const okta: Provider = {
  settings: (url) => ({ kind: 'okta', url: url.href, token: { env: 'SECRET' } }),
  answer({ url }, provided) {
    if (url.pathname !== '/api/v1/users') return one(provided, (each) => has(each, lastOf(url)), oktaForm);
    const filter = url.searchParams.get('filter');
    if (filter?.startsWith('profile.email')) {
      const matches = (each: Person) => mailOf(each) === filtered(filter);
      return question(provided, { by: 'filter', matches }, (found) => found.map(oktaForm));
    }
    // The list leaves out deactivated users, unless a filter asks for them.
    const listed = provided.listed.filter(({ isActive }) => isActive === (filter === null));
    const link = (next: number | null) => {
      const address = new URL(url);
      address.searchParams.set('after', String(next));
      return `<${url.href}>; rel="self"${next === null ? '' : `, <${address.href}>; rel="next"`}`;
    };
    const from = Number(url.searchParams.get('after') ?? 0);
    return page({ ...provided, listed }, from, (users) => users.map(oktaForm), {
      headers: (next) => ({ link: link(next) }),
    });
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
  answer({ url, method }, provided) {
    if (method === 'POST') return { body: TOKEN };
    if (!url.pathname.endsWith('/users')) return one(provided, (each) => has(each, lastOf(url)), graphForm);
    const filter = url.searchParams.get('$filter');
    if (filter !== null) {
      const matches = (each: Person) => has(each, filtered(filter));
      return question(provided, { by: 'filter', matches }, (found) => ({ value: found.map(graphForm) }));
    }
    const { listed, announced = listed.length } = provided;
    return page(provided, Number(url.searchParams.get('$skiptoken') ?? 0), (users, next) => {
      const address = new URL(url);
      address.searchParams.set('$skiptoken', String(next));
      return {
        '@odata.count': announced,
        ...(next !== null && { '@odata.nextLink': address.href }),
        value: users.map(graphForm),
      };
    });
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
  answer({ url, method }, provided) {
    if (method === 'POST') return { body: TOKEN };
    const { listed, announced = listed.length } = provided;
    if (url.pathname.endsWith('/count')) return { body: announced };
    if (!url.pathname.endsWith('/users')) return one(provided, ({ id }) => id === lastOf(url), keycloakForm);
    const at = (name: string) => url.searchParams.get(name);
    const [username, email] = [at('username'), at('email')];
    if (username !== null || email !== null) {
      const matches = (each: Person) => each.name === username || mailOf(each) === email;
      return question(provided, { by: 'filter', matches }, (found) => found.map(keycloakForm));
    }
    return page(provided, Number(at('first')), (users) => users.map(keycloakForm));
  },
};

const googleForm = (each: Person) => ({ id: each.id, primaryEmail: mailOf(each), suspended: !each.isActive });

const google: Provider = {
  settings(url) {
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-google-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'key.json');
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const key = { client_email: 'reader@example.org', private_key: privateKey, token_uri: `${url}token` };
    writeFileSync(file, JSON.stringify(key), { mode: 0o600 });
    return { kind: 'google', url: url.href, serviceAccount: { file }, administrator: 'admin@example.org' };
  },
  answer({ url, method }, provided) {
    if (method === 'POST') return { body: TOKEN };
    if (!url.pathname.endsWith('/users')) {
      const matches = (each: Person) => [each.id, mailOf(each)].includes(lastOf(url));
      return one(provided, matches, googleForm);
    }
    return page(provided, Number(url.searchParams.get('pageToken') ?? 0), (users, next) => ({
      users: users.map(googleForm),
      ...(next !== null && { nextPageToken: String(next) }),
    }));
  },
};

/** The providers whose directories are asked over HTTP. */
export const PROVIDERS: Readonly<Record<string, Source>> = {
  'SCIM by index': source(scim('index')),
  'SCIM by cursor': source(scim('cursor')),
  Okta: source(okta),
  'Microsoft Entra ID': source(entra),
  Keycloak: source(keycloak),
  'Google Workspace': source(google, [BY_ID, BY_MAIL]),
};
