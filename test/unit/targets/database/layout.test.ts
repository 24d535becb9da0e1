import type { Database } from '@tokenctl/common/db/database.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { pathsNotCovered } from '../../../../src/operations/access/not-covered.ts';
import { openDatabaseTarget } from '../../../../src/targets/database/database-target.ts';
import { LAYOUTS as CONTROLLERS, makeTables } from '../../../support/controller-tables.ts';
import { LAYOUTS, testDatabase } from '../../../support/test-database.ts';

describe.each(LAYOUTS)('the tables of the %s', (layout) => {
  const place = testDatabase(layout);

  it('are recognized, and described without secrets', async () => {
    const description = await place.target.describe();
    const { host, pathname, password } = new URL(place.url);
    expect(description).toEqual({
      context: 'test',
      address: `postgresql://${host}${pathname}`,
      dialect: layout,
      version: null,
      installUuid: null,
      identity: { id: null, username: 'postgres', isSuperuser: true, isSystemAuditor: false },
      credential: 'database_role',
      transport: 'plain',
      capabilities: {
        ...(layout === 'gateway' && { sessionsCached: true }),
        lastUsed: true,
        settingsHold: { controller: 'within_a_minute', service: 'at_once', gateway: 'within_five_minutes' }[
          layout
        ],
        deactivateUsers: true,
        changes: true,
        batchSize: expect.any(Number),
      },
      missingRights: [],
      visibility: { kind: 'all' },
      clock: { aheadMs: expect.any(Number), uncertaintyMs: expect.any(Number) },
      ...(layout === 'gateway' && { tokensInClear: false, unhashedTokens: null }),
    });
    expect(JSON.stringify(description)).not.toContain(password);
  });

  it('are read with the application name tokenctl', async () => {
    const sessions = await place.database.query(
      'SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    expect(sessions).toEqual([{ application_name: 'tokenctl' }]);
  });

  it('show what stays open after a revocation', async () => {
    const reach = { refreshTokens: false, authorizationCodes: false, sessions: false };
    const { target } = place;
    const description = await target.describe();
    const left = await pathsNotCovered({
      ...{ target, description },
      selection: { kind: 'all' as const, names: [], owners: [] },
      tokensWithRefreshToken: 3,
      reach,
    });
    expect(left.map(({ path, count }) => [path, count])).toEqual([
      ['refresh_tokens', 3],
      ['authorization_codes', undefined],
      ['sessions', undefined],
      ['basic_authentication', undefined],
    ]);
    expect(left[2]?.remedy).toContain('tokenctl sessions expire --context test --all');
    expect(left[3]?.remedy?.includes('local accounts cannot log in')).toBe(layout === 'gateway');
    await place.target.settings.write({ AUTH_BASIC_ENABLED: false });
    const everything = { refreshTokens: true, authorizationCodes: true, sessions: true };
    expect(
      await pathsNotCovered({
        ...{ target, description },
        selection: { kind: 'all' as const, names: [], owners: [] },
        tokensWithRefreshToken: 3,
        reach: everything,
      }),
    ).toEqual([]);
    expect(await place.target.ownTokenIds()).toEqual([]);
  });

  it('are refused with the name of a missing column', async () => {
    await place.database.script(`ALTER TABLE ${place.tables.accessTokens} DROP COLUMN last_used`);
    await expect(place.open()).rejects.toMatchObject(
      refused('unsupported', `the column ${place.tables.accessTokens}.last_used is missing`),
    );
  });
});

describe('other tables', () => {
  let database: Database;
  let url: string;
  const open = () => openDatabaseTarget({ context: 'test', connection: new Secret(url) });

  beforeAll(async () => {
    url = await createDatabase(inject('postgresUrl'));
    database = await openOn(url);
  });
  afterAll(() => database.close());

  it('are refused in an empty database', async () => {
    await expect(open()).rejects.toMatchObject(refused('unsupported', 'it has none of their tables'));
  });

  it('are refused if some of a gateway’s are missing', async () => {
    await database.script('CREATE TABLE dab_oauth2_provider_oauth2accesstoken (id int)');
    await expect(open()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('is not a gateway database that this version supports'),
      hint: expect.stringContaining('platform gateway'),
    });
  });

  it('with a gateway’s names next to a controller’s own do not make a gateway', async () => {
    await database.script('CREATE SCHEMA controller');
    const there = `${url}?options=-csearch_path%3Dcontroller%2Cpublic`;
    const tables = await openOn(there);
    await makeTables(tables);
    await tables.close();
    const target = await openDatabaseTarget({ context: 'test', connection: new Secret(there) });
    expect((await target.describe()).dialect).toBe(CONTROLLERS[0]);
    await target.close();
  });

  it('are refused if one of a controller’s is missing, and found along the search path', async () => {
    await database.script('CREATE SCHEMA elsewhere');
    const there = await openOn(`${url}?options=-csearch_path%3Delsewhere`);
    await makeTables(there, 'service');
    await there.close();
    const target = await openDatabaseTarget({
      context: 'test',
      connection: new Secret(`${url}?options=-csearch_path%3Delsewhere`),
    });
    expect((await target.describe()).dialect).toBe('service');
    await target.close();
    await database.script('DROP TABLE elsewhere.main_profile');
    await expect(
      openDatabaseTarget({
        context: 'test',
        connection: new Secret(`${url}?options=-csearch_path%3Delsewhere`),
      }),
    ).rejects.toMatchObject({ message: expect.stringContaining('the table main_profile is missing') });
  });
});
