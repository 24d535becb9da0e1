import { describe, expect, test } from 'vitest';
import { FakeController, fakeToken, json, pastRoot, tokenJson } from '../../../support/fake-controller.ts';
import { bearer, collected, errorOf, openTestTarget } from '../../../support/test-target.ts';

describe('tokens', () => {
  test('are read page by page, ascending, each page once', async () => {
    await using fake = await FakeController.start(450);
    const target = openTestTarget(fake.address);
    const tokens = await collected(target.tokens({ all: true }));
    expect(tokens.map(({ id }) => id)).toEqual(Array.from({ length: 450 }, (_, index) => index + 1));
    expect(fake.requests).toEqual([
      'GET /api/',
      'GET /api/v2/tokens/?id__gt=0&order_by=id&page_size=200',
      // What is added meanwhile is left out: the list ends where it ended then.
      'GET /api/v2/tokens/?order_by=-id&page_size=1&count_disabled=1',
      'GET /api/v2/tokens/?id__gt=200&id__lte=450&order_by=id&page_size=200&count_disabled=1',
      'GET /api/v2/tokens/?id__gt=400&id__lte=450&order_by=id&page_size=200&count_disabled=1',
    ]);
    await target.close();
  });

  test('of one page take one request', async () => {
    await using fake = await FakeController.start(199);
    const target = openTestTarget(fake.address);
    expect(await collected(target.tokens({ all: true }))).toHaveLength(199);
    expect(fake.requests).toEqual(['GET /api/', 'GET /api/v2/tokens/?id__gt=0&order_by=id&page_size=200']);
    await target.close();
  });

  test('are complete while other tokens are deleted', async () => {
    await using fake = await FakeController.start(600);
    const target = openTestTarget(fake.address);
    const seen: number[] = [];
    for await (const { id } of target.tokens({ all: true })) {
      seen.push(id);
      if (id % 2 === 0) fake.tokens.delete(id - 1);
    }
    expect(seen).toHaveLength(600);
    await target.close();
  });

  test('are complete if tokens are deleted before they are read', async () => {
    await using fake = await FakeController.start(600);
    const target = openTestTarget(fake.address);
    const seen: number[] = [];
    for await (const { id } of target.tokens({ all: true })) {
      seen.push(id);
      fake.tokens.delete(id + 250);
    }
    expect(seen).toHaveLength(400);
    fake.fault = (request, response) => {
      const isFirst = request.url?.includes('page_size=200') === true;
      return isFirst && json(response, 200, { count: 501, next: null, results: [plain(1)] });
    };
    fake.tokens.clear();
    fake.tokens.set(1, fakeToken(1));
    expect(await collected(target.tokens({ all: true }))).toHaveLength(1);
    await target.close();
  });

  test.each([
    ['one page', 40, 3],
    ['no page', 40, 0],
    ['several pages', 1000, 450],
  ])('are refused if fewer are listed than announced, on %s', async (_, count, length) => {
    await using fake = await FakeController.start(length);
    fake.fault = pastRoot((request, response) => {
      const query = new URL(request.url ?? '/', 'http://fake').searchParams;
      if (query.has('count_disabled')) return false;
      const results = Array.from({ length: Math.min(length, Number(query.get('page_size'))) }, (_each, at) =>
        tokenJson(fakeToken(at + 1)),
      );
      return json(response, 200, { count, next: length > 200 ? '/more' : null, results });
    });
    const target = openTestTarget(fake.address);
    const error = await errorOf(collected(target.tokens({ all: true })));
    expect(error).toMatchObject({ code: 'target_misbehaved', hint: expect.any(String) });
    expect(error.message).toBe(
      `${fake.address} announced ${count.toLocaleString('en-US')} items for the list of tokens and listed ${length}`,
    );
    await target.close();
  });

  test('are read with all fields', async () => {
    await using fake = await FakeController.start();
    fake.tokens.set(7, fakeToken(7, { application: 'CI', hasRefreshToken: true, scope: 'read' }));
    const target = openTestTarget(fake.address);
    expect(await collected(target.tokens({ ids: [7] }))).toEqual([
      {
        id: 7,
        user: { id: 3, username: 'bob' },
        application: { id: 9, name: 'CI' },
        scope: 'read',
        description: '',
        created: new Date('2026-01-01T00:00:00Z'),
        expires: new Date('3026-01-01T00:00:00Z'),
        lastUsed: undefined,
        hasRefreshToken: true,
        fingerprint: null,
      },
    ]);
    await target.close();
  });

  test.each([
    ['without results', {}],
    ['with something else among the results', { results: [{ id: 'one' }], next: null }],
    ['with ids that do not ascend', { results: [{ ...plain(5) }, { ...plain(5) }], next: null }],
  ])('refuses a page %s', async (_, page) => {
    await using fake = await FakeController.start();
    fake.fault = pastRoot((_request, response) => json(response, 200, page));
    const target = openTestTarget(fake.address);
    expect((await errorOf(collected(target.tokens({ all: true })))).code).toBe('target_misbehaved');
    await target.close();
  });

  test.each([
    [
      'that never ends',
      { count: 1000 },
      'sent more than the 1,000 items that it announced for the list of tokens; stopped at page 8',
    ],
    [
      'of ever shorter pages',
      { count: 1000, size: 1 },
      'sent more pages than the 1,000 items that it announced for the list of tokens require; stopped at page 10',
    ],
    [
      'of an absurd length',
      { count: 1e12 },
      'announced 1,000,000,000,000 items for the list of tokens; the maximum is 20,000,000',
    ],
    ['of unknown length', {}, 'in a format that no controller or gateway uses'],
  ])(
    'gives up on a list %s',
    async (_, { count, size = 200 }: { count?: number; size?: number }, message) => {
      await using fake = await FakeController.start();
      let pages = 0;
      fake.fault = pastRoot((request, response) => {
        const query = new URL(request.url ?? '/', 'http://fake').searchParams;
        if (query.get('order_by') === '-id') {
          return json(response, 200, { results: [tokenJson(fakeToken(1e15))] });
        }
        pages += 1;
        const after = Number(query.get('id__gt'));
        const length = pages === 1 ? 200 : pages < 100 ? size : 0;
        const ids = Array.from({ length }, (_each, index) => after + index + 1);
        const announced = query.has('count_disabled') ? {} : { count };
        return json(response, 200, { ...announced, results: ids.map((id) => tokenJson(fakeToken(id))) });
      });
      const target = openTestTarget(fake.address);
      const error = await errorOf(collected(target.tokens({ all: true })));
      expect(error).toMatchObject({ code: 'target_misbehaved', hint: expect.any(String) });
      expect(error.message).toBe(
        message.startsWith('in a')
          ? `${fake.address} sent the list of tokens ${message}`
          : `${fake.address} ${message}`,
      );
      await target.close();
    },
  );

  test('say at which page a list could not be read further', async () => {
    await using fake = await FakeController.start(600);
    fake.fault = pastRoot(
      (request, response) => request.url?.includes('id__gt=400') === true && json(response, 500, {}),
    );
    const target = openTestTarget(fake.address);
    const error = await errorOf(collected(target.tokens({ all: true })));
    expect(error).toMatchObject({
      code: 'target_misbehaved',
      message: `${fake.address} failed to return page 3 of the list of tokens (HTTP 500)`,
    });
    await target.close();
  });

  test('are unsupported if a filter is rejected', async () => {
    await using fake = await FakeController.start();
    fake.fault = pastRoot((_request, response) => json(response, 400, { detail: 'no such field' }));
    const target = openTestTarget(fake.address);
    expect((await errorOf(collected(target.tokens({ unusedSince: new Date() })))).code).toBe('unsupported');
    await target.close();
  });
});

