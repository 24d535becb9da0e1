import { EMPTY_DATABASES, openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';

describe.each(EMPTY_DATABASES)('%s', (_name, open) => {
  let database: Database;
  const rows = () => database.query('SELECT id FROM entry ORDER BY id');

  beforeAll(async () => {
    database = await open();
    await database.script('CREATE TABLE entry (id bigint PRIMARY KEY); CREATE TABLE other (id int);');
  });
  afterAll(() => database.close());

  it('reads int8, times, JSON, arrays and NULL as the same things', async () => {
    const [row] = await database.query(
      `SELECT 9007199254740991::int8 AS large, count(*) AS count, ARRAY[1, 2]::int8[] AS larges, ARRAY[3]::int4[] AS small,
        '2024-02-29T12:00:00.123Z'::timestamptz AS time, '{"a": [1, null]}'::jsonb AS json,
        '["b"]'::json AS list, NULL::int8 AS nothing, true AS yes, 'text'::varchar(10) AS text FROM entry`,
    );
    expect(row).toEqual({
      large: 9_007_199_254_740_991,
      count: 0,
      larges: [1, 2],
      small: [3],
      time: new Date('2024-02-29T12:00:00.123Z'),
      json: { a: [1, null] },
      list: ['b'],
      nothing: null,
      yes: true,
      text: 'text',
    });
  });

  it('takes the same values as parameters', async () => {
    const at = new Date('9948-01-01T00:00:00.001Z');
    const [row] = await database.query(
      'SELECT $1::int8 AS n, $2::timestamptz AS at, $3::jsonb AS json, $4::text[] AS list, $5::bool AS no, $6::text AS nothing',
      [7, at, JSON.stringify({ a: 1 }), ['x', 'y'], false, null],
    );
    expect(row).toEqual({ n: 7, at, json: { a: 1 }, list: ['x', 'y'], no: false, nothing: null });
  });

  it('counts the rows that a statement touched', async () => {
    expect(await database.execute('INSERT INTO other VALUES (1), (2), (3)')).toBe(3);
    expect(await database.execute('UPDATE other SET id = id + 1 WHERE id > $1', [1])).toBe(2);
    expect(await database.execute('DELETE FROM other WHERE id = 99')).toBe(0);
  });

  it('keeps a transaction that returns, and its value', async () => {
    const value = await database.transaction(async (transaction) => {
      await transaction.execute('INSERT INTO entry VALUES (1)');
      return transaction.query('SELECT id FROM entry');
    });
    expect(value).toEqual([{ id: 1 }]);
    expect(await rows()).toEqual([{ id: 1 }]);
  });

  it('rolls a transaction back that throws, also where it goes on after a failed statement', async () => {
    const fault = new Error('of our own');
    await expect(
      database.transaction(async (transaction) => {
        await transaction.execute('INSERT INTO entry VALUES (2)');
        throw fault;
      }),
    ).rejects.toBe(fault);
    await expect(
      database.transaction(async (transaction) => {
        await transaction.execute('INSERT INTO entry VALUES (3)');
        await transaction.execute('INSERT INTO entry VALUES (3)');
      }),
    ).rejects.toMatchObject({ code: '23505' });
    await expect(
      database.transaction(async (transaction) => {
        await transaction.execute('INSERT INTO entry VALUES (4)');
        await transaction.execute('SELECT nothing').catch(() => undefined);
        await transaction.execute('INSERT INTO entry VALUES (5)');
      }),
    ).rejects.toMatchObject({ code: '25P02' });
    expect(await rows()).toEqual([{ id: 1 }]);
  });

  it('keeps concurrent transactions apart', async () => {
    const add = (id: number) =>
      database.transaction(async (transaction) => {
        await transaction.execute('INSERT INTO entry VALUES ($1)', [id]);
        await transaction.query('SELECT 1');
        if (id % 2 === 1) throw new Error('odd');
      });
    await Promise.allSettled([10, 11, 12, 13].map(add));
    expect(await rows()).toEqual([{ id: 1 }, { id: 10 }, { id: 12 }]);
  });
});

describe('the embedded database', () => {
  it('refuses a statement outside the transaction that waits for it, which would wait for ever', {
    tags: ['long'],
  }, async () => {
    const database = await openEmbedded(null);
    const inner = database.transaction(() => database.query('SELECT 1'));
    await expect(inner).rejects.toThrow('outside its transaction');
    await expect(database.transaction(() => database.transaction(async () => 1))).rejects.toThrow('outside');
    const ended = Promise.withResolvers<void>();
    let later: Promise<unknown> = Promise.resolve();
    await database.transaction(async () => {
      later = ended.promise.then(() => database.query('SELECT 1 AS one'));
    });
    ended.resolve();
    expect(await later).toEqual([{ one: 1 }]);
    await database.close();
  });
});

describe('a connection to PostgreSQL that breaks', () => {
  it('in the middle of a transaction ends that, and not the process', async () => {
    const url = await createDatabase(inject('postgresUrl'));
    const [database, killer] = await Promise.all([openOn(url), openOn(url)]);
    const broken = database.transaction(async (transaction) => {
      const [row] = await transaction.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await killer.query('SELECT pg_terminate_backend($1)', [row?.pid]);
      await until(
        async () =>
          (await killer.query('SELECT FROM pg_stat_activity WHERE pid = $1', [row?.pid])).length === 0,
      );
      await transaction.query('SELECT 1');
    });
    await expect(broken).rejects.toMatchObject({ code: 'database_unreachable' });
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await Promise.all([database.close(), killer.close()]);
  });
});
