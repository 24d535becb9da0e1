import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { all, createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

/** Rows of a page; the tables hold two pages and one row. */
const PAGE = 2000;
const ROWS = 2 * PAGE + 1;
/** The end is read beside the first page: what is added while that is worked on may be read as well, once. */
const READ = [ROWS, ROWS + PAGE];
/** When a test gives up. */
const ENDLESS = 10 * PAGE;

describe('tables that grow as fast as they are read', () => {
  let place: TestDatabase;
  beforeEach(async () => {
    place = await createTestDatabase('gateway');
  });
  afterEach(() => place.close());

  /** Counts what a stream gives, and adds a page of rows after each page of it. */
  async function readWhile(stream: AsyncIterable<unknown>, grow: (round: number) => Promise<unknown>) {
    let read = 0;
    for await (const _item of stream) {
      read += 1;
      if (read % PAGE === 0) await grow(read / PAGE);
      if (read >= ENDLESS) throw new Error('endless');
    }
    return read;
  }

  it('tokens end with the largest id at the start', async () => {
    await place.tokens(ROWS);
    expect(READ).toContain(await readWhile(place.target.tokens({ all: true }), () => place.tokens(PAGE)));
  });

  it('the activity stream ends with the largest id at the start', async () => {
    const entries = (count: number) =>
      place.database.execute(
        `INSERT INTO dab_activitystream_entry (created, object_id, operation, changes, content_type_id)
         SELECT now(), '1', 'update', '{}', min(c.id) FROM django_content_type c, generate_series(1, $1::int) n
         GROUP BY n`,
        [count],
      );
    await entries(ROWS);
    expect(READ).toContain(await readWhile(place.target.activity.list({}), () => entries(PAGE)));
  });

  it('sessions end with the largest key at the start, or with an error', async () => {
    const sessions = (prefix: string, count: number) =>
      place.database.execute(
        `INSERT INTO django_session (session_key, session_data, expire_date)
         SELECT $1 || to_char(n, 'FM000000'), '', now() + interval '1 hour' FROM generate_series(1, $2::int) n`,
        [prefix, count],
      );
    await sessions('m', ROWS);
    const read = (prefix: string) =>
      readWhile(partOf(place.target, 'sessions').list({ all: true }), (round) =>
        sessions(`${prefix}${round}`, PAGE),
      );
    expect(READ).toContain(await read('z'));
    await place.database.execute("DELETE FROM django_session WHERE session_key > 'n'");
    await sessions('y', 1);
    await expect(read('n')).rejects.toMatchObject({ code: 'target_misbehaved' });
    expect((await all(partOf(place.target, 'sessions').list({ userIds: [1] }))).length).toBe(0);
  });
});
