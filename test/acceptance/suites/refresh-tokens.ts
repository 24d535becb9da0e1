import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { grant, passwordGrant } from '../access.ts';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER, consent, DATABASE, way } from '../needs.ts';
import { makeUser, settingsPath, withSettings } from '../own-objects.ts';
import { expectStatus } from '../requests.ts';
import type { AcceptanceSuite } from '../scene.ts';
import { tableNames } from '../tables.ts';

/** A worker of a controller reads changed settings again within this time; the bundled service at once. */
const SETTINGS_HOLD_MS = 6000;
/** The shortest lifetime that is set is one second. */
const SHORTEST_MS = 1500;

interface Listed {
  readonly state: string;
  readonly expires: string | null;
}

/** Sets the lifetime of refresh tokens over REST, and waits until all workers of a controller know it. */
async function setLifetime(it: Installation, seconds: number): Promise<void> {
  const { body } = expectStatus(await it.request(settingsPath(it), it.admin), 200);
  const lifetimes = { ...(body['OAUTH2_PROVIDER'] as object), REFRESH_TOKEN_EXPIRE_SECONDS: seconds };
  const change = { method: 'PATCH', body: { OAUTH2_PROVIDER: lifetimes } } as const;
  expectStatus(await it.request(settingsPath(it), it.admin, change), 200);
  await sleep(it.isRealController ? SETTINGS_HOLD_MS : SHORTEST_MS);
}

/** The states of refresh tokens, beside what the installation accepts. */
export const refreshTokens: AcceptanceSuite = {
  name: 'States of refresh tokens',
  needs: [CONTROLLER, DATABASE, consent('settings'), way('refresh')],
  scenarios: [
    {
      name: 'expired is what the installation refuses, and live again with a longer lifetime',
      run: (it) =>
        withSettings(it, ['OAUTH2_PROVIDER'], async () => {
          const account = await makeUser(it, 'refresher');
          const pair = expectStatus(await passwordGrant(it, account), 200);
          const refresh = { grant_type: 'refresh_token', refresh_token: String(pair.body['refresh_token']) };
          await it.sql(
            `UPDATE ${tableNames(it).refresh} SET created = now() - interval '2 hours' WHERE user_id = $1`,
            [account.id],
          );
          const { json, run } = homeOf(it, { current: 'db' });
          const list = async (...args: string[]) => {
            const listed = ['refresh-tokens', 'list', '--user', account.name, ...args];
            return (await json<Listed[]>(...listed)).body.map(({ state }) => state);
          };

          await setLifetime(it, 3600);
          assert.deepEqual([await list(), await list('--state', 'live')], [['expired'], []]);
          const refused = (await grant(it, 'password', refresh)).status;
          assert.ok(refused >= 400, `an expired refresh token was accepted: ${refused}`);

          await setLifetime(it, 10_800);
          assert.deepEqual([await list(), await list('--state', 'expired')], [['live'], []]);
          const renewed = expectStatus(await grant(it, 'password', refresh), 200);
          for (const name of ['access_token', 'refresh_token']) it.keep(String(renewed.body[name]));

          // An expired one is revoked like any other: it would be live again with a longer lifetime.
          await setLifetime(it, 1);
          assert.equal((await list('--state', 'expired')).length, 1);
          assert.equal((await run('tokens', 'revoke', '--user', account.name, '--yes')).code, 0);
          assert.ok((await list()).every((state) => state === 'revoked'));
        }),
    },
  ],
};