describe('ownTokenIds', () => {
  test('is empty with a password', async () => {
    await using fake = await FakeController.start(3);
    const target = openTestTarget(fake.address);
    expect(await target.ownTokenIds()).toEqual([]);
    await target.close();
  });

  test('returns tokens used within the last minute by the server’s clock', async () => {
    await using fake = await FakeController.start();
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
    fake.tokens.set(1, fakeToken(1, { lastUsed: ago(3600) }));
    fake.tokens.set(2, fakeToken(2, { lastUsed: ago(59) }));
    fake.tokens.set(3, fakeToken(3, { lastUsed: null }));
    fake.tokens.set(4, fakeToken(4, { lastUsed: ago(1) }));
    const target = openTestTarget(fake.address, { credential: bearer });
    expect(await target.ownTokenIds()).toEqual([2, 4]);
    // The credential is among those of each search.
    fake.tokens.set(2, fakeToken(2, { lastUsed: ago(600) }));
    fake.tokens.set(3, fakeToken(3, { lastUsed: ago(1) }));
    expect(await target.ownTokenIds()).toEqual([4]);
    fake.tokens.set(4, fakeToken(4, { lastUsed: ago(600) }));
    expect(await target.ownTokenIds()).toEqual([4]);
    await target.close();
  });

  test('returns all of the caller’s tokens without a Date header', async () => {
    await using fake = await FakeController.start(3);
    fake.fault = (_, response) => {
      response.sendDate = false;
      return false;
    };
    const target = openTestTarget(fake.address, { credential: bearer });
    expect(await target.ownTokenIds()).toEqual([1, 2, 3]);
    await target.close();
  });

  test('returns all of the caller’s tokens if the last use cannot be queried', async () => {
    await using fake = await FakeController.start(3);
    fake.fault = (request, response) =>
      request.url?.includes('last_used') === true && json(response, 400, {});
    const target = openTestTarget(fake.address, { credential: bearer });
    expect(await target.ownTokenIds()).toEqual([1, 2, 3]);
    await target.close();
  });
});

