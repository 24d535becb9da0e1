import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER, consent, DATABASE, way } from '../needs.ts';
import { asUser, makeUser, settingsPath, withSettings } from '../own-objects.ts';
import { expectStatus } from '../requests.ts';
import type { AcceptanceSuite } from '../scene.ts';

/** What switches Basic authentication: on a controller, and on a gateway. */
const BASIC = ['AUTH_BASIC_ENABLED', 'gateway_basic_auth_enabled'];
const LIFETIMES = ['OAUTH2_PROVIDER'];
/** All workers of a controller have read changed settings again by then. */
const APPLIED_MS = 70_000;

/** Waits until a request with a password is answered so. */
async function basicIs(it: Installation, account: Parameters<typeof asUser>[0], status: number) {
  const until = Date.now() + APPLIED_MS;
  for (;;) {
    const answer = await it.request('me/', asUser(account));
    if (answer.status === status) return;
    if (Date.now() > until) expectStatus(answer, status);
    await sleep(500);
  }
}

async function settingsOf(it: Installation): Promise<Readonly<Record<string, unknown>>> {
  return expectStatus(await it.request(settingsPath(it), it.admin), 200).body;
}

/** Turns Basic authentication off and on, and compares all settings of authentication. */
async function switchBasic(it: Installation, current: 'rest' | 'db'): Promise<void> {
  const account = await makeUser(it, `basic-${current}`);
  const home = homeOf(it, { current });
  const before = await settingsOf(it);
  await withSettings(it, BASIC, async () => {
    assert.equal((await home.run('settings', 'basic-auth', 'off', '--yes')).code, 0);
    await basicIs(it, account, 401);
    const off = await settingsOf(it);
    const changed = Object.keys(before).filter(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(off[name]),
    );
    assert.equal(changed.length, 1);
    assert.ok(BASIC.includes(changed[0] ?? ''), `${changed} changed`);
    assert.equal((await home.run('settings', 'basic-auth', 'on', '--yes')).code, 0);
    await basicIs(it, account, 200);
    assert.deepEqual(await settingsOf(it), before);
  });
}

/** Changes of authentication settings. */
export const settings: AcceptanceSuite = {
  name: 'Settings',
  needs: [consent('settings')],
  scenarios: [
    {
      name: 'settings basic-auth off and on change one setting, and Basic authentication with it, over REST',
      needs: [way('basic')],
      run: (it) => switchBasic(it, 'rest'),
    },
    {
      name: 'settings basic-auth off and on change one setting, and Basic authentication with it, in the database',
      needs: [way('basic'), DATABASE],
      run: (it) => switchBasic(it, 'db'),
    },
    {
      name: 'settings token-lifetime keeps the lifetimes that are not given',
      needs: [CONTROLLER],
      run: (it) =>
        withSettings(it, LIFETIMES, async () => {
          const home = homeOf(it);
          const before = await home.json<{ lifetimes: object }>('settings', 'token-lifetime');
          const set = ['settings', 'token-lifetime', '--access', '30d', '--yes'];
          assert.equal((await home.run(...set)).code, 0);
          const { OAUTH2_PROVIDER: now } = await settingsOf(it);
          assert.deepEqual(now, { ...before.body.lifetimes, ACCESS_TOKEN_EXPIRE_SECONDS: 2_592_000 });
        }),
    },
    {
      name: 'a context with a password turns Basic authentication off with a rescue token, and rotates that',
      needs: [CONTROLLER, way('basic')],
      run: (it) =>
        withSettings(it, BASIC, async () => {
          const account = await makeUser(it, 'rescued', { is_superuser: true });
          const home = homeOf(it, { account });
          const [rescue, rotated] = [join(home.folder, 'rescue.token'), join(home.folder, 'rotated.token')];
          const off = ['settings', 'basic-auth', 'off', '--rescue-token', rescue];
          const dry = await home.run(...off, '--dry-run');
          assert.deepEqual([dry.code, existsSync(rescue)], [0, false]);
          const { body, code } = await home.json<{ rescueToken: { tokenId: number } }>(...off, '--yes');
          assert.equal(code, 0);
          it.keepFile(rescue);
          const { caFile, insecure } = it.description.rest;
          const use = [
            ...['context', 'add', 'rest', '--replace', '--url', it.requests.url],
            ...(caFile === undefined ? [] : ['--ca-file', caFile]),
            ...(insecure === true ? ['--insecure'] : []),
            '--token-file',
          ];
          assert.equal((await home.run(...use, rescue)).code, 0);
          const id = String(body.rescueToken.tokenId);
          const rotate = ['tokens', 'rotate', id, '--output', rotated, '--yes'];
          const rotation = await home.json<{ tried: string; revocation: { verified: boolean } }>(...rotate);
          it.keepFile(rotated);
          const { tried, revocation } = rotation.body;
          assert.deepEqual([rotation.code, tried, revocation.verified], [0, 'accepted', true]);
          assert.equal((await home.run('whoami')).code, 4);
          await home.run(...use, rotated);
          assert.equal((await home.run('settings', 'basic-auth', 'on', '--yes')).code, 0);
        }),
    },
  ],
};
