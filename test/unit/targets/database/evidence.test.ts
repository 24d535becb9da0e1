import { Secret } from '@tokenctl/common/secret.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type OpenedEvidence,
  openDatabaseEvidence,
} from '../../../../src/targets/database/evidence/evidence.ts';
import { all, createTestDatabase, LAYOUTS, type TestDatabase } from '../../../support/test-database.ts';

const SINCE = new Date('2026-11-20T08:00:00Z');
const UNTIL = new Date('2026-11-22T00:00:00Z');
const INTRUDER = 1;
const OTHER = 2;

let place: TestDatabase;
let evidence: OpenedEvidence;
beforeEach(async () => {
  place = await createTestDatabase(LAYOUTS[0]);
  await place.tokens(10);
  evidence = await openDatabaseEvidence({ connection: new Secret(place.url) });
});
afterEach(async () => {
  await evidence.close();
  await place.close();
});

/** Updates of tokens 1 to 5 in turn, a second apart; entries without an actor first, from before the period. */
async function write(count: number, { by, bytes = 1 }: { by: number | null; bytes?: number }) {
  await place.database.execute(
    `WITH written AS (
       INSERT INTO main_activitystream (operation, timestamp, changes, object_relationship_type, object1, object2,
         actor_id, action_node, setting)
       SELECT 'update', $1::timestamptz + (n - 1) * interval '1 second',
         '{"description": ["", "' || repeat('x', $4::int) || '"]}', '', 'o_auth2_access_token', '', $3::int, 'node', '{}'
       FROM generate_series(1, $2::int) n RETURNING id)
     INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
     SELECT id, 1 + id % 5 FROM written`,
    [SINCE, count, by, bytes],
  );
}

test('more entries than a page has are read once each, with what they are about', {
  tags: ['long'],
}, async () => {
  await write(20_001, { by: INTRUDER });
  await write(3, { by: OTHER });
  const ids: number[] = [];
  for await (const { id, actor, links } of evidence.deeds({
    since: SINCE,
    until: UNTIL,
    actorIds: [INTRUDER],
  })) {
    ids.push(id);
    if (actor?.id !== INTRUDER || links.get('o_auth2_access_token')?.[0]?.id !== 1 + (id % 5)) {
      throw new Error(`entry ${id} is not by the intruder, or not about its token`);
    }
  }
  expect(ids.length).toBe(20_001);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
});

test('a page of large changes has few entries; the last page ends with what was written at the start', {
  tags: ['long'],
}, async () => {
  await write(20, { by: INTRUDER, bytes: 1024 ** 2 });
  const ids: number[] = [];
  for await (const { id } of evidence.deeds({ since: SINCE, until: UNTIL, actorIds: [INTRUDER] })) {
    if (ids.length === 0) await write(1, { by: INTRUDER });
    ids.push(id);
  }
  expect(ids).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test('the period begins at its first entry, wherever that is', async () => {
  await place.database.execute(
    `INSERT INTO main_activitystream (operation, timestamp, changes, object_relationship_type, object1, object2,
       actor_id, action_node, setting)
     SELECT 'update', timestamptz '2026-01-01' + n * interval '2 hours', '{}', '', 'user', '', $1::int, 'node', '{}'
     FROM generate_series(1, 1000) n`,
    [INTRUDER],
  );
  for (const number of [0, 1, 2, 500, 999, 1000, 1001]) {
    const since = new Date(Date.UTC(2026, 0, 1, 2 * number));
    const deeds = await all(evidence.deeds({ since, until: UNTIL, actorIds: [INTRUDER] }));
    expect(deeds.length, `from entry ${number}`).toBe(1000 - Math.max(number, 1) + 1);
  }
});

test('entries that were read are not read again; one more about an object is', async () => {
  await write(50, { by: INTRUDER });
  const read = new Map<number, { count: number; sum: number }>();
  for await (const { id, links } of evidence.deeds({ since: SINCE, until: UNTIL, actorIds: [INTRUDER] })) {
    const token = links.get('o_auth2_access_token')?.[0]?.id ?? 0;
    const { count, sum } = read.get(token) ?? { count: 0, sum: 0 };
    read.set(token, { count: count + 1, sum: sum + id });
  }
  // Named by no one in `notBy`: what is left out is left out because of what was read.
  const about = { kind: 'o_auth2_access_token', ids: [1, 2, 3, 4, 5], after: 0, notBy: [], read };
  expect(await all(evidence.entriesAbout(about))).toEqual([]);
  await write(1, { by: OTHER });
  const found = await all(evidence.entriesAbout({ ...about, notBy: [INTRUDER] }));
  expect(found.map(({ id, actor }) => [id, actor?.id])).toEqual([[51, OTHER]]);
});

test('a link is looked up for the kinds whose ids its table has', async () => {
  await place.database.execute(
    `CREATE TABLE main_unifiedjobtemplate_credentials (unifiedjobtemplate_id bigint, credential_id bigint);
     INSERT INTO main_unifiedjobtemplate_credentials VALUES (7, 1)`,
  );
  const opened = await openDatabaseEvidence({ connection: new Secret(place.url) });
  const has = (kind: string, id: number) =>
    opened.hasLink('credentials', { kind, id, name: null }, { kind: 'credential', id: 1, name: null });
  expect(await has('job_template', 7)).toBe(true);
  expect(await has('job_template', 8)).toBe(false);
  // The credentials of a schedule and of an organization are in other tables.
  expect(await has('schedule', 7)).toBe(null);
  expect(await has('organization', 8)).toBe(null);
  await opened.close();
});

test('the objects of an entry are in the order of their ids, however they are stored', async () => {
  await write(1, { by: INTRUDER });
  // Without this index the links are read in the order in which they were written.
  await place.database.execute(
    `ALTER TABLE main_activitystream_o_auth2_access_token
       DROP CONSTRAINT IF EXISTS main_activitystream_o_au_activitystream_id_oauth2_625b181f_uniq;
     DELETE FROM main_activitystream_o_auth2_access_token;
     INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
       VALUES (1, 7), (1, 3), (1, 5)`,
  );
  const [entry] = await all(evidence.deeds({ since: SINCE, until: UNTIL, actorIds: [INTRUDER] }));
  expect(entry?.links.get('o_auth2_access_token')?.map(({ id }) => id)).toEqual([3, 5, 7]);
});

test('a page that cannot be read fails the reading, also while the caller works on an earlier one', {
  tags: ['long'],
}, async () => {
  await write(40, { by: INTRUDER, bytes: 1024 ** 2 });
  const ids: number[] = [];
  const read = async () => {
    for await (const { id } of evidence.deeds({ since: SINCE, until: UNTIL, actorIds: [INTRUDER] })) {
      ids.push(id);
      if (ids.length > 1) continue;
      await place.database.execute('ALTER TABLE main_activitystream RENAME TO renamed');
      // Meanwhile a page that was asked for before fails.
      const asked = `SELECT FROM pg_stat_activity
        WHERE state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()`;
      await until(async () => (await place.database.query(asked)).length === 0);
    }
  };
  await expect(read()).rejects.toMatchObject({ code: 'target_misbehaved', details: { sqlstate: '42P01' } });
  expect(ids.length).toBeLessThan(40);
});
