/** The part of an OpenAPI description that says what there is to ask. */
export interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A request as it goes over the wire, right or wrong. */
export interface Malformed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer | undefined;
}

/** Random choices that come again with the same seed (mulberry32). */
class Choices {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }
  of<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }
  /** True once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const ODD_METHODS = ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'LINK', 'M-SEARCH', 'QUERY'] as const;
const IDS = ['1', '1', '1', '2', '3', '0', '-1', '2147483647', '2147483648', '9'.repeat(30)] as const;
const ODD_IDS = [
  'admin',
  'all',
  '%00',
  '%ff',
  '%2e%2e',
  "1'--",
  '1;',
  '%F0%9F%92%A5',
  'x'.repeat(700),
] as const;
const TEXTS = [
  '',
  '1',
  'null',
  "'",
  '\\',
  '%',
  '\0',
  '\u202e',
  'a,b,,',
  '-id',
  '(',
  'x'.repeat(5000),
] as const;
const JSON_VALUES = [
  ...(['null', 'true', '0', '-1', '1.5', '1e400', '9'.repeat(40), '""', '"\\u0000"', '"\\ud800"'] as const),
  ...(['[]', '{}', '[[[[1]]]]', '{"__proto__":1}', '"text"', '"@/etc/passwd"', '["a","a"]'] as const),
  `"${'x'.repeat(3000)}"`,
] as const;
const WHOLE_BODIES = [
  ...(['', 'null', '[]', '1', '"x"', '{', '{"a":', '{"a":1}}', '\ufeff{}', '{}', ' ', '[[['] as const),
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `{"a":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
] as const;
const BAD_UTF8 = Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0xff, 0xfe, 0x7d]);
const TYPES = [
  ...(['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'nonsense', ';'] as const),
  ...(['application/json; charset=utf-16', 'multipart/form-data; boundary=', 'application/json;;='] as const),
] as const;
const QUERY_NAMES = [
  ...(['page', 'page_size', 'order_by', 'search', 'format', 'id', 'name__icontains', 'not__or__id'] as const),
  ...([
    '__proto__',
    'id__in',
    'created__lt',
    'next',
    'client_id',
    'response_type',
    'redirect_uri',
    '',
  ] as const),
] as const;
const EXTRA_FIELDS = ['__proto__', 'constructor', 'id', 'username', 'token', 'grant_type', 'limit'];
const HUGE = Buffer.alloc(1_200_000, 0x78);

/** Makes requests to every address that a description names, in turn, each wrong in its own way. */
export function* malformedRequests(
  { paths }: Described,
  { count, seed, authorization }: { count: number; seed: number; authorization: string },
): Generator<Malformed> {
  const choose = new Choices(seed);
  const addresses = Object.entries(paths);
  for (let number = 0; number < count; number++) {
    const [path, item] = addresses[number % addresses.length] ?? ['/', {}];
    const method = choose.once(6) ? choose.of(ODD_METHODS) : choose.of(METHODS);
    const [type, body] = bodyOf(choose, item, method);
    yield {
      method,
      path: `${withIds(choose, path)}${query(choose)}`,
      headers: {
        ...headersOf(choose, authorization, type),
        // The answer to headers that are too large has a body even after HEAD: the method was not read yet.
        ...(method !== 'HEAD' && choose.once(200) && { 'x-huge': 'x'.repeat(40_000) }),
      },
      body,
    };
  }
}

function withIds(choose: Choices, path: string): string {
  const filled = path
    .replace('{category}', () => (choose.once(4) ? choose.of(ODD_IDS) : choose.of(['all', 'authentication'])))
    .replaceAll(/\{\w+\}/g, () => (choose.once(4) ? choose.of(ODD_IDS) : choose.of(IDS)));
  return choose.once(20) ? filled.replace(/\/$/, '') : filled;
}

function query(choose: Choices): string {
  if (!choose.once(3)) return '';
  if (choose.once(8))
    return choose.of(['?', '?%', '?%ff=%fe', '?a[]=1', '?a=1?b=2', '?&&&', `?${'a=1&'.repeat(900)}`]);
  const one = () => `${choose.of(QUERY_NAMES)}=${encodeURIComponent(choose.of(TEXTS))}`;
  return `?${Array.from({ length: 1 + choose.below(3) }, one).join('&')}`;
}

function headersOf(
  choose: Choices,
  authorization: string,
  type: string | undefined,
): Record<string, string | string[]> {
  const odd = [
    'Bearer',
    'Bearer  ',
    'Basic',
    'Basic ====',
    'Basic Og==',
    'Digest x',
    `Bearer ${'x'.repeat(4000)}`,
  ];
  return {
    ...(choose.once(12)
      ? {}
      : { authorization: choose.once(12) ? (odd[choose.below(odd.length)] ?? '') : authorization }),
    ...(type !== undefined && { 'content-type': type }),
    ...(choose.once(10) && { accept: choose.of(['*/*', 'image/png', ',;,', '', 'text/html;q=x']) }),
    ...(choose.once(20) && {
      cookie: choose.of(['svc_sessionid=%', '__proto__=1', '=;=', `a=${'b'.repeat(3000)}`]),
    }),
    ...(choose.once(30) && { 'x-csrftoken': ['a', 'b'], origin: 'http://[', 'x-forwarded-for': '::::,1' }),
  };
}

function bodyOf(
  choose: Choices,
  item: Readonly<Record<string, unknown>>,
  method: string,
): [type: string | undefined, body: Buffer | undefined] {
  if (method === 'TRACE' || (method === 'GET' && !choose.once(10))) return [undefined, undefined];
  if (choose.once(300)) return [choose.of(TYPES), HUGE];
  if (choose.once(15)) return [choose.of(TYPES), BAD_UTF8];
  if (choose.once(6)) return [choose.of(TYPES), Buffer.from(choose.of(WHOLE_BODIES))];
  const names = [...fieldsOf(item[method.toLowerCase()]), ...EXTRA_FIELDS];
  const some = Array.from({ length: choose.below(6) }, () => names[choose.below(names.length)] ?? '');
  if (choose.once(4)) {
    // A name may come twice: what a form and a query string can say and JSON cannot.
    const form = some.map((name) => `${name}=${encodeURIComponent(choose.of(TEXTS))}`).join('&');
    return [TYPES[1], Buffer.from(form)];
  }
  const json = `{${some.map((name) => `${JSON.stringify(name)}:${choose.of(JSON_VALUES)}`).join(',')}}`;
  return [choose.once(10) ? choose.of(TYPES) : TYPES[0], Buffer.from(json)];
}

/** The names of the fields that an operation takes. */
function fieldsOf(operation: unknown): string[] {
  const { requestBody } = (operation ?? {}) as {
    requestBody?: { content: Record<string, { schema: { properties?: Record<string, unknown> } }> };
  };
  return Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
    Object.keys(schema.properties ?? {}),
  );
}
