import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, it } from 'vitest';
import { LAYOUTS as CONTROLLERS } from '../../../support/controller-tables.ts';
import { ALICE, testDatabase } from '../../../support/test-database.ts';

const LIFETIMES = {
  ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
  REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
  AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
};

describe.each(CONTROLLERS)('settings and users in the tables of the %s', (layout) => {
  const place = testDatabase(layout);
  const rows = (key: string) =>
    place.database.query<{ id: number; value: unknown }>(
      'SELECT id, value FROM conf_setting WHERE user_id IS NULL AND key = $1 ORDER BY id',
      [key],
    );
  const told = (name: string) =>
    place.database.query(
      `SELECT operation, changes, object1, object2, actor_id, setting::text AS setting, action_node
       FROM main_activitystream WHERE setting ->> 'name' = $1 ORDER BY id`,
      [name],
    );

  it('are the defaults if nothing is stored, and writing the defaults stores nothing', async () => {
    const settings = await place.target.settings.read();
    expect(settings).toMatchObject({ AUTH_BASIC_ENABLED: true, OAUTH2_PROVIDER: LIFETIMES });
    expect(await place.target.settings.write(settings)).toEqual(settings);
    expect(
      await place.database.query('SELECT FROM conf_setting WHERE user_id IS NULL AND key = $1', [
        'AUTH_BASIC_ENABLED',
      ]),
    ).toEqual([]);
  });

  it('are written with the controller’s activity entries', async () => {
    const off = await place.target.settings.write({ AUTH_BASIC_ENABLED: false });
    expect(off.AUTH_BASIC_ENABLED).toBe(false);
    await place.target.settings.write({ AUTH_BASIC_ENABLED: false });
    await place.target.settings.write({ AUTH_BASIC_ENABLED: true, SESSION_COOKIE_AGE: 600 });
    const [row] = await rows('AUTH_BASIC_ENABLED');
    expect(row?.value).toBe(true);
    const entry = { object1: 'setting', object2: '', actor_id: null, action_node: 'tokenctl' };
    const setting = '{"name": "AUTH_BASIC_ENABLED", "category": "authentication"}';
    expect(await told('AUTH_BASIC_ENABLED')).toEqual([
      { ...entry, operation: 'create', setting, changes: `{"value": false, "id": ${row?.id}}` },
      { ...entry, operation: 'update', setting, changes: '{"value": [false, true]}' },
    ]);
    expect((await place.target.settings.read()).SESSION_COOKIE_AGE).toBe(600);
  });

  it('always store OAUTH2_PROVIDER with all keys, and complete a partial one', async () => {
    await place.database.execute(
      `INSERT INTO conf_setting (created, modified, key, value)
       VALUES (now(), now(), 'OAUTH2_PROVIDER', '{"ACCESS_TOKEN_EXPIRE_SECONDS": 3600}')`,
    );
    // What is missing there is 0 to a controller, and the default to the service.
    expect((await place.target.settings.read()).OAUTH2_PROVIDER).toEqual({
      ...(layout === 'service'
        ? LIFETIMES
        : { REFRESH_TOKEN_EXPIRE_SECONDS: 0, AUTHORIZATION_CODE_EXPIRE_SECONDS: 0 }),
      ACCESS_TOKEN_EXPIRE_SECONDS: 3600,
    });
    const lifetimes = { ...LIFETIMES, ACCESS_TOKEN_EXPIRE_SECONDS: 7200 };
    const written = await place.target.settings.write({ OAUTH2_PROVIDER: lifetimes });
    expect(written.OAUTH2_PROVIDER).toEqual(lifetimes);
    expect((await rows('OAUTH2_PROVIDER')).map(({ value }) => value)).toEqual([lifetimes]);
    // A controller writes an object as a JSON string with Python's spaces.
    const [entry] = (await told('OAUTH2_PROVIDER')) as { changes: string }[];
    expect(JSON.parse(entry?.changes ?? '')).toEqual({
      value: [
        '{"ACCESS_TOKEN_EXPIRE_SECONDS": 3600}',
        '{"ACCESS_TOKEN_EXPIRE_SECONDS": 7200, "REFRESH_TOKEN_EXPIRE_SECONDS": 2628000, "AUTHORIZATION_CODE_EXPIRE_SECONDS": 600}',
      ],
    });
  });

  it.runIf(layout === 'controller')('are read from the first row of a key, and written to all', async () => {
    await place.database.execute(
      `INSERT INTO conf_setting (created, modified, key, value)
       VALUES (now(), now(), 'SESSIONS_PER_USER', '3'), (now(), now(), 'SESSIONS_PER_USER', '5')`,
    );
    expect((await place.target.settings.read()).SESSIONS_PER_USER).toBe(3);
    await place.target.settings.write({ SESSIONS_PER_USER: 7 });
    expect((await rows('SESSIONS_PER_USER')).map(({ value }) => value)).toEqual([7, 7]);
  });

  it('reject values that the controller’s API rejects, all or nothing', async () => {
    const before = await place.target.settings.read();
    await expect(
      place.target.settings.write({ LOGIN_REDIRECT_OVERRIDE: '/elsewhere', SESSION_COOKIE_AGE: 5 }),
    ).rejects.toMatchObject(refused('unsupported', 'SESSION_COOKIE_AGE'));
    await expect(place.target.settings.write({ DISABLE_LOCAL_AUTH: true })).rejects.toMatchObject({
      code: 'unsupported',
    });
    expect(await place.target.settings.read()).toEqual(before);
  });

  it('link the entry of a deactivation to the user, with the changed field only', async () => {
    expect(await place.target.users.setActive(ALICE, false)).toBe(true);
    expect(await place.target.users.setActive(ALICE, false)).toBe(false);
    expect(await place.target.users.setActive(ALICE, true)).toBe(true);
    expect(
      await place.database.query(
        `SELECT s.operation, s.changes, s.actor_id FROM main_activitystream s
         JOIN main_activitystream_user l ON l.activitystream_id = s.id
         WHERE s.object1 = 'user' AND l.user_id = $1 ORDER BY s.id`,
        [ALICE],
      ),
    ).toEqual([
      { operation: 'update', changes: '{"is_active": [true, false]}', actor_id: null },
      { operation: 'update', changes: '{"is_active": [false, true]}', actor_id: null },
    ]);
  });

  it('are written by one transaction at a time', async () => {
    const writers = Array.from({ length: 5 }, (_, i) =>
      place.target.settings.write({ LOGIN_REDIRECT_OVERRIDE: `/writer-${i}` }),
    );
    await Promise.all(writers);
    expect(await rows('LOGIN_REDIRECT_OVERRIDE')).toHaveLength(1);
    const changes = (await told('LOGIN_REDIRECT_OVERRIDE')).map(({ operation }) => operation);
    expect(changes).toEqual(['create', 'update', 'update', 'update', 'update']);
  });

  it('name an invalid stored value', async () => {
    await place.database.execute(
      "UPDATE conf_setting SET value = '\"soon\"' WHERE user_id IS NULL AND key = 'SESSION_COOKIE_AGE'",
    );
    await expect(place.target.settings.read()).rejects.toMatchObject(
      refused('target_misbehaved', 'SESSION_COOKIE_AGE'),
    );
  });
});
