import { connect } from 'node:net';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, it } from 'vitest';
import { ADMIN, basic, bearer, Client, useService } from './support/service.ts';

const FROM_A = { 'x-forwarded-for': '192.0.2.1' };
const FROM_B = { 'x-forwarded-for': '192.0.2.2' };
/** Pages are not described. A path without its trailing slash is redirected before anything is asked. */
const UNDESCRIBED = ['/', '/users/1', '/dashboard/', '/assets/none.js', '/favicon.svg', '/nothing'];

describe('the share of a sender', () => {
  const { service } = useService(() => ({ behindProxy: true }));

  /** Fills the share of network A with requests that wait for the database until `work` is done. */
  async function whileFull(work: () => Promise<void>): Promise<void> {
    const blocked: Promise<number>[] = [];
    await service.database.transaction(async (transaction) => {
      await transaction.execute('LOCK TABLE conf_setting IN ACCESS EXCLUSIVE MODE');
      for (let n = 0; n < 4; n++) blocked.push(statusOf(new Client(service.url, FROM_A).get('/api/')));
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND query LIKE '%conf_setting%' AND datname = current_database()`;
      await until(async () => (await service.database.query(waiting)).length === 4);
      await work();
    });
    expect(await Promise.all(blocked)).toEqual([200, 200, 200, 200]);
  }

  const statusOf = async (answer: ReturnType<Client['get']>) => (await answer).status;

  it('covers every route, described or not', { tags: ['long'] }, async () => {
    const { json } = await new Client(service.url).get('/api/v2/openapi.json');
    const paths = json['paths'] as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    const described = Object.entries(paths).flatMap(([path, item]) => {
      const methods = ['head', 'options', ...Object.keys(item).filter((name) => name !== 'parameters')];
      return methods.map((method) => [method.toUpperCase(), path.replace(/\{\w+\}/g, '1')] as const);
    });
    const requests = [...described, ...UNDESCRIBED.map((path) => ['GET', path] as const)];
    expect(requests.length).toBeGreaterThan(200);
    const answered: string[] = [];
    const client = new Client(service.url, FROM_A);
    // As many at a time as may wait.
    for (let begin = 0; begin < requests.length; begin += 400) {
      const sent: Promise<void>[] = [];
      await whileFull(async () => {
        for (const [method, path] of requests.slice(begin, begin + 400)) {
          sent.push(
            client.send(method, path).then(({ status }) => void answered.push(`${method} ${path} ${status}`)),
          );
        }
        // Others are answered meanwhile, although they came later.
        for (let n = 0; n < 20; n += 1)
          expect((await new Client(service.url, FROM_B).get('/api/v2/')).status).toBe(200);
        expect((await new Client(service.url, FROM_B).get('/static/service.css')).status).toBe(200);
        expect(answered).toHaveLength(begin);
      });
      await Promise.all(sent);
    }
    expect(answered).toHaveLength(requests.length);
    expect(answered.filter((each) => / (?:429|5\d\d)$/.test(each))).toEqual([]);
  });

  it('is that of a user, not of a network, once the credentials were accepted', async () => {
    const admin = new Client(service.url, { ...basic(ADMIN.username, ADMIN.password), ...FROM_A });
    const { token } = (await admin.post('/api/v2/tokens/')).json;
    const own = new Client(service.url, { ...bearer(token), ...FROM_A });
    const browser = new Client(service.url, FROM_A);
    expect((await browser.logIn(ADMIN.username, ADMIN.password)).status).toBe(302);
    for (const client of [own, browser]) expect((await client.get('/api/v2/me/')).status).toBe(200);
    const stranger = new Client(service.url, { ...bearer('invalid'), ...FROM_A });
    expect((await stranger.get('/api/v2/me/')).status).toBe(401);
    let strangers: Promise<unknown> | undefined;
    await whileFull(async () => {
      let isAnswered = false;
      strangers = stranger.get('/api/v2/').then(() => {
        isAnswered = true;
      });
      for (const client of [own, admin, browser]) expect((await client.get('/api/v2/')).status).toBe(200);
      expect(isAnswered).toBe(false);
    });
    await strangers;
  });

  it('is not held by slow bodies, nor by more large ones than its part', async () => {
    const { port } = new URL(service.url);
    const head = `POST /api/o/token/ HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n`;
    const type = 'Content-Type: application/x-www-form-urlencoded\r\n';
    const upload = (bytes: number) => {
      const socket = connect(Number(port), '127.0.0.1');
      const answer = new Promise<string>((resolve) => {
        socket.once('data', (part) => resolve(part.toString('latin1').slice(0, 12)));
        socket.on('error', () => resolve('')).once('close', () => resolve(''));
      });
      socket.write(`${head}${type}Content-Length: 1000001\r\n\r\n${'a'.repeat(bytes)}`);
      return { socket, answer };
    };
    const slow = Array.from({ length: 20 }, () => upload(10));
    expect((await new Client(service.url, FROM_A).get('/api/v2/')).status).toBe(200);
    const large = Array.from({ length: 10 }, () => upload(1_000_000));
    expect(await Promise.race(large.map(({ answer }) => answer))).toBe('HTTP/1.1 429');
    const form = { grant_type: 'password', client_id: 'unknown' };
    const { status } = await new Client(service.url, FROM_A).send('POST', '/api/o/token/', { form });
    expect(status).toBe(401);
    for (const { socket } of [...slow, ...large]) socket.destroy();
  });
});