describe('rejected settings', () => {
  test.each([
    [400, 'unsupported'],
    [403, 'permission_refused'],
  ])('%i', async (status, code) => {
    await using fake = await FakeController.start();
    fake.fault = pastRoot((_, response) => json(response, status, { AUTH_BASIC_ENABLED: ['no'] }));
    const target = openTestTarget(fake.address);
    expect((await errorOf(target.settings.write({ AUTH_BASIC_ENABLED: false }))).code).toBe(code);
    await target.close();
  });

  test('settings in an unexpected format', async () => {
    await using fake = await FakeController.start();
    fake.fault = pastRoot((_, response) => json(response, 200, { hello: 'world' }));
    const target = openTestTarget(fake.address);
    expect((await errorOf(target.settings.read())).code).toBe('target_misbehaved');
    await target.close();
  });
});

describe('settings, users, applications', () => {
  test('are read; a setting is written with PATCH', async () => {
    await using fake = await FakeController.start();
    const target = openTestTarget(fake.address);
    expect((await target.settings.read()).AUTH_BASIC_ENABLED).toBe(true);
    expect((await target.settings.write({ AUTH_BASIC_ENABLED: false })).AUTH_BASIC_ENABLED).toBe(false);
    expect(fake.requests.at(-1)).toBe('PATCH /api/v2/settings/authentication/');
    const users = await collected(target.users.list());
    expect(users.map(({ username, externalAccount }) => [username, externalAccount])).toEqual([
      ['admin', null],
      ['alice', null],
      ['bob', 'ldap'],
    ]);
    expect(await target.applications.list(['CI'])).toEqual([]);
    await target.close();
  });

  test('are written although the connection breaks before the response', async () => {
    await using fake = await FakeController.start();
    let breaks = 2;
    fake.fault = ({ method, socket }) => method === 'PATCH' && breaks-- > 0 && socket.destroy() !== null;
    const target = openTestTarget(fake.address);
    expect((await target.settings.write({ AUTH_BASIC_ENABLED: false })).AUTH_BASIC_ENABLED).toBe(false);
    expect(fake.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(3);
    await target.close();
  });

  test('a token is created by one request, which is not sent again', async () => {
    await using fake = await FakeController.start();
    fake.fault = ({ method, socket }) => method === 'POST' && socket.destroy() !== null;
    const target = openTestTarget(fake.address);
    const error = await errorOf(target.createToken({ scope: 'read', description: '' }));
    expect(error.code).toBe('target_unreachable');
    expect(fake.requests.filter((request) => request.startsWith('POST'))).toHaveLength(1);
    await target.close();
  });

  test('a partial OAUTH2_PROVIDER is read as the controller reads it', async () => {
    await using fake = await FakeController.start();
    fake.settings['OAUTH2_PROVIDER'] = { ACCESS_TOKEN_EXPIRE_SECONDS: 60 };
    const target = openTestTarget(fake.address);
    expect((await target.settings.read()).OAUTH2_PROVIDER).toEqual({
      ACCESS_TOKEN_EXPIRE_SECONDS: 60,
      REFRESH_TOKEN_EXPIRE_SECONDS: 0,
      AUTHORIZATION_CODE_EXPIRE_SECONDS: 0,
    });
    await target.close();
  });
});

function plain(id: number) {
  return { id, user: 1, scope: 'read', created: '2026-01-01T00:00:00Z', expires: '2027-01-01T00:00:00Z' };
}
