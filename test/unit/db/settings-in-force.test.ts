import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { settingsIn } from '@tokenctl/common/db/settings-in-force.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';
import { NO_PGBOUNCER, startPgbouncer } from '../../support/pgbouncer.ts';
import { createTestDatabase } from '../../support/test-database.ts';

test('the settings in options are read as the server reads them', () => {
  const options = String.raw`-c search_path="a\ b",pg_temp -cjit=off --lock-timeout=5s -c statement_timeout=1\\2 -d 3`;
  expect([...settingsIn(options)]).toEqual([
    ['search_path', '"a b",pg_temp'],
    ['jit', 'off'],
    ['lock_timeout', '5s'],
    ['statement_timeout', String.raw`1\2`],
  ]);
  expect(settingsIn(undefined).size).toBe(0);
});

describe.skipIf(NO_PGBOUNCER !== null)('through a pooler that ignores options', () => {
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  let place: Awaited<ReturnType<typeof createTestDatabase>>;
  beforeAll(async () => {
    place = await createTestDatabase('service');
    // The same tables, empty, in another schema, to which the role's own search path leads.
    await place.database.script(`CREATE SCHEMA old;
      DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TABLE old.%I (LIKE public.%I INCLUDING ALL)', t, t); END LOOP; END $$;`);
    const { pathname } = new URL(place.url);
    await place.database.execute(
      `ALTER ROLE CURRENT_USER IN DATABASE "${pathname.slice(1)}" SET search_path = old`,
    );
    pooler = await startPgbouncer(place.url);
  });
  afterAll(async () => {
    await pooler.stop();
    await place.close();
  });

  test('the schema that the connection names is read', async () => {
    await place.tokens(2);
    const read = async (url: string) => {
      const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
      try {
        return (await Array.fromAsync(target.tokens({ all: true }))).length;
      } finally {
        await target.close();
      }
    };
    expect(await read(`${pooler.url}?options=-csearch_path%3Dpublic`)).toBe(2);
    expect(await read(pooler.url)).toBe(0);
  });

  test('and that shares its connections is refused: a setting does not stay in force', async () => {
    const shared = await startPgbouncer(place.url, 'transaction');
    const clients = [1, 2, 3].map(() => new pg.Client({ connectionString: shared.url }));
    // At the same time, so that the pool has a connection to the server for each.
    for (const client of clients) await client.connect().then(() => client.query('BEGIN'));
    for (const client of clients) await client.query('COMMIT').then(() => client.end());
    const url = new Secret(shared.url);
    const opened = openPostgres({ url, applicationName: 'test', lockTimeout: 2345 }).then((database) =>
      database.query('SELECT 1'),
    );
    await expect(opened).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('does not keep these session settings: '),
      hint: expect.stringContaining('pool_mode = session'),
    });
    await shared.stop();
  });

  test('limits and a transaction that only reads are in force', async () => {
    const database = await openPostgres({
      url: new Secret(pooler.url),
      applicationName: 'test',
      statementTimeout: 12_345,
      lockTimeout: 2345,
      settings: { default_transaction_read_only: 'on' },
    });
    const names = ['statement_timeout', 'lock_timeout', 'default_transaction_read_only'];
    const rows = await database.query<{ value: string }>(
      'SELECT current_setting(n) AS value FROM unnest($1::text[]) AS n',
      [names],
    );
    expect(rows.map(({ value }) => value)).toEqual(['12345ms', '2345ms', 'on']);
    await database.close();
  });
});
