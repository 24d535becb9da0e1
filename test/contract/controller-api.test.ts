import { afterAll, beforeAll, describe } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import type { Target } from '../../src/operations/ports.ts';
import { type RunningService, startService } from '../../src/service/server.ts';
import { openControllerApi } from '../../src/targets/controller-api/controller-api.ts';
import type { Credential } from '../../src/targets/controller-api/credential.ts';
import { type Place, targetContract } from './target-contract.ts';

const PASSWORD = 'secret-admin-password';

describe('a controller over its REST API', () => {
  let service: RunningService;
  let place: Place;
  const targets: Target[] = [];

  beforeAll(async () => {
    service = await startService({
      host: '127.0.0.1',
      port: 0,
      database: { folder: null },
      adminPassword: new Secret(PASSWORD),
      version: '0.0.0-test',
      logLevel: 'silent',
    });
    const target = signedIn(password('admin', PASSWORD));
    await makeUser({ username: 'alice', password: 'secret-alice' });
    const leaver = await makeUser({ username: 'leaver', password: 'secret-leaver' });
    await service.database.execute('UPDATE auth_user SET is_active = false WHERE id = $1', [leaver]);
    place = {
      target,
      stranger: signedIn(password('admin', 'secret-wrong')),
      asAlice: signedIn(password('alice', 'secret-alice')),
      withToken: async () => {
        const { token, value } = await target.createToken({ scope: 'write', description: 'own' });
        return { target: signedIn({ kind: 'token', token: value }), tokenId: token.id };
      },
      makeTokens,
      age: async (id, days) => {
        await service.database.execute(
          `UPDATE main_oauth2accesstoken SET last_used = now() - make_interval(days => $2),
             created = least(created, now() - make_interval(days => $2)) WHERE id = $1`,
          [id, days],
        );
      },
    };
  });

  afterAll(async () => {
    await Promise.all(targets.map((target) => target.close()));
    await service.close();
  });

  function signedIn(credential: Credential): Target {
    const target = openControllerApi({
      context: 'contract',
      address: service.url,
      credential,
      verifyTls: true,
    });
    targets.push(target);
    return target;
  }

  async function makeUser(fields: object): Promise<number> {
    const answer = await fetch(`${service.url}/api/v2/users/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`admin:${PASSWORD}`)}` },
      body: JSON.stringify(fields),
    });
    if (answer.status !== 201) throw new Error(`The user could not be made: ${await answer.text()}`);
    return ((await answer.json()) as { id: number }).id;
  }

  async function makeTokens(count: number, scope = 'write'): Promise<number[]> {
    const rows = await service.database.query<{ id: number }>(
      `INSERT INTO main_oauth2accesstoken (token, user_id, scope, description, created, modified, expires)
       SELECT gen_random_uuid()::text, u.id, $2, '', now(), now(), now() + interval '1 year'
       FROM auth_user u, generate_series(1, $1::int) WHERE u.username = 'alice' RETURNING id`,
      [count, scope],
    );
    return rows.map(({ id }) => id).sort((a, b) => a - b);
  }

  targetContract(() => place);
});

function password(username: string, value: string): Credential {
  return { kind: 'password', username, password: new Secret(value) };
}
