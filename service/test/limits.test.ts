import { clientNetwork } from '@tokenctl/common/network-address.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, inject, it } from 'vitest';
import { RequestFailure } from '../src/failure.ts';
import { clientLeft, FairShare } from '../src/limits/fair-share.ts';
import { Buckets, PasswordLimits } from '../src/limits/limits.ts';
import { ADMIN, type Answer, basic, Client, startTestService, useService } from './support/service.ts';
import { copyServiceTemplate } from './support/service-template.ts';

/** A clock that is moved by hand. */
class Clock {
  #at = 0;
  readonly now = () => this.#at;
  pass(seconds: number): void {
    this.#at += seconds * 1000;
  }
}

/** Seconds to wait before an attempt, 0 where it may be made now. */
function attempt(limits: PasswordLimits, address: string, username: string, right = false): number {
  try {
    const begun = limits.begin({ network: clientNetwork(address), username });
    if (right) begun.succeeded();
    return 0;
  } catch (error) {
    if (!(error instanceof RequestFailure) || error.status !== 429) throw error;
    return Number(error.headers['Retry-After']);
  }
}

/** Work of users that ends by hand, and a list of what has begun. */
function sharedWork(share: FairShare) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    ask(user: number, name: string, signal = new AbortController().signal) {
      return share.run(user, signal, async (ended) => {
        begun.push(name);
        await new Promise<void>((resolve, reject) => {
          ends.set(name, resolve);
          ended.addEventListener('abort', () => reject(ended.reason));
        });
      });
    },
    async end(name: string) {
      ends.get(name)?.();
      // What had to wait begins in a later turn of the event loop.
      for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
    },
  };
}

describe('shares', () => {
  it('let each user run little at once, and users take turns', async () => {
    const work = sharedWork(new FairShare({ perUser: 2, total: 3 }));
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map((name) => work.ask(name.charCodeAt(0), name));
    await new Promise(setImmediate);
    expect(work.begun).toEqual(['a1', 'a2', 'b1']);
    await work.end('a1');
    expect(work.begun.slice(3)).toEqual(['a3']);
    await work.end('a2');
    expect(work.begun.slice(4)).toEqual(['c1']);
    await work.end('b1');
    for (const name of ['a3', 'a4', 'c1']) await work.end(name);
    expect(work.begun).toEqual(['a1', 'a2', 'b1', 'a3', 'c1', 'a4']);
    await Promise.all(all);
  });

  it('forget work whose client left, and end what is running when they stop', async () => {
    const share = new FairShare({ perUser: 1, total: 1 });
    const work = sharedWork(share);
    const left = new AbortController();
    const refusals = [work.ask(1, 'a'), work.ask(1, 'b', left.signal), work.ask(2, 'c')].map((each) =>
      each.catch((error: unknown) => (error instanceof RequestFailure ? error.status : error)),
    );
    left.abort(clientLeft());
    await new Promise(setImmediate);
    await work.end('a');
    expect(work.begun).toEqual(['a', 'c']);
    share.stop();
    expect(await Promise.all(refusals)).toEqual([undefined, 499, 503]);
    await expect(work.ask(3, 'd')).rejects.toMatchObject({ status: 503 });
  });

  it('refuse a user with five hundred pieces of work waiting', async () => {
    const share = new FairShare({ perUser: 1, total: 1 });
    const work = sharedWork(share);
    const asked = Array.from({ length: 501 }, (_, n) => work.ask(1, String(n)).catch(() => undefined));
    await expect(work.ask(1, 'more')).rejects.toMatchObject({ status: 429 });
    share.stop();
    await Promise.all(asked);
  });
});

describe('buckets', () => {
  it('let a burst through, then as much as time fills up', () => {
    const clock = new Clock();
    const buckets = new Buckets({ burst: 3, refillSeconds: 10 }, clock.now);
    for (let left = 3; left > 0; left--) {
      expect(buckets.wait('a')).toBe(0);
      buckets.take('a');
    }
    expect(buckets.wait('a')).toBe(10);
    expect(buckets.wait('b')).toBe(0);
    buckets.take('a');
    clock.pass(10);
    expect(buckets.wait('a')).toBe(0);
    clock.pass(1000);
    expect(buckets.taken('a')).toBe(0);
  });

  it('remember a bounded number of keys', () => {
    const buckets = new Buckets({ burst: 1, refillSeconds: 1000, keys: 100 }, () => 0);
    for (let each = 0; each < 10_000; each++) buckets.take(`key ${each}`);
    expect(buckets.wait('key 9999')).toBe(1000);
    expect(buckets.wait('key 0')).toBe(0);
    expect(buckets.size).toBe(100);
  });
});

