import { Secret } from '@tokenctl/common/secret.ts';
import { ADMIN, startTestService } from '@tokenctl/service/testing/service.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openControllerApi } from '../../../../src/targets/controller-api/controller-api.ts';
import { SettingsProxy } from '../../../support/settings-proxy.ts';

const USERS = 900;

let service: Awaited<ReturnType<typeof startTestService>>;
let proxy: SettingsProxy;
let asked = 0;
/** What becomes of an address with the filter. */
let filtered = (path: string) => path;

beforeAll(async () => {
  service = await startTestService();
  await service.database.execute(
    `WITH made AS (
       INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
       SELECT '!', false, 'member-' || n, '', '', '', false, true, now() FROM generate_series(1, ${USERS}) n
       RETURNING id, username)
     INSERT INTO social_auth_usersocialauth (provider, uid, extra_data, user_id, created, modified)
     SELECT p, substr(username, 8) || CASE p WHEN 'saml' THEN 's' ELSE '' END, '{}', id, now(), now()
     FROM made, unnest(ARRAY['oidc', 'saml']) p`,
  );
  proxy = await SettingsProxy.start(() => service.url);
  proxy.way = null;
  proxy.passedOn = (path) => {
    if (path.startsWith('/api/v2/users/')) asked += 1;
    return path.includes('social_auth__') ? filtered(path) : path;
  };
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await service.close();
});

async function identified(provider: string, uid: string) {
  const credential = {
    kind: 'password' as const,
    username: ADMIN.username,
    password: new Secret(ADMIN.password),
  };
  const target = openControllerApi({ context: 'test', address: proxy.url, credential, verifyTls: true });
  asked = 0;
  const ids = await target.users.identified({ provider, uid });
  await target.close();
  const names: string[] = [];
  for (const id of ids ?? []) {
    const [user] = await service.database.query<{ username: string }>(
      'SELECT username FROM auth_user WHERE id = $1',
      [id],
    );
    names.push(user?.username ?? '');
  }
  return names;
}

const drop = (path: string) => path.replaceAll(/social_auth__\w+=[^&]*&?/g, '');

test.each(
  kinds<[string, (path: string) => string, boolean]>([
    ['is ignored', drop, false],
    ['works', (path: string) => path, true],
    ['is refused', (path: string) => path.replaceAll('social_auth__', 'social_autz__'), false],
    ['finds nobody', (path: string) => path.replace(/uid=[^&]*/, 'uid=nobody'), false],
    ['ignores the id', (path: string) => path.replace(/social_auth__uid=[^&]*&?/, ''), false],
  ]),
)('the user of an account is found where a filter for accounts %s', async (_, passedOn, isQuick) => {
  filtered = passedOn;
  expect(await identified('oidc', String(USERS))).toEqual([`member-${USERS}`]);
  const requests = asked;
  expect(await identified('saml', '7s')).toEqual(['member-7']);
  // Each is the id of an account of the other provider, or of no one.
  expect(await identified('oidc', '7s')).toEqual([]);
  expect(await identified('oidc', 'stranger')).toEqual([]);
  // The list of all users takes a request for every two hundred.
  if (isQuick) expect(requests).toBeLessThan(6);
  else expect(requests).toBeGreaterThan(USERS / 200);
});

test('a provider of which no account is shown is told from one without this account', async () => {
  filtered = (path) => path;
  expect(await identified('github', '1')).toEqual([]);
});
