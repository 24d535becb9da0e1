// The requests whose bodies, addresses or headers are worst for a parser of the service, by size in bytes.

export const ADMIN = { username: 'admin', password: 'bench' };

export const fill = (text: string, size: number) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
export const numbered = (size: number, one: (n: number) => string, separator: string) => {
  const parts: string[] = [];
  for (let length = 0; length < size; )
    length += parts.push(one(parts.length)) && (parts.at(-1)?.length ?? 0) + separator.length;
  return parts.join(separator);
};

export const members = (size: number) =>
  Object.fromEntries(
    numbered(size, (n) => `a${n}`, ',')
      .split(',')
      .map((name) => [name, 1]),
  );

interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const CSRF = 'a'.repeat(32);
export const asAdmin = {
  authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}`,
  'content-type': 'application/json',
};
const form = (path: string, body: string): Sent => ({ path, method: 'POST', headers: FORM, body });
const json = (path: string, body: string | object, method = 'POST'): Sent => ({
  path,
  method,
  headers: asAdmin,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const get = (path: string, headers: Readonly<Record<string, string>> = asAdmin): Sent => ({ path, headers });
const logIn = (fields: Readonly<Record<string, string>>): Sent => ({
  ...form('/api/login/', new URLSearchParams({ csrfmiddlewaretoken: CSRF, ...fields }).toString()),
  headers: { ...FORM, cookie: `csrftoken=${CSRF}` },
});
const variables = (text: string) => json('/api/v2/hosts/', { name: 'h', inventory: 1, variables: text });
const metadata = (xml: string) =>
  json('/api/v2/settings/saml/', { SOCIAL_AUTH_SAML_ENABLED_IDPS: { idp: { metadata: xml } } }, 'PATCH');
/** The service's parsers: what to send for a size in bytes. */
export const REQUESTS: Readonly<Record<string, (size: number) => Sent>> = {
  'token: one name repeated': (size) => form('/api/o/token/', fill('a&', size)),
  'token: many names': (size) =>
    form(
      '/api/o/token/',
      numbered(size, (n) => `a${n}`, '&'),
    ),
  'token: one value': (size) => form('/api/o/token/', `grant_type=password&username=${fill('%41+', size)}`),
  'token: 900 values': (size) =>
    form(
      '/api/o/token/',
      numbered(900 * 2, () => fill('a', size / 900), '&'),
    ),
  'token: scope': (size) =>
    form(
      '/api/o/token/',
      `grant_type=password&client_id=bench&username=admin&password=bench&scope=${fill('read+', size)}`,
    ),
  'introspect: one name repeated': (size) => form('/api/o/introspect/', fill('a&', size)),
  'revoke_token: one name repeated': (size) => form('/api/o/revoke_token/', fill('a&', size)),
  'login: next': (size) =>
    logIn({ next: `/api/o/authorize/?${fill('a&', size)}`, username: '', password: '' }),
  'login: next, long': (size) => logIn({ next: `/${fill('/', size)}`, username: '', password: '' }),
  'login: user name': (size) => logIn({ username: fill('a', size), password: 'x' }),
  'login: form': (size) => form('/api/login/', fill('a=&', size)),
  'query: one name repeated': (size) => get(`/api/v2/users/?${fill('a&', size)}`),
  'query: prefixes of a filter': (size) => get(`/api/v2/users/?${fill('not__', size)}id=1`),
  'query: relations': (size) => get(`/api/v2/tokens/?${fill('user__', size)}id=1`),
  'query: in': (size) => get(`/api/v2/users/?id__in=${fill('1,', size)}`),
  'query: search': (size) => get(`/api/v2/users/?search=${fill('a+', size)}`),
  'query: order_by': (size) => get(`/api/v2/users/?order_by=${fill('id,', size)}`),
  'query: page': (size) => get(`/api/v2/users/?page=${fill('+', size)}1`),
  'query: regular expression': (size) => get(`/api/v2/users/?username__regex=${fill('(a*)*', size)}`),
  'path: named URL': (size) => get(`/api/v2/organizations/${fill('%2B', size)}/`),
  'path: slashes': (size) => get(fill('/', size)),
  'header: cookies': (size) => get('/api/v2/me/', { cookie: fill('a=;', size) }),
  'header: basic': (size) => get('/api/v2/me/', { authorization: `Basic ${fill('A', size)}` }),
  'header: bearer': (size) => get('/api/v2/me/', { authorization: `Bearer ${fill('A', size)}` }),
  'header: accept': (size) => get('/api/v2/me/', { ...asAdmin, accept: fill(', ', size) }),
  'JSON: members': (size) => json('/api/v2/users/', `{${numbered(size, (n) => `"a${n}":1`, ',')}}`),
  'JSON: numbers as names': (size) =>
    json('/api/v2/users/', `{${numbered(size, (n) => `"${n * 4096}":1`, ',')}}`),
  'JSON: nested': (size) => json('/api/v2/users/', fill('[', size)),
  'JSON: text': (size) => json('/api/v2/users/', { username: fill('\\"', size / 2) }),
  'JSON: scope': (size) => json('/api/v2/tokens/', { scope: fill('read ', size) }),
  'JSON: description': (size) => json('/api/v2/tokens/', { description: fill('a', size), scope: 'read' }),
  'JSON: redirect URIs': (size) =>
    json('/api/v2/applications/', {
      name: 'a',
      organization: 1,
      client_type: 'public',
      authorization_grant_type: 'authorization-code',
      redirect_uris: fill('https://a.example/ ', size),
    }),
  'JSON: organization map': (size) =>
    json(
      '/api/v2/settings/all/',
      `{"SOCIAL_AUTH_ORGANIZATION_MAP":{${numbered(size, (n) => `"o${n}":{"users":["a"]}`, ',')}}}`,
      'PATCH',
    ),
  'JSON: map of one user expression': (size) =>
    json(
      '/api/v2/settings/all/',
      { SOCIAL_AUTH_ORGANIZATION_MAP: { o: { users: `/${fill('(a*)*', size)}/` } } },
      'PATCH',
    ),
  'YAML: keys': (size) => variables(numbered(size, (n) => `a${n}: 1`, '\n')),
  'YAML: nested lists': (size) => variables(`a: ${fill('[', size)}`),
  'YAML: nested by dashes': (size) => variables(`a:\n ${fill('- ', size)}`),
  'YAML: question marks': (size) => variables(fill('? ', size)),
  'YAML: aliases': (size) => variables(`a: &a [1]\nb: [${fill('*a,', size)}]`),
  'YAML: anchors': (size) => variables(`a: [${numbered(size, (n) => `&a${n} 1`, ',')}]`),
  'YAML: comments': (size) => variables(`${fill('#\n', size)}a: 1`),
  'YAML: lines of a text': (size) => variables(`a: "${fill('b\n\n', size)}"`),
  'YAML: spaces': (size) => variables(`a:${fill(' ', size)}1`),
  'YAML: list': (size) => variables(`a:\n${fill(' - 1\n', size)}`),
  'YAML: flow map': (size) => variables(`{${numbered(size, (n) => `a${n}: 1`, ',')}}`),
  'YAML: merge keys': (size) => variables(`a: &a {b: 1}\nc:\n${fill('  <<: *a\n', size)}`),
  'metadata: attributes': (size) => metadata(`<a ${numbered(size, (n) => `b${n}=''`, ' ')}/>`),
  'metadata: nested': (size) => metadata(fill('<a>', size)),
  'metadata: namespaces': (size) => metadata(numbered(size, (n) => `<a xmlns:b${n}='c'>`, '')),
  'metadata: text': (size) => metadata(`<a>${fill('&amp;', size)}</a>`),
  'metadata: one tag': (size) => metadata(`<${fill('a ', size)}`),
  'metadata: quotes': (size) => metadata(`<a b="${fill('c', size)}`),
};
