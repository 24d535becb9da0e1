import { kinds } from '@tokenctl/testing/runs.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  all,
  createTestDatabase,
  LAYOUTS,
  roleWith,
  type TestDatabase,
} from '../../../support/test-database.ts';
import { errorOf } from '../../../support/test-target.ts';

describe.each(kinds(LAYOUTS))('a schema before the tables of the %s', (layout) => {
  let place: TestDatabase;

  beforeEach(async () => {
    place = await createTestDatabase(layout);
    await place.tokens(2);
  });
  afterEach(() => place.close());

  /** A role whose own schema comes first on the default search path. */
  function intruder(grants: (role: string) => readonly string[]) {
    return roleWith(place, (role) => [
      `ALTER ROLE ${role} SUPERUSER`,
      `CREATE SCHEMA ${role}`,
      ...grants(role),
    ]);
  }

  it('whose empty table has the name of the tokens is refused, with both schemas', async () => {
    const { accessTokens } = place.tables;
    const url = await intruder((role) => [
      `CREATE TABLE ${role}.${accessTokens} (LIKE public.${accessTokens})`,
    ]);
    const error = await errorOf(place.open({ url }));
    expect(error.code).toBe('unsupported');
    expect(error.message).toMatch(
      new RegExp(`the table ${accessTokens} in two schemas on the search path: public and role_`),
    );
    const named = new URL(url);
    named.searchParams.set('options', '-csearch_path=public');
    expect(await all((await place.open({ url: named.href })).tokens({}))).toHaveLength(2);
  });

  it('which gets such a table after the start does not hide a token', async () => {
    const { accessTokens } = place.tables;
    const url = await intruder(() => []);
    const target = await place.open({ url });
    const role = new URL(url).username;
    await place.database.execute(`CREATE TABLE ${role}.${accessTokens} (LIKE public.${accessTokens})`);
    expect(await all(target.tokens({}))).toHaveLength(2);
  });

  it('with a name that needs quotes is found', async () => {
    await place.database.execute('ALTER SCHEMA public RENAME TO "it\'s \\ ""my"" schema"');
    const named = new URL(place.url);
    named.search = `?options=${encodeURIComponent(String.raw`-csearch_path="it's\ \\\ ""my""\ schema"`)}`;
    expect(await all((await place.open({ url: named.href })).tokens({}))).toHaveLength(2);
  });
});
