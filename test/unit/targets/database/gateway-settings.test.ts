import { refused } from '@tokenctl/testing/refused.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RemedySelection } from '../../../../src/domain/remedies.ts';
import { checkOtherCredentials } from '../../../../src/operations/access/check-paths.ts';
import { pathsNotCovered } from '../../../../src/operations/access/not-covered.ts';
import { planRevocation } from '../../../../src/operations/revocation/plan-revocation.ts';
import { stillClock } from '../../../support/drafts.ts';
import { testDatabase } from '../../../support/test-database.ts';

describe("settings in a gateway's tables", () => {
  const place = testDatabase('gateway');

  const stored = (name: string) =>
    place.database.query<{ raw_value: string }>(
      'SELECT section, raw_value FROM aap_gateway_api_preference WHERE name = $1',
      [name],
    );
  const told = (name: string) =>
    place.database.query(
      `SELECT e.operation, e.changes -> 'changed_fields' AS changed, e.changes -> 'added_fields' AS added
       FROM dab_activitystream_entry e JOIN django_content_type c ON c.id = e.content_type_id
       JOIN aap_gateway_api_preference p ON p.id::text = e.object_id
       WHERE c.model = 'preference' AND p.name = $1 ORDER BY e.id`,
      [name],
    );

  it('are read by the gateway’s names, and missing ones are null', async () => {
    expect(await place.target.settings.read()).toEqual({
      AUTH_BASIC_ENABLED: true,
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
      SESSION_COOKIE_AGE: 900,
      SESSIONS_PER_USER: null,
      MAX_EXTRA_SESSIONS_PER_USER: null,
      DISABLE_LOCAL_AUTH: null,
      OAUTH2_PROVIDER: null,
      LOGIN_REDIRECT_OVERRIDE: '',
      ALLOW_METRICS_FOR_ANONYMOUS_USERS: null,
    });
  });

  it('are written in the gateway’s form with an activity entry each, except unchanged values and null', async () => {
    const before = await place.target.settings.read();
    const after = await place.target.settings.write({
      ...before,
      AUTH_BASIC_ENABLED: false,
      SESSION_COOKIE_AGE: 600,
    });
    expect(after).toEqual({ ...before, AUTH_BASIC_ENABLED: false, SESSION_COOKIE_AGE: 600 });
    expect(await stored('gateway_basic_auth_enabled')).toEqual([{ section: 'proxy', raw_value: 'False' }]);
    expect(await stored('SESSION_COOKIE_AGE')).toEqual([{ section: 'configuration', raw_value: '600' }]);
    const entry = (changed: unknown) => ({ operation: 'update', changed: { raw_value: changed }, added: {} });
    expect(await told('gateway_basic_auth_enabled')).toEqual([entry(['True', 'False'])]);
    expect(await told('SESSION_COOKIE_AGE')).toEqual([entry(['900', '600'])]);
    expect(await told('ALLOW_OAUTH2_FOR_EXTERNAL_USERS')).toEqual([]);
  });

  it('get a row when the value is no longer the default', async () => {
    await place.database.execute(
      "DELETE FROM aap_gateway_api_preference WHERE name = 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS'",
    );
    await place.target.settings.write({ ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false });
    expect(await stored('ALLOW_OAUTH2_FOR_EXTERNAL_USERS')).toEqual([]);
    await place.target.settings.write({ ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
    expect(await stored('ALLOW_OAUTH2_FOR_EXTERNAL_USERS')).toEqual([
      { section: 'oauth2_provider', raw_value: 'True' },
    ]);
    const [entry] = await told('ALLOW_OAUTH2_FOR_EXTERNAL_USERS');
    expect(entry).toMatchObject({ operation: 'create', added: { raw_value: 'True' } });
  });

  it('that no table contains are refused with a hint, and nothing is written', async () => {
    const before = await place.target.settings.read();
    const lifetimes = {
      ACCESS_TOKEN_EXPIRE_SECONDS: 3600,
      REFRESH_TOKEN_EXPIRE_SECONDS: 3600,
      AUTHORIZATION_CODE_EXPIRE_SECONDS: 60,
    };
    await expect(
      place.target.settings.write({ LOGIN_REDIRECT_OVERRIDE: '/elsewhere', OAUTH2_PROVIDER: lifetimes }),
    ).rejects.toMatchObject({
      code: 'unsupported',
      hint: expect.stringContaining('OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS'),
    });
    await expect(place.target.settings.write({ SESSIONS_PER_USER: 3 })).rejects.toMatchObject({
      code: 'unsupported',
      hint: expect.stringContaining('set MAX_EXTRA_SESSIONS_PER_USER'),
    });
    await expect(place.target.settings.write({ MAX_EXTRA_SESSIONS_PER_USER: 3 })).rejects.toMatchObject({
      code: 'unsupported',
    });
    await expect(
      place.target.settings.write({ LOGIN_REDIRECT_OVERRIDE: '/elsewhere', SESSION_COOKIE_AGE: 5 }),
    ).rejects.toMatchObject(refused('unsupported', 'SESSION_COOKIE_AGE'));
    expect(await place.target.settings.read()).toEqual(before);
  });

  it.each(['SESSIONS_PER_USER', 'MAX_EXTRA_SESSIONS_PER_USER'])(
    'include the limit of further sessions under the name %s',
    async (name) => {
      await place.database.execute(
        "INSERT INTO aap_gateway_api_preference (section, name, raw_value) VALUES ('configuration', $1, '-1')",
        [name],
      );
      const none = { SESSIONS_PER_USER: null };
      expect(await place.target.settings.read()).toMatchObject({ ...none, MAX_EXTRA_SESSIONS_PER_USER: -1 });
      expect(await place.target.settings.write({ MAX_EXTRA_SESSIONS_PER_USER: 3 })).toMatchObject({
        ...none,
        MAX_EXTRA_SESSIONS_PER_USER: 3,
      });
      const stored = await place.database.query<{ raw_value: string }>(
        'SELECT raw_value FROM aap_gateway_api_preference WHERE name = $1',
        [name],
      );
      expect(stored).toEqual([{ raw_value: '3' }]);
      await place.database.execute('DELETE FROM aap_gateway_api_preference WHERE name = $1', [name]);
    },
  );

  it('name an invalid stored value', async () => {
    await place.database.execute(
      "UPDATE aap_gateway_api_preference SET raw_value = 'soon' WHERE name = 'SESSION_COOKIE_AGE'",
    );
    await expect(place.target.settings.read()).rejects.toMatchObject(
      refused('target_misbehaved', 'SESSION_COOKIE_AGE'),
    );
  });
});

describe('a gateway without the owners of sessions', () => {
  const place = testDatabase('gateway');
  beforeAll(async () => {
    await place.database.script('DROP TABLE aap_gateway_api_usersessionmembership');
  });

  it('is supported without sessions, and needs no rights for them', async () => {
    const target = await place.open();
    const { dialect, missingRights } = await target.describe();
    expect({ dialect, missingRights, sessions: target.sessions }).toEqual({
      dialect: 'gateway',
      missingRights: [],
      sessions: undefined,
    });
    const [id = 0] = await place.tokens(1);
    for await (const { result } of target.revoke([id])) expect(result).toBe('revoked');
  });

  it('is not called a lack of rights', async () => {
    const target = await place.open();
    const description = await target.describe();
    const checks = { target, description, now: new Date() };
    const paths = await checkOtherCredentials(checks, { kind: 'users', names: ['alice'] });
    expect(paths.find(({ path }) => path === 'sessions')).toMatchObject({
      state: 'not_checked',
      how: "This gateway's tables do not record which users sessions belong to.",
    });
  });

  it('gives remedies for sessions that work there', async () => {
    const target = await place.open();
    const reach = { refreshTokens: true, authorizationCodes: true, sessions: false };
    const remedyFor = async (selection: RemedySelection) => {
      const description = await target.describe();
      const left = await pathsNotCovered({
        target,
        description,
        selection,
        tokensWithRefreshToken: 0,
        reach,
      });
      return left.find(({ path }) => path === 'sessions')?.remedy;
    };
    const remedies = [
      await remedyFor({ kind: 'all', names: [], owners: [] }),
      await remedyFor({ kind: 'users', names: ['ann'], owners: ['ann'] }),
    ];
    expect(remedies).toEqual([
      expect.stringMatching(/`DELETE FROM django_session`.*until their entries in the cache/),
      'No table contains the owners of sessions, so no command can end only these.',
    ]);
    expect(remedies.join()).not.toMatch(/--with-sessions|sessions expire/);
    const planned = planRevocation({
      target,
      selector: { all: true },
      clock: stillClock,
      withSessions: true,
    });
    await expect(planned).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('The tables of this database'),
      hint: expect.stringMatching(/Upgrade the gateway.*`DELETE FROM django_session`/),
    });
  });
});
