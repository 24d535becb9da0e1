import { EMPTY_DATABASES, openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { ADVISORY_LOCKS, type Database } from '../../src/db/database.ts';
import { type Migration, migrate } from '../../src/db/migrate.ts';

const first: Migration = {
  number: 1,
  name: 'first',
  sql: 'CREATE TABLE one (id int);\nINSERT INTO one VALUES (1);\n',
};
const second: Migration = { number: 2, name: 'second', sql: 'CREATE TABLE two (id int);' };
const broken: Migration = { number: 2, name: 'broken', sql: 'CREATE TABLE two (id int);\nSELECT nothing;' };

const opened: Database[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
});

describe.each(EMPTY_DATABASES)('migrations on %s', (_name, open) => {
  const fresh = async () => {
    const database = await open();
    opened.push(database);
    return database;
  };
  const numbers = (database: Database) =>
    database.query('SELECT number, name FROM service_migration ORDER BY number');

  it('are applied once each, in order', async () => {
    const database = await fresh();
    expect(await migrate(database, [first])).toBe(1);
    expect(await migrate(database, [first, second])).toBe(1);
    expect(await migrate(database, [first, second])).toBe(0);
    expect(await database.query('SELECT id FROM one')).toEqual([{ id: 1 }]);
    expect(await numbers(database)).toEqual([
      { number: 1, name: 'first' },
      { number: 2, name: 'second' },
    ]);
  });

  it('are applied all or none', async () => {
    const database = await fresh();
    await expect(migrate(database, [first, broken])).rejects.toThrow(/nothing/);
    expect(
      await database.query("SELECT to_regclass('one') AS one, to_regclass('service_migration') AS log"),
    ).toEqual([{ one: null, log: null }]);
    expect(await migrate(database, [first, second])).toBe(2);
  });

  it('of a newer program are refused, and nothing is touched', async () => {
    const database = await fresh();
    await migrate(database, [first, second]);
    await expect(migrate(database, [first])).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringMatching(/at migration 2, but this program only knows 1/),
    });
    expect(await numbers(database)).toHaveLength(2);
  });
});

describe('migrations by several processes at once', () => {
  it('are applied by one of them, and the others wait', async () => {
    const url = await createDatabase(inject('postgresUrl'));
    const databases = await Promise.all([1, 2, 3, 4].map(() => openOn(url)));
    opened.push(...databases);
    const holder = await openOn(url);
    opened.push(holder);
    const applied = await holder.transaction(async (transaction) => {
      await transaction.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.serviceMigration]);
      const migrated = databases.map((database) => migrate(database, [first, second]));
      const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      await until(async () => (await transaction.query(waiting)).length === databases.length);
      return { all: Promise.all(migrated) };
    });
    expect((await applied.all).sort()).toEqual([0, 0, 0, 2]);
  });
});