describe('networks', () => {
  it('are an IPv4 address, or half of an IPv6 one', () => {
    expect(clientNetwork('192.0.2.7')).toBe('192.0.2.7');
    expect(clientNetwork('::ffff:192.0.2.7')).toBe('192.0.2.7');
    expect(clientNetwork('2001:db8:1:2:aaaa::1')).toBe(clientNetwork('2001:db8:1:2::ffff'));
    expect(clientNetwork('2001:db8:1:2::1')).not.toBe(clientNetwork('2001:db8:1:3::1'));
    expect(clientNetwork('2001:0db8::1')).toBe(clientNetwork('2001:db8::2'));
    expect(clientNetwork('fe80::1%eth0')).toBe(clientNetwork('fe80::2'));
  });
});

describe('wrong passwords', () => {
  it('slow down who tries them, and never for good', () => {
    const clock = new Clock();
    const limits = new PasswordLimits(clock.now);
    for (let left = 10; left > 0; left--) expect(attempt(limits, '192.0.2.1', 'alice')).toBe(0);
    // However often is tried meanwhile, the wait does not grow.
    for (let left = 1000; left > 0; left--) expect(attempt(limits, '192.0.2.1', 'alice', true)).toBe(6);
    clock.pass(6);
    expect(attempt(limits, '192.0.2.1', 'alice', true)).toBe(0);
    for (let left = 10; left > 0; left--) expect(attempt(limits, '192.0.2.1', 'alice')).toBe(0);
  });

  it('are counted, right ones are not', () => {
    const limits = new PasswordLimits(() => 0);
    for (let left = 10_000; left > 0; left--) expect(attempt(limits, '192.0.2.1', 'alice', true)).toBe(0);
  });

  it('count while they are being verified: many at once are no way round', () => {
    const limits = new PasswordLimits(() => 0);
    const waits = Array.from({ length: 100 }, () => attempt(limits, '192.0.2.1', 'alice'));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(10);
  });

  it('for one name from everywhere are slowed, and its owner still gets in', () => {
    const clock = new Clock();
    const limits = new PasswordLimits(clock.now);
    expect(attempt(limits, '198.51.100.1', 'alice', true)).toBe(0);
    let through = 0;
    for (let round = 0; round < 10; round++) {
      for (let each = 0; each < 200; each++) {
        if (attempt(limits, `203.0.113.${each}`, 'alice') === 0) through++;
      }
    }
    // Three from each address, and the fifty of the name: not ten from each.
    expect(through).toBeLessThanOrEqual(200 * 3 + 50);
    // From where she logged in before, and from where no one has tried.
    expect(attempt(limits, '198.51.100.1', 'alice', true)).toBe(0);
    expect(attempt(limits, '198.51.100.2', 'alice', true)).toBe(0);
  });

  it('for many names from one network are slowed, others from there are not denied for good', () => {
    const clock = new Clock();
    const limits = new PasswordLimits(clock.now);
    expect(attempt(limits, '192.0.2.1', 'alice', true)).toBe(0);
    let through = 0;
    for (let each = 0; each < 5000; each++) if (attempt(limits, '192.0.2.1', `name ${each}`) === 0) through++;
    expect(through).toBe(200);
    expect(attempt(limits, '192.0.2.1', 'alice', true)).toBe(0);
    expect(attempt(limits, '192.0.2.1', 'bob', true)).toBe(1);
    clock.pass(1);
    expect(attempt(limits, '192.0.2.1', 'bob', true)).toBe(0);
  });
});

describe('wrong passwords from a browser that the user logged in with before', () => {
  const first = { userId: 7, id: 'first' };
  const from = (limits: PasswordLimits, device: { userId: number; id: string }, right = false) => {
    try {
      const begun = limits.begin({ network: '192.0.2.1', username: 'alice', device });
      if (right) begun.succeeded();
      return 0;
    } catch (error) {
      return error instanceof RequestFailure ? Number(error.headers['Retry-After']) : Number.NaN;
    }
  };
  const exhaust = (limits: PasswordLimits) => {
    for (let each = 0; each < 300; each++) attempt(limits, '192.0.2.1', each < 20 ? 'alice' : `name ${each}`);
    expect(attempt(limits, '192.0.2.1', 'alice')).toBeGreaterThan(0);
  };

  it('do not count for its network, and the network not for it', () => {
    const limits = new PasswordLimits(() => 0);
    exhaust(limits);
    for (let each = 0; each < 100; each++) expect(from(limits, first, true)).toBe(0);
    const quiet = new PasswordLimits(() => 0);
    for (let each = 0; each < 10; each++) expect(from(quiet, first)).toBe(0);
    for (let each = 0; each < 10; each++) expect(attempt(quiet, '192.0.2.1', 'alice')).toBe(0);
  });

  it('are ten for each browser, then count as from any other', () => {
    const clock = new Clock();
    const limits = new PasswordLimits(clock.now);
    exhaust(limits);
    for (let each = 0; each < 10; each++) expect(from(limits, first)).toBe(0);
    expect(from(limits, first, true)).toBeGreaterThan(0);
    expect(from(limits, { userId: 7, id: 'second' }, true)).toBe(0);
    clock.pass(6);
    expect(from(limits, first, true)).toBe(0);
  });

  it('are fifty for all browsers of a user: collected cookies are not worth more', () => {
    const limits = new PasswordLimits(() => 0);
    exhaust(limits);
    const waits = Array.from({ length: 1000 }, (_, each) =>
      from(limits, { userId: 7, id: `cookie ${each}` }),
    );
    expect(waits.filter((wait) => wait === 0)).toHaveLength(50);
    expect(from(limits, { userId: 8, id: 'of another user' }, true)).toBe(0);
  });
});

