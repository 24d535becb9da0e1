import { beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, basic, bearer, Client, useService } from './support/service.ts';

const ROWS = 4_000;
const AT_ONCE = 30;

const repeated = (count: number, filter: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => filter(n)).join('&');
/** The worst text for a search by comparison: it nearly matches everywhere. */
const NEARLY = `${'a'.repeat(150)}c`;
const regexes = (expression: string) =>
  repeated(5, (n) => `or__first_name__iregex=${encodeURIComponent(expression)}${n}`);

/** Requests that take a database or a regular expression engine long, and how they may be answered. */
const COSTLY = [
  ...[
    `users/?${repeated(100, (n) => `or__username__regex=(u|v)*${n}(a|b)`)}`,
    `users/?${regexes('((((\\y)?(.|[^a]|)(\\w)?){0,3}((.(^[ab]))|([[:alpha:]]\\m)|)){0,50}x\\y(\\s)?)*')}`,
    `users/?${regexes('((a?){30}){30}')}`,
    `users/?${repeated(99, (n) => `not__id=${-n}`)}&order_by=${'first_name,'.repeat(500)}id`,
    `tokens/?${repeated(20, (n) => `or__description__contains=${NEARLY}${n}`)}`,
  ].map((path) => ({ path, statuses: [400] })),
  ...[
    `users/?${regexes('(a|b)*a(a|b){9}c')}`,
    `users/?${regexes('(^|a)*($|b)*(\\b|\\B)*')}`,
    `users/?${repeated(6, (n) => `or__first_name__icontains=${NEARLY}${n}`)}`,
    `users/?${repeated(90, (n) => `or__last_name__iendswith=b${n}`)}`,
    `tokens/?or__id__in=${Array.from({ length: 1900 }, (_, n) => n).join()}&${repeated(50, () => 'or__id__in=1')}`,
    `tokens/?search=${'aaaaab+'.repeat(30)}&order_by=description`,
    `tokens/?description__iregex=${encodeURIComponent('(a|b)*a(a|b){30}c')}`,
    `tokens/?${repeated(20, (n) => `or__user__profile__ldap_dn__contains=x${n}`)}`,
    `tokens/?or__application__organization__name__icontains=x&or__description__icontains=${NEARLY}`,
    `activity_stream/?changes__icontains=${NEARLY}&order_by=changes`,
  ].map((path) => ({ path, statuses: [200, 429, 503] })),
];

/** Sends costly requests, as many at once, until the service ends. Returns the answers that were not expected. */
async function flood(client: Client): Promise<readonly string[]> {
  const unexpected: string[] = [];
  const send = async (sender: number) => {
    for (let n = sender; ; n++) {
      const { path = '', statuses = [] } = COSTLY[n % COSTLY.length] ?? {};
      const { status, text } = await client.get(`/api/v2/${path}`);
      if (!statuses.includes(status)) unexpected.push(`${path} ${status} ${text}`);
    }
  };
  await Promise.allSettled(Array.from({ length: AT_ONCE }, (_, sender) => send(sender)));
  return unexpected;
}

describe('costly requests', () => {
  const { service } = useService();
  let attacker: Client;
  let other: Client;

  beforeAll(async () => {
    await service.database.script(`
      INSERT INTO auth_user (username, password, first_name, last_name)
        SELECT 'u' || n, '!', repeat('a', 150), repeat('b', 150) FROM generate_series(1, ${ROWS}) n;
      INSERT INTO main_oauth2accesstoken (token, expires, scope, description, user_id)
        SELECT md5(n::text), now() + interval '1 day', 'read', repeat('a', 9000), u.id
        FROM generate_series(1, ${ROWS}) n JOIN auth_user u ON u.username = 'u' || n`);
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    for (const username of ['slow', 'quick']) {
      await admin.post('/api/v2/users/', { username, password: 'a-password', is_superuser: true });
    }
    const own = async (username: string) => {
      const { json } = await new Client(service.url, basic(username, 'a-password')).post('/api/v2/tokens/');
      return new Client(service.url, bearer(json.token));
    };
    [attacker, other] = [await own('slow'), await own('quick')];
  });

  it('of one user end with the service, and leave another user answered', async () => {
    let isOver = false;
    const attack = flood(attacker).finally(() => {
      isOver = true;
    });
    for (let n = 0; n < 50; n++) {
      const path = n % 2 === 0 ? 'me/' : 'tokens/?page_size=5&user=2&order_by=-id';
      expect((await other.get(`/api/v2/${path}`)).status).toBe(200);
    }
    expect(isOver).toBe(false);
    await service.close();
    expect(await attack).toEqual([]);
  });
});
