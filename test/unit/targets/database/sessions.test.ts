import { createHash } from 'node:crypto';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { unseenSessions } from '../../../../src/operations/access/cached-sessions.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import {
  ALICE,
  all,
  createTestDatabase,
  LAYOUTS,
  LEAVER,
  type TestDatabase,
  testDatabase,
} from '../../../support/test-database.ts';

describe.each(kinds(LAYOUTS))('sessions in the tables of the %s', (layout) => {
  let place: TestDatabase | undefined;
  const fingerprint = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 12);
  const keys = async (from: TestDatabase) =>
    (
      await from.database.query<{ session_key: string }>('SELECT session_key FROM django_session ORDER BY 1')
    ).map(({ session_key }) => session_key);

  beforeEach(async () => {
    await place?.close();
    place = await createTestDatabase(layout);
    await place.session('a1', ALICE);
    await place.session('a2', ALICE);
    await place.session('over', ALICE, -1);
    await place.session('l1', LEAVER);
    await place.session('unknown', null);
  });
  afterAll(() => place?.close());

  const here = (): TestDatabase => {
    if (place === undefined) throw new Error('there is no place yet');
    return place;
  };

  it('are listed by owner, without an owner only with all, and never if expired', async () => {
    const { target } = here();
    const sessions = await all(partOf(target, 'sessions').list({ all: true }));
    expect(sessions.map((session) => session.fingerprint).sort()).toEqual(
      ['a1', 'a2', 'l1', 'unknown'].map(fingerprint).sort(),
    );
    expect(sessions.find((session) => session.fingerprint === fingerprint('unknown'))).toMatchObject({
      user: null,
      created: null,
    });
    const [left] = await all(partOf(target, 'sessions').list({ userIds: [LEAVER] }));
    expect(left).toMatchObject({ user: { id: LEAVER, username: 'leaver' }, created: expect.any(Date) });
    expect(JSON.stringify(sessions)).not.toMatch(/secret|"a1"/);
    expect(await all(partOf(target, 'sessions').list({ userIds: [] }))).toEqual([]);
  });

  it('of one user are ended, and no others', async () => {
    const ended = await all(partOf(here().target, 'sessions').end({ userIds: [ALICE] }));
    expect(ended.map((session) => session.fingerprint).sort()).toEqual(['a1', 'a2'].map(fingerprint).sort());
    expect(await keys(here())).toEqual(['l1', 'over', 'unknown']);
    const memberships = await here().database.query(
      `SELECT session_id FROM ${here().tables.sessionMemberships} ORDER BY 1`,
    );
    expect(memberships).toEqual([{ session_id: 'l1' }, { session_id: 'over' }]);
    expect(await all(partOf(here().target, 'sessions').end({ userIds: [ALICE] }))).toEqual([]);
  });

  it('are all ended in several batches', async () => {
    await here().database.execute(
      `INSERT INTO django_session (session_key, session_data, expire_date)
       SELECT 'many' || n, '', now() + interval '1 hour' FROM generate_series(1, 1200) n`,
    );
    expect(await all(partOf(here().target, 'sessions').end({ all: true }))).toHaveLength(1204);
    expect(await keys(here())).toEqual(['over']);
  });

  it('that are locked are reported after the others have ended', async () => {
    const { database, target } = here();
    await database.transaction(async (transaction) => {
      await transaction.query("SELECT FROM django_session WHERE session_key = 'a2' FOR UPDATE");
      const ended: string[] = [];
      const ending = (async () => {
        for await (const session of partOf(target, 'sessions').end({ userIds: [ALICE, LEAVER] }))
          ended.push(session.fingerprint);
      })();
      await expect(ending).rejects.toMatchObject({ code: 'partly_done', details: { left: 1 } });
      expect(ended.sort()).toEqual(['a1', 'l1'].map(fingerprint).sort());
    });
    expect(await keys(here())).toEqual(['a2', 'over', 'unknown']);
  });
});

describe('sessions of a gateway that no one lists', () => {
  const place = testDatabase('gateway');

  const now = new Date('2026-03-04T05:00:00Z');
  const unseen = async (userIds: readonly number[] | 'all') => {
    const description = await place.target.describe();
    return await unseenSessions(place.target, { description, userIds, now, latestExpiry: null });
  };

  it('may be in its cache, unless the users are deactivated', async () => {
    expect(await unseen([ALICE])).toMatchObject({
      how: expect.stringMatching(/^None is left in the database, .* from its cache\.$/),
      until: '2026-03-04T05:15:00.000Z',
    });
    expect(await unseen([LEAVER])).toBeNull();
    expect(await unseen([ALICE, LEAVER])).not.toBeNull();
  });

  it('may be in the table without an owner, without end if none is recorded', async () => {
    await place.session('nobody', null, -1);
    expect((await place.target.describe()).capabilities.sessionsUnowned).toBeUndefined();
    await place.session('anybody', null);
    const without = await unseen([ALICE]);
    expect(without?.how).toContain('without a recorded owner');
    expect(without?.until).toBeUndefined();
    expect(await unseen([LEAVER])).toBeNull();
    // Where owners are recorded, a session without one was not saved since that began.
    await place.session('of-leaver', LEAVER);
    const some = await unseen([ALICE]);
    expect(some?.how).toContain('without a recorded owner');
    // Not by the setting, which may have been lowered since: by its own date.
    const { capabilities } = await place.target.describe();
    expect(some?.until).toBe(capabilities.sessionsUnownedUntil);
    // All are selected, and so are those without an owner.
    expect((await unseen('all'))?.until).toBeDefined();
  });
});
