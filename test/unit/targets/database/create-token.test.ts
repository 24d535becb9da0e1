import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { ALICE, all, LAYOUTS, testDatabase } from '../../../support/test-database.ts';

describe.each(LAYOUTS)('creating a token in the tables of the %s', (layout) => {
  const place = testDatabase(layout);
  const request = { scope: 'read' as const, description: 'for a "pipeline"' };
  const stored = (id: number) =>
    place.database.query<{ token: string }>(`SELECT token FROM ${place.tables.accessTokens} WHERE id = $1`, [
      id,
    ]);

  beforeAll(async () => {
    if (layout === 'gateway') return;
    await place.target.settings.write({
      OAUTH2_PROVIDER: {
        ACCESS_TOKEN_EXPIRE_SECONDS: 3600,
        REFRESH_TOKEN_EXPIRE_SECONDS: 60,
        AUTHORIZATION_CODE_EXPIRE_SECONDS: 60,
      },
    });
  });

  it('returns the value, and stores it in the form of the layout', async () => {
    const { token, value } = await place.target.createToken({ ...request, user: 'alice' });
    expect(value.reveal()).toMatch(/^[A-Za-z0-9]{30}$/);
    const digest = createHash('sha256').update(value.reveal()).digest('hex');
    const form = { controller: value.reveal(), service: digest, gateway: `$sha256$${digest}` }[layout];
    expect(await stored(token.id)).toEqual([{ token: form }]);
    expect(token).toMatchObject({ ...request, application: null, fingerprint: digest.slice(0, 12) });
    // A gateway's own lifetime is in a file: its default, a year.
    const lifetime = layout === 'gateway' ? 31_536_000_000 : 3_600_000;
    expect(token.expires.getTime() - token.created.getTime()).toBe(lifetime);
    expect(await all(place.target.tokens({ ids: [token.id] }))).toEqual([token]);
  });

  it.runIf(layout !== 'gateway')('tells the activity stream, with a link to it', async () => {
    const { token } = await place.target.createToken({ ...request, user: 'leaver' });
    const entries = await place.database.query(
      `SELECT s.operation, s.changes, s.object1, s.actor_id, s.action_node FROM main_activitystream s
       JOIN main_activitystream_o_auth2_access_token l ON l.activitystream_id = s.id WHERE l.oauth2accesstoken_id = $1`,
      [token.id],
    );
    expect(entries).toEqual([
      {
        operation: 'create',
        changes: `{"description": "for a \\"pipeline\\"", "application": null, "scope": "read", "id": ${token.id}, "token": "************"}`,
        object1: 'o_auth2_access_token',
        actor_id: null,
        action_node: 'tokenctl',
      },
    ]);
  });

  it('requires an existing user', async () => {
    await expect(place.target.createToken(request)).rejects.toMatchObject({ code: 'unsupported' });
    await expect(place.target.createToken({ ...request, user: 'nobody' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('refuses external users until the setting allows them', async () => {
    for (const user of ['ldap', 'social', 'radius']) {
      await expect(place.target.createToken({ ...request, user })).rejects.toMatchObject({
        code: 'permission_refused',
      });
    }
    await expect(place.target.createToken({ ...request, user: 'mixed' })).resolves.toBeDefined();
    await place.target.settings.write({ ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
    await expect(place.target.createToken({ ...request, user: 'ldap' })).resolves.toBeDefined();
  });

  it('leaves nothing behind if it fails halfway', async () => {
    const count = () => place.database.query(`SELECT count(*) AS n FROM ${place.tables.accessTokens}`);
    const before = await count();
    await place.database.script(
      `ALTER TABLE ${place.tables.activity} ADD CONSTRAINT never CHECK (false) NOT VALID`,
    );
    await expect(place.target.createToken({ ...request, user: 'alice' })).rejects.toMatchObject({
      code: 'target_misbehaved',
    });
    expect(await count()).toEqual(before);
    await place.database.script(`ALTER TABLE ${place.tables.activity} DROP CONSTRAINT never`);
    expect((await all(place.target.tokens({ users: ['alice'] })))[0]?.user?.id).toBe(ALICE);
  });
});
