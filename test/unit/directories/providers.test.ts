import { describe, expect, test } from 'vitest';
import { findGoogleUsers, readGoogleUsers } from '../../../src/directories/google-workspace.ts';
import { findKeycloakUsers, readKeycloakUsers } from '../../../src/directories/keycloak.ts';
import { findGraphUsers, readGraphUsers } from '../../../src/directories/microsoft-graph.ts';
import { findOktaUsers, readOktaUsers } from '../../../src/directories/okta.ts';
import { askEach, type FindUsers } from '../../../src/directories/provider-users.ts';
import { findScimUsers, readScimUsers } from '../../../src/directories/scim.ts';
import { type Answer, type Asked, providerServer } from '../../support/provider-server.ts';

const at = ({ url }: Asked, name: string) => url.searchParams.get(name);

describe('SCIM', () => {
  const users = Array.from({ length: 5 }, (_, index) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    id: `id-${index}`,
    userName: `user${index}`,
    ...(index !== 3 && { active: index !== 2 }),
    emails: [{ value: `user${index}@example.org`, primary: true }],
  }));
  const page = (from: number, count: number) => ({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: users.length,
    itemsPerPage: count,
    startIndex: from,
    Resources: users.slice(from - 1, from - 1 + count),
  });

  test('pages by index, of which the provider makes smaller ones than asked for', async () => {
    const server = await providerServer((asked) => ({ body: page(Number(at(asked, 'startIndex')), 2) }));
    const read = [...(await readScimUsers(server.client('scim/v2/'), { paging: 'index' }))];
    expect(read.map(({ logins, disabled }) => [logins[0], disabled?.attribute ?? null])).toEqual([
      ['user0', null],
      ['user1', null],
      ['user2', 'active'],
      ['user3', null],
      ['user4', null],
    ]);
    expect(server.asked.map((asked) => at(asked, 'startIndex'))).toEqual(['1', '3', '5', '6']);
    expect(server.asked[0]).toMatchObject({ url: { pathname: '/scim/v2/Users' } });
    expect(server.asked[0]?.headers).toMatchObject({ authorization: 'Bearer t' });
  });

  test('pages by cursor, which the configuration of the provider offers', async () => {
    const answers: Record<string, Answer> = {
      '': { body: { Resources: users.slice(0, 3), nextCursor: 'YW', itemsPerPage: 3 } },
      YW: { body: { Resources: users.slice(3), totalResults: 5 } },
    };
    const server = await providerServer((asked) =>
      asked.url.pathname.endsWith('/ServiceProviderConfig')
        ? { body: { pagination: { cursor: true, index: false } } }
        : (answers[at(asked, 'cursor') ?? 'none'] ?? { status: 400 }),
    );
    expect([...(await readScimUsers(server.client('scim/v2/')))]).toHaveLength(5);
  });

  test.each([
    [
      'an end before the announced number',
      (asked: Asked) => (at(asked, 'startIndex') === '1' ? page(1, 2) : { ...page(9, 2), Resources: [] }),
      /listed 2 users, but announced 5/,
    ],
    [
      'a user twice',
      (asked: Asked) => page(Math.max(Number(at(asked, 'startIndex')) - 1, 1), 2),
      /listed 1 of \d users twice/,
    ],
    ['no number at all', () => ({ Resources: users }), /without totalResults/],
    [
      'users without names',
      () => ({ totalResults: 1, Resources: [{ id: 'x' }] }),
      /unexpected format \(Resources\.#\.userName of x\)/,
    ],
    ...['terminated', 'maybe', 'yes', '1', '', 1, 0, [], {}].map((active): [string, () => object, RegExp] => [
      `the state ${JSON.stringify(active)}`,
      () => ({ totalResults: 1, Resources: [{ ...users[0], active }] }),
      /unexpected format \(Resources\.#\.active of id-0\)/,
    ]),
  ])('%s is a failure', async (_, body, problem) => {
    const server = await providerServer((asked) => ({ body: body(asked) }));
    await expect(readScimUsers(server.client('scim/v2/'), { paging: 'index' })).rejects.toThrow(problem);
  });

  /** A provider with pages of at most `size`, that announces and answers behind the last user as told. */
  const pager = (
    count: number,
    size: number,
    announce: (onPage: number, from: number) => number,
    behind: (from: number) => Answer | null = () => null,
  ) => {
    const all = Array.from({ length: count }, (_, index) => ({
      id: `p${index}`,
      userName: `person${index}`,
    }));
    return providerServer((asked) => {
      const from = Number(at(asked, 'startIndex'));
      const other = behind(from);
      if (other !== null) return other;
      const Resources = all.slice(from - 1, from - 1 + Math.min(size, Number(at(asked, 'count'))));
      return { body: { totalResults: announce(Resources.length, from), Resources } };
    });
  };
  const usersOf = async (server: Awaited<ReturnType<typeof pager>>) =>
    (await readScimUsers(server.client(), { paging: 'index' })).size;

  test.each<[string, Parameters<typeof pager>, RegExp]>([
    [
      'announces the users of each page',
      [205, 100, (onPage) => onPage],
      /listed 205 users, but announced 100, then 5/,
    ],
    [
      'announces the users of full pages',
      [200, 100, (onPage) => onPage],
      /listed 200 users, but announced 100/,
    ],
    ['stops counting at a limit', [130, 50, () => 100], /listed 130 users, but announced 100/],
    [
      'counts on with each page',
      [90, 40, (onPage, from) => from + onPage],
      /listed 90 users, but announced 41, then 81, then 91/,
    ],
    [
      'sends the first page again and again',
      [
        120,
        100,
        (onPage) => onPage,
        (from) =>
          from === 101
            ? {
                body: {
                  totalResults: 100,
                  Resources: Array.from({ length: 100 }, (_, index) => ({
                    id: `p${index}`,
                    userName: `person${index}`,
                  })),
                },
              }
            : null,
      ],
      /listed 100 users, but announced 100, then 1/,
    ],
    [
      'refuses what is behind a limit',
      [150, 50, () => 100, (from) => (from > 100 ? { status: 400 } : null)],
      /sends no page after 100 users/,
    ],
  ])('a provider that %s proves no whole list', async (_, [...pages], problem) => {
    await expect(usersOf(await pager(...pages))).rejects.toThrow(problem);
  });

  test.each<[string, Parameters<typeof pager>]>([
    ['has an empty page behind the last user, with a total of 0', [100, 100, (onPage) => onPage]],
    [
      'refuses a page behind the last user',
      [45, 20, () => 45, (from) => (from > 45 ? { status: 404 } : null)],
    ],
    ['sends the same page whatever is asked', [5, 50, () => 5, () => ({ body: page(1, 5) })]],
  ])('a list is whole where a provider %s', async (_, pages) => {
    expect(await usersOf(await pager(...pages))).toBe(pages[0]);
  });

  test.each([404, 501])('pages by index where ServiceProviderConfig answers %i', async (status) => {
    const server = await providerServer((asked) =>
      asked.url.pathname.endsWith('/ServiceProviderConfig')
        ? { status }
        : { body: page(Number(at(asked, 'startIndex')), 3) },
    );
    expect((await readScimUsers(server.client('v2/'))).size).toBe(5);
  });

  test('a list that changed while it was read is read anew', async () => {
    let readings = 0;
    const server = await providerServer((asked) => {
      const start = Number(at(asked, 'startIndex'));
      if (start === 1) readings += 1;
      return { body: readings === 1 && start > 1 ? page(start - 1, 3) : page(start, 3) };
    });
    expect([...(await readScimUsers(server.client(), { paging: 'index' }))]).toHaveLength(5);
    expect(readings).toBe(2);
  });

  test('a user who is deleted while the list is read hides no other user', async () => {
    let left = users;
    const server = await providerServer((asked) => {
      const start = Number(at(asked, 'startIndex'));
      const body = { totalResults: left.length, Resources: left.slice(start - 1, start + 1) };
      // Who comes after the first page moves into it.
      left = users.slice(1);
      return { body };
    });
    const read = [...(await readScimUsers(server.client(), { paging: 'index' }))];
    expect(read.map(({ id }) => id)).toEqual(['id-1', 'id-2', 'id-3', 'id-4']);
  });

  test('a list of which each page announces another number is not complete', async () => {
    const server = await providerServer((asked) => {
      const start = Number(at(asked, 'startIndex'));
      return {
        body: { totalResults: start === 1 ? 5 : start, Resources: users.slice(start - 1, start + 1) },
      };
    });
    const read = readScimUsers(server.client(), { paging: 'index' });
    await expect(read).rejects.toThrow(
      /listed 5 users, but announced 5, then 3, then 6: the list is not complete/,
    );
  });
});

