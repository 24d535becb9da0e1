import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Target } from '../../../../src/operations/ports/target.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { openDatabaseEvidence } from '../../../../src/targets/database/evidence/evidence.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../../support/real-tables.ts';
import { all, results } from '../../../support/test-database.ts';

const CONTROLLERS: readonly Peer[] = ['awx-24.6.1', 'awx-21.14.0', 'awx-23.5.1', 'awx-devel'];

describeEach(kinds(CONTROLLERS.filter((peer) => REAL_PEERS.includes(peer))))(
  'on the tables of %s',
  (peer) => {
    let tables: RealTables;
    let target: Target;
    const hasExternalUsers = peer !== 'awx-devel';

    beforeAll(async () => {
      tables = await loadRealTables(peer);
      target = await tables.open();
    });
    afterAll(() => tables.close());

    test('users are listed, and those of an identity provider told', async () => {
      const users = await all(target.users.list());
      expect(users.map(({ username }) => username)).toEqual(
        expect.arrayContaining(['admin', 'alice', 'bob']),
      );
      const external = users.filter(({ externalAccount }) => externalAccount !== null);
      expect(external.map(({ username }) => username)).toEqual(hasExternalUsers ? ['socialite'] : []);
      const known = await all(target.users.identities());
      expect(known.map(({ id }) => id)).toEqual(users.map(({ id }) => id));
      expect(known.filter(({ id }) => id === external[0]?.id).map(({ accounts }) => accounts)).toEqual(
        hasExternalUsers ? [[{ provider: 'saml', uid: 'idp:socialite' }]] : [],
      );
      const { missingRights, dialect } = await target.describe();
      expect({ missingRights, dialect }).toEqual({ missingRights: [], dialect: 'controller' });
    });

    test('settings are read, written as the controller does, and read again', async () => {
      const external = hasExternalUsers ? false : null;
      const before = await target.settings.read();
      expect(before).toMatchObject({ AUTH_BASIC_ENABLED: true, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: external });
      const lifetimes = {
        ACCESS_TOKEN_EXPIRE_SECONDS: 3600,
        REFRESH_TOKEN_EXPIRE_SECONDS: 7200,
        AUTHORIZATION_CODE_EXPIRE_SECONDS: 60,
      };
      const change = { AUTH_BASIC_ENABLED: false, SESSION_COOKIE_AGE: 900, OAUTH2_PROVIDER: lifetimes };
      expect(await target.settings.write(change)).toEqual({ ...before, ...change });
      expect(await target.settings.read()).toEqual({ ...before, ...change });
      const stored = await tables.database.query<{ key: string; value: unknown }>(
        "SELECT key, value::text AS value FROM conf_setting WHERE key IN ('AUTH_BASIC_ENABLED', 'OAUTH2_PROVIDER') ORDER BY key",
      );
      expect(stored.map(({ key, value }) => [key, JSON.parse(String(value))])).toEqual([
        ['AUTH_BASIC_ENABLED', false],
        ['OAUTH2_PROVIDER', lifetimes],
      ]);
      const [entry] = await tables.database.query<{ changes: string; setting: string }>(
        `SELECT changes, setting::text AS setting FROM main_activitystream
       WHERE object1 = 'setting' AND setting::text LIKE '%AUTH_BASIC_ENABLED%' ORDER BY id DESC LIMIT 1`,
      );
      expect(JSON.parse(entry?.changes ?? '')).toMatchObject({ value: false });
      expect(JSON.parse(entry?.setting ?? '')).toEqual({
        name: 'AUTH_BASIC_ENABLED',
        category: 'authentication',
      });
      await target.settings.write({ AUTH_BASIC_ENABLED: true });
      expect((await target.settings.read()).AUTH_BASIC_ENABLED).toBe(true);
    });

    test('a setting that this version does not have is refused by name', async () => {
      const allowing = target.settings.write({ ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
      if (!hasExternalUsers) {
        await expect(allowing).rejects.toMatchObject({
          code: 'unsupported',
          message: 'This target has no setting ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
        });
      } else expect((await allowing).ALLOW_OAUTH2_FOR_EXTERNAL_USERS).toBe(true);
    });

    test('tokens are made, and revoked with their refresh tokens', async () => {
      const { token } = await target.createToken({ scope: 'read', description: 'new', user: 'alice' });
      expect(await results(target.revoke([token.id]))).toEqual({ [token.id]: 'revoked' });
      const [pair] = (await all(target.tokens({ users: ['bob'] }))).filter((each) => each.hasRefreshToken);
      const id = pair?.id ?? 0;
      expect(await results(target.revoke([id], { withRefreshTokens: true }))).toEqual({ [id]: 'revoked' });
      const left = await all(partOf(target, 'refreshTokens').list({ users: ['bob'], states: ['orphaned'] }));
      expect(left).toEqual([]);
      expect(await target.users.setActive(tables.filling.users['bob'] ?? 0, false)).toBe(true);
    });

    test('what was done is read from the activity stream', async () => {
      const evidence = await openDatabaseEvidence({ connection: new Secret(tables.url) });
      const window = { since: new Date('2020-01-01'), until: new Date(Date.now() + 60_000) };
      const deeds = await all(evidence.deeds({ ...window, actorIds: [tables.filling.users['admin'] ?? 1] }));
      expect(deeds.length).toBeGreaterThan(0);
      await all(evidence.deedsOfDeleted({ ...window, users: [{ id: 987, username: 'gone' }] }));
      const entries = await all(evidence.settingEntries(0));
      expect(entries.map(({ setting }) => setting)).toContain('AUTH_BASIC_ENABLED');
      expect((await evidence.settings(['AUTH_BASIC_ENABLED']))?.get('AUTH_BASIC_ENABLED')).toBe(true);
      expect(await evidence.extent(window)).toMatchObject({ enabled: null });
      await evidence.close();
    });
  },
);