describe('over HTTP', () => {
  const { service } = useService(() => ({ behindProxy: true }));
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const attempts = (count: number, send: () => Promise<Answer>) =>
    Promise.all(Array.from({ length: count }, send));

  it('the eleventh wrong password by Basic authentication is answered with 429 and Retry-After', async () => {
    let tried = 0;
    const answers = await attempts(11, () =>
      new Client(service.url, { ...basic('nobody', `wrong ${tried++}`), ...from('192.0.2.1') }).get(
        '/api/v2/me/',
      ),
    );
    const wrong = new Client(service.url, { ...basic('nobody', 'wrong'), ...from('192.0.2.1') });
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(401), 429]);
    const refused = await wrong.get('/api/v2/me/');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.json.detail).toMatch(/Try again in \d+ second/);
    // Of another address, and another user, nothing is held up.
    const elsewhere = new Client(service.url, { ...basic('nobody', 'wrong'), ...from('192.0.2.2') });
    expect((await elsewhere.get('/api/v2/me/')).status).toBe(401);
    const other = new Client(service.url, { ...basic(ADMIN.username, ADMIN.password), ...from('192.0.2.1') });
    expect((await other.get('/api/v2/me/')).status).toBe(200);
  });

  it('the login says so on its page', async () => {
    const browser = new Client(service.url, from('192.0.2.3'));
    let tried = 0;
    await attempts(10, () => browser.logIn('somebody', `wrong ${tried++}`));
    const refused = await browser.logIn('somebody', 'wrong');
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(refused.text).toContain('Too many login attempts');
  });

  it('under 105 refused logins at a time from one address, 20 of 20 known browsers log in', {
    tags: ['long'],
  }, async () => {
    const at = from('192.0.2.7');
    const csrf = 'a'.repeat(32);
    const form = (
      url: string,
      username: string,
      { password, cookie }: { password: string; cookie: string },
    ) =>
      new Client(url, {
        ...at,
        'x-csrftoken': csrf,
        cookie: `csrftoken=${csrf}; known_device=${cookie}`,
      }).send('POST', '/api/login/', { form: { username, password } });
    const people = Array.from({ length: 20 }, (_, each) => `person-${each}`);
    // The browsers are known from a service that ended since: nothing of them is in this one's memory.
    const url = new Secret(await copyServiceTemplate(inject('postgresUrl'), inject('serviceTemplate')));
    const before = await startTestService({ behindProxy: true, database: { url } });
    const cookies = await Promise.all(
      people.map(async (username) => {
        const admin = new Client(before.url, basic(ADMIN.username, ADMIN.password));
        expect((await admin.post('/api/v2/users/', { username, password: 'right' })).status).toBe(201);
        const answer = await form(before.url, username, { password: 'right', cookie: '' });
        const cookie = answer.cookies.find((each) => each.startsWith('known_device=')) ?? '';
        return cookie.replace(/^known_device=|;.*/g, '');
      }),
    );
    await before.close();
    const after = await startTestService({ behindProxy: true, database: { url } });
    const logIn = (username: string, password: string, cookie: string) =>
      form(after.url, username, { password, cookie });
    let tried = 0;
    const flood = () =>
      attempts(105, () => {
        tried += 1;
        return logIn(tried % 2 === 0 ? `person-${(tried % 40) >> 1}` : `name ${tried}`, `wrong ${tried}`, '');
      });
    for (let round = 0; round < 4; round++) await flood();
    let succeeded = 0;
    for (const [each, username] of people.entries()) {
      const [answer] = await Promise.all([
        logIn(username, 'right', cookies[each] ?? ''),
        each % 5 === 0 ? flood() : null,
      ]);
      if (answer.status === 302) succeeded++;
    }
    expect(succeeded).toBe(20);
    const [own = '', eves = ''] = cookies;
    const [user, id, issued, signature = ''] = own.split('.');
    const worthless = {
      'no cookie': '',
      'one of another user': eves,
      'one of another user, with the id changed': eves.replace(/^\d+/, String(user)),
      'another number': `${user}.${'b'.repeat(22)}.${issued}.${signature}`,
      'a later time': `${user}.${id}.${Number(issued) + 1}.${signature}`,
      garbage: 'a~b.c.d.e~~',
    };
    // A browser's own limit lets ten attempts through. On a slow machine, the network's limit lets one through every six seconds.
    const guesses = async (username: string, cookie: string) => {
      await flood();
      const answers = await Promise.all(
        people.map((_, each) => logIn(username, `guess ${each} with ${cookie}`, cookie)),
      );
      const refused = answers.filter(({ status }) => status === 429);
      for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(people.length - refused.length);
      return people.length - refused.length;
    };
    for (const [what, cookie] of Object.entries(worthless)) {
      expect(await guesses('person-0', cookie), what).toBeLessThan(10);
    }
    const withStolen = await guesses('person-0', own);
    expect(withStolen).toBeGreaterThanOrEqual(10);
    expect(withStolen).toBeLessThan(people.length);
    // A new password makes the user's cookies worthless.
    const admin = new Client(after.url, basic(ADMIN.username, ADMIN.password));
    await admin.patch(`/api/v2/users/${eves.split('.')[0]}/`, { password: 'new' });
    expect(await guesses('person-1', eves)).toBeLessThan(10);
    await after.close();
  });

  it('the token endpoint counts the same passwords', async () => {
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const [organization] = (await admin.get('/api/v2/organizations/')).json.results;
    const application = await admin.post('/api/v2/applications/', {
      name: 'limited',
      organization: organization?.id,
      client_type: 'public',
      authorization_grant_type: 'password',
    });
    const client_id = application.json['client_id'] as string;
    const ask = (password: string, address: string) =>
      new Client(service.url, from(address)).send('POST', '/api/o/token/', {
        form: { grant_type: 'password', username: 'anybody', password, client_id },
      });
    let tried = 0;
    const answers = await attempts(11, () => ask(`wrong ${tried++}`, '192.0.2.4'));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(400), 429]);
  });

  it('rejected token requests get 429, which holds up no one on the same network who succeeds', async () => {
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const [organization] = (await admin.get('/api/v2/organizations/')).json.results;
    const { json } = await admin.post('/api/v2/applications/', {
      name: 'proven',
      organization: organization?.id,
      client_type: 'confidential',
      authorization_grant_type: 'password',
    });
    const client = new Client(service.url, from('192.0.2.5'));
    const send = (form: Readonly<Record<string, string>>) =>
      client.send('POST', '/api/o/token/', { form: { grant_type: 'password', ...form } });
    const secret = { client_id: String(json['client_id']), client_secret: String(json['client_secret']) };
    const login = { ...secret, username: ADMIN.username, password: ADMIN.password };
    // Two a second are forgiven meanwhile.
    let refused: Answer | undefined;
    for (let rounds = 0; refused === undefined && rounds < 20; rounds++) {
      const answers = await attempts(200, () => send({ client_id: 'nobody' }));
      refused = answers.find(({ status }) => status === 429);
    }
    if (refused === undefined) throw new Error('no request was limited');
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.json.detail).toMatch(/^Too many rejected requests/);
    expect((await send(login)).status).toBe(200);
    // A client with the right secret is told what is wrong, and its users' wrong passwords count for it alone.
    let names = 0;
    const guess = () => client.get('/api/v2/me/', { headers: basic(`name-${names++}`, 'wrong') });
    for (let answers = await attempts(300, guess); answers.every(({ status }) => status === 401); ) {
      answers = await attempts(300, guess);
    }
    const wrong = await send({ ...login, username: 'unknown', password: 'wrong' });
    expect([wrong.status, wrong.json['error']]).toEqual([400, 'invalid_grant']);
  });
});

describe('without a proxy in front', () => {
  it('what a client says of its own address is not believed', async () => {
    const service = await startTestService();
    const answers = await Promise.all(
      Array.from({ length: 11 }, (_, each) =>
        new Client(service.url, {
          ...basic('nobody', `wrong ${each}`),
          'x-forwarded-for': `192.0.2.${each}`,
        }).get('/api/v2/me/'),
      ),
    );
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    await service.close();
  });
});