describe('Microsoft Graph', () => {
  const user = (id: string, more: object = {}) => ({
    id,
    userPrincipalName: `${id}@example.org`,
    mail: `${id}@example.org`,
    otherMails: [],
    accountEnabled: true,
    ...more,
  });

  test('follows @odata.nextLink, and sees who is disabled', async () => {
    const server = await providerServer((asked) => ({
      body: asked.url.searchParams.has('$skiptoken')
        ? { value: [user('b', { accountEnabled: false, mail: null })] }
        : {
            '@odata.count': 2,
            '@odata.nextLink': new URL('/v1.0/users?$skiptoken=RFNwd', asked.url).href,
            value: [user('a')],
          },
    }));
    expect([...(await readGraphUsers(server.client('v1.0/')))]).toEqual([
      { id: 'a', logins: ['a@example.org'], emails: ['a@example.org'], disabled: null },
      {
        id: 'b',
        logins: ['b@example.org'],
        emails: [],
        disabled: { attribute: 'accountEnabled', value: 'false', since: null },
      },
    ]);
    expect(server.asked[0]?.headers['consistencylevel']).toBe('eventual');
    expect(server.asked[0]?.url.pathname).toBe('/v1.0/users');
  });

  test.each([
    ['fewer than counted', { '@odata.count': 3, value: [user('a')] }, /announced 3/],
    ['no right to see who is disabled', { value: [user('a', { accountEnabled: null })] }, /accountEnabled/],
    ['a next page elsewhere', { '@odata.nextLink': 'https://evil.example/x', value: [] }, /another host/],
    ['the same next page', { '@odata.nextLink': '/v1.0/users?$skiptoken=1', value: [] }, /same next page/],
  ])('%s is a failure', async (_, body, problem) => {
    const server = await providerServer(() => ({ body }));
    await expect(readGraphUsers(server.client('v1.0/'))).rejects.toThrow(problem);
  });
});

