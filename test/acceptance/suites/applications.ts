import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { grant, passwordGrant } from '../access.ts';
import { homeOf } from '../home.ts';
import type { Client, Installation } from '../installation.ts';
import { CONTROLLER, DATABASE, SECRET_KEY, way } from '../needs.ts';
import { makeApplication, makeUser } from '../own-objects.ts';
import { expectStatus } from '../requests.ts';
import type { AcceptanceSuite } from '../scene.ts';

/** Deletes an application that a user has a token of. */
async function deleteOne(it: Installation, current: 'rest' | 'db'): Promise<void> {
  const account = await makeUser(it, `of-deleted-${current}`);
  const client = await makeApplication(it, `deleted-${current}`, 'password');
  const pair = expectStatus(await passwordGrant(it, account, client), 200);
  const issued = { token: String(pair.body['access_token']) };
  expectStatus(await it.request('me/', issued), 200);
  const { code, body } = await homeOf(it, { current }).json<{ result: string; left: object }>(
    ...['applications', 'delete', client.name, '--yes'],
  );
  assert.deepEqual([code, body.result], [0, 'done']);
  expectStatus(await it.request('me/', issued), 401);
  expectStatus(await it.request(`applications/${client.id}/`, it.admin), 404);
  const other = it.applications.get('password');
  expectStatus(await it.request(`applications/${other?.id}/`, it.admin), 200);
}

/** Applications: new secrets, and the end of one. */
export const applications: AcceptanceSuite = {
  name: 'Applications',
  needs: [CONTROLLER, way('password')],
  scenarios: [
    {
      name: 'a new secret replaces the old one, and leaves tokens',
      needs: [DATABASE, SECRET_KEY],
      run: async (it) => {
        const account = await makeUser(it, 'of-rotated');
        const old = await makeApplication(it, 'rotated', 'password');
        const pair = expectStatus(await passwordGrant(it, account, old), 200);
        const home = homeOf(it, { current: 'db' });
        const output = join(home.folder, 'new.secret');
        const { secretKey } = it.description;
        const key = secretKey === undefined ? [] : ['--secret-key', secretKey];
        const rotate = ['applications', 'rotate-secret', old.name, '--output', output, '--yes', ...key];
        const { code, stdout, stderr } = await home.run(...rotate);
        assert.equal(code, 0, stderr);
        const secret = it.keepFile(output);
        assert.ok(!`${stdout}${stderr}`.includes(secret));
        assert.equal(readFileSync(output, 'utf8').trim(), secret);
        const renewed: Client = { ...old, client_secret: secret };
        const statuses = [];
        for (const client of [old, renewed]) statuses.push((await passwordGrant(it, account, client)).status);
        assert.ok((statuses[0] ?? 0) >= 400, `the old secret was answered with ${statuses[0]}`);
        assert.equal(statuses[1], 200);
        expectStatus(await it.request('me/', { token: String(pair.body['access_token']) }), 200);
        const refresh_token = String(pair.body['refresh_token']);
        const refreshed = await grant(it, old, { grant_type: 'refresh_token', refresh_token });
        assert.ok(refreshed.status >= 400, `the old secret refreshed: ${refreshed.status}`);
      },
    },
    { name: 'deleting one over REST ends its tokens', run: (it) => deleteOne(it, 'rest') },
    {
      name: 'deleting one in the database ends its tokens',
      needs: [DATABASE],
      run: (it) => deleteOne(it, 'db'),
    },
  ],
};
