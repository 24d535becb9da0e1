import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { Secret } from '../../../src/domain/secret.ts';
import { gatewayMigrations } from '../../../src/service/migrations/gateway/index.ts';
import { migrations } from '../../../src/service/migrations/index.ts';
import { dialectOf, openDatabase, type Place } from '../../../src/service/open-database.ts';
import { openOn } from '../../support/databases.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { DATABASES } from '../../support/service.ts';

/** The lock that everybody takes who migrates. */
const LOCK = 7_305_114_201;

const opened: Database[] = [];
const keep = async (opening: Promise<Database>) => {
  const database = await opening;
  opened.push(database);
  return database;
};
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
});

describe('the steps of the gateway’s schema', () => {
  it('have a form of every step of the controller’s', () => {
    const there = gatewayMigrations.map(({ name }) => name);
    const without = migrations.map(({ name }) => name).filter((name) => !there.includes(name));
    expect(
      without,
      `Write the gateway form of ${without.join(', ')} under the same name in src/service/migrations/gateway/ ` +
        'and put it at the end of gatewayMigrations',
    ).toEqual([]);
  });
});

describe.each(DATABASES)('the schemas of the gateway’s dialect on %s', (kind) => {
  it('hold the tables in public, and of the controller’s names only what a gateway lacks', async () => {
    const place: Place =
      kind === 'PostgreSQL'
        ? { url: new Secret(await createDatabase(inject('postgresUrl'))) }
        : { folder: null };
    const database = await keep(openDatabase(place, 'gateway'));
    const tables = await database.query<{ schema: string; names: string[] }>(
      `SELECT schemaname AS schema, array_agg(tablename::text ORDER BY tablename) AS names FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema') GROUP BY schemaname ORDER BY schemaname`,
    );
    expect(tables).toEqual([
      {
        schema: 'controller_names',
        names: ['main_credential', 'main_host', 'main_inventory', 'main_profile', 'sso_userenterpriseauth'],
      },
      {
        schema: 'public',
        names: expect.arrayContaining(['aap_gateway_api_user', 'service_migration', 'service_setting']),
      },
    ]);
    expect(await database.query("SELECT array_to_string(current_schemas(false), ' ') AS path")).toEqual([
      { path: 'controller_names public' },
    ]);
  });
});

describe('two first starts at once with different dialects', () => {
  it('make one database of one dialect, and the other is refused', async () => {
    const url = await createDatabase(inject('postgresUrl'));
    const administrator = await keep(openOn(url));
    const start = (dialect: 'gateway' | 'controller') =>
      keep(openDatabase({ url: new Secret(url) }, dialect)).then(
        () => null,
        (error: unknown) => error,
      );
    const starts = await administrator.transaction(async (transaction) => {
      await transaction.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
      const both = [start('gateway'), start('controller')];
      await vi.waitFor(
        async () =>
          expect(
            await transaction.query(
              `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
            ),
          ).toHaveLength(2),
        { timeout: 20_000 },
      );
      return both;
    });
    const refused = (await Promise.all(starts)).filter((error) => error !== null);
    expect(refused).toMatchObject([
      {
        code: 'configuration',
        message: `The database was made with --dialect ${await dialectOf(administrator)}`,
      },
    ]);
  });
});