describe('Okta', () => {
  const user = (id: string, status: string) => ({
    id,
    status,
    statusChanged: '2026-11-20T10:00:00.000Z',
    profile: { login: `${id}@example.org`, email: `${id}@mail.example.org`, secondEmail: null },
  });

  test('follows Link headers, and reads the deactivated users, which its list leaves out', async () => {
    const server = await providerServer((asked) => {
      const { url } = asked;
      if (at(asked, 'filter') !== null) return { body: [user('d', 'DEPROVISIONED')] };
      const self = `<${url.href}>; rel="self"`;
      if (at(asked, 'after') !== null) return { body: [user('c', 'LOCKED_OUT')], headers: { link: self } };
      const next = `<${new URL('/api/v1/users?after=200u&limit=200', url).href}>; rel="next"`;
      return { body: [user('a', 'ACTIVE'), user('b', 'SUSPENDED')], headers: { link: `${self}, ${next}` } };
    });
    const read = [...(await readOktaUsers(server.client('', 'SSWS key')))];
    expect(read.map(({ id, disabled }) => [id, disabled?.value ?? null])).toEqual([
      ['d', 'DEPROVISIONED'],
      ['a', null],
      ['b', 'SUSPENDED'],
      ['c', null],
    ]);
    expect(read[0]?.disabled?.since).toBe('2026-11-20T10:00:00.000Z');
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill('SSWS key'));
    expect(at(server.asked[0] as Asked, 'filter')).toBe('status eq "DEPROVISIONED"');
  });

  test('a user with a status that Okta does not have yet ends it by the id', async () => {
    const server = await providerServer(() => ({ body: [user('a', 'ACTIVE'), user('b', 'ARCHIVED')] }));
    await expect(readOktaUsers(server.client())).rejects.toThrow(/unexpected format \(#\.status of b\)/);
  });

  test('a full page without the header that names the next one is no whole list', async () => {
    const full = Array.from({ length: 200 }, (_, index) => user(`u${index}`, 'ACTIVE'));
    const server = await providerServer((asked) => ({ body: at(asked, 'filter') === null ? full : [] }));
    await expect(readOktaUsers(server.client())).rejects.toThrow(/full page without the Link header/);
  });

  test('a user who is activated again between the two lists is missing in neither', async () => {
    let isActive = false;
    const server = await providerServer((asked) => {
      const ofDeactivated = at(asked, 'filter') !== null;
      const body = ofDeactivated === isActive ? [] : [user('a', isActive ? 'ACTIVE' : 'DEPROVISIONED')];
      isActive = true;
      return { body: ofDeactivated ? body : [...body, user('b', 'ACTIVE')] };
    });
    const read = [...(await readOktaUsers(server.client('', 'SSWS key')))];
    expect(read.map(({ id, disabled }) => [id, disabled])).toEqual([
      ['a', null],
      ['b', null],
    ]);
  });
});

describe('Google Workspace', () => {
  test('follows page tokens, and sees suspended and archived users', async () => {
    const server = await providerServer((asked) => ({
      body:
        at(asked, 'pageToken') === 'p2'
          ? { users: [{ id: '3', primaryEmail: 'c@example.org', suspended: false, archived: true }] }
          : {
              nextPageToken: 'p2',
              users: [
                { id: '1', primaryEmail: 'a@example.org', aliases: ['x@example.org'], suspended: false },
                { id: '2', primaryEmail: 'b@example.org', suspended: true, suspensionReason: 'ADMIN' },
              ],
            },
    }));
    const read = [...(await readGoogleUsers(server.client()))];
    expect(
      read.map(({ logins, disabled }) => [logins[0], disabled && `${disabled.attribute}=${disabled.value}`]),
    ).toEqual([
      ['a@example.org', null],
      ['b@example.org', 'suspended=true (ADMIN)'],
      ['c@example.org', 'archived=true'],
    ]);
    expect(read[0]?.emails).toEqual(['a@example.org', 'x@example.org']);
    expect(at(server.asked[0] as Asked, 'customer')).toBe('my_customer');
  });
});

describe('Keycloak', () => {
  const users = Array.from({ length: 501 }, (_, index) => ({
    id: `k${index}`,
    username: `user${index}`,
    enabled: index !== 500,
  }));
  const keycloak = (count: number) =>
    providerServer((asked) => {
      if (asked.url.pathname === '/admin/realms/my%20realm/users/count') return { body: count };
      const first = Number(at(asked, 'first'));
      return { body: users.slice(first, first + Number(at(asked, 'max'))) };
    });

  test('reads as many users as it counts', async () => {
    const server = await keycloak(501);
    const read = [...(await readKeycloakUsers(server.client(), { realm: 'my realm' }))];
    expect(read).toHaveLength(501);
    expect(read.filter(({ disabled }) => disabled !== null).map(({ logins }) => logins)).toEqual([
      ['user500'],
    ]);
  });

  test('reads on behind pages that are short, whatever it counts', async () => {
    const server = await providerServer((asked) => {
      if (asked.url.pathname.endsWith('/count')) return { body: 100 };
      const first = Number(at(asked, 'first'));
      return { body: users.slice(first, first + 100) };
    });
    expect((await readKeycloakUsers(server.client(), { realm: 'staff' })).size).toBe(501);
  });

  test('does not read the same page without an end', async () => {
    const server = await providerServer((asked) => ({
      body: asked.url.pathname.endsWith('/count') ? 500 : users.slice(0, 100),
    }));
    const read = readKeycloakUsers(server.client(), { realm: 'staff' });
    await expect(read).rejects.toThrow(/listed 100 of 200 users twice: the list is not complete/);
    expect(server.asked).toHaveLength(9);
  });

  test('and fails where it lists fewer', async () => {
    const server = await keycloak(600);
    const read = readKeycloakUsers(server.client(), { realm: 'my realm' });
    await expect(read).rejects.toThrow(/listed 501 users, but announced 600: the list is not complete/);
  });
});

describe('a question for one user', () => {
  const NAMED = ['SCIM', 'Microsoft Graph', 'Okta', 'Google Workspace', 'Keycloak'] as const;
  const FIND: Readonly<Record<(typeof NAMED)[number], FindUsers>> = {
    SCIM: findScimUsers,
    'Microsoft Graph': findGraphUsers,
    Okta: findOktaUsers,
    'Google Workspace': findGoogleUsers,
    Keycloak: findKeycloakUsers({ realm: 'my realm' }),
  };

  test.each<[(typeof NAMED)[number], 'id' | 'login' | 'email', string, RegExp]>([
    ['SCIM', 'id', 'a?b', /^\/Users\/a%3Fb\?attributes=/],
    ['SCIM', 'login', 'a"b\\', /&filter=userName\+eq\+%22a%5C%22b%5C%5C%22$/],
    ['SCIM', 'email', 'a@x', /&filter=emails\.value\+eq\+%22a%40x%22$/],
    ['Microsoft Graph', 'id', 'a#b', /^\/users\/a%23b\?%24select=/],
    ['Microsoft Graph', 'login', "o'neil", /&%24filter=userPrincipalName\+eq\+%27o%27%27neil%27$/],
    ['Microsoft Graph', 'email', 'a@x', /&%24filter=mail\+eq\+%27a%40x%27\+or\+otherMails%2Fany/],
    ['Okta', 'login', 'a@x', /^\/api\/v1\/users\/a%40x$/],
    ['Okta', 'email', 'a@x', /\?filter=profile\.email\+eq\+%22a%40x%22$/],
    ['Google Workspace', 'login', 'a@x', /^\/admin\/directory\/v1\/users\/a%40x\?fields=id,/],
    ['Keycloak', 'id', 'k1', /^\/admin\/realms\/my%20realm\/users\/k1$/],
    ['Keycloak', 'login', 'a b', /\?username=a\+b&exact=true/],
    ['Keycloak', 'email', 'a@x', /\?email=a%40x&exact=true/],
  ])('is asked of %s by %s %s', async (name, kind, value, address) => {
    const server = await providerServer(() => ({ status: 403 }));
    await askEach(server.client(), [{ kind, value }], FIND[name]);
    expect(server.asked.map(({ url }) => url.pathname + url.search)[0]).toMatch(address);
  });

  test.each(NAMED)(
    'that %s answers with 404 finds no one, nor does what is no part of an address',
    async (name) => {
      const server = await providerServer(() => ({ status: 404 }));
      const asked = ['gone', '..', '.', '', 'a/b'].map((value) => ({ kind: 'id', value }) as const);
      const answers = await askEach(server.client(), asked, FIND[name]);
      expect(answers).toEqual(asked.map(() => ({ found: [] })));
      expect(server.asked).toHaveLength(1);
    },
  );

  test('that is refused does not end the others; a provider that refuses all is asked no further', async () => {
    const asked = Array.from({ length: 50 }, (_, index) => ({ kind: 'id', value: `u${index}` }) as const);
    const some = await providerServer(({ url }) => ({ status: url.pathname.endsWith('7') ? 400 : 404 }));
    const answers = await askEach(some.client(), asked, findScimUsers);
    expect(answers.filter((answer) => 'why' in answer)).toHaveLength(5);
    const none = await providerServer(() => ({ status: 401 }));
    const refused = await askEach(none.client(), asked, findScimUsers);
    expect(refused.map((answer) => 'why' in answer && answer.why)).toEqual(
      asked.map(() => 'The provider answered 401'),
    );
    expect(none.asked.length).toBeLessThan(asked.length);
  });
});
