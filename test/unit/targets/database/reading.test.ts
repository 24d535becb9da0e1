import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Selector } from '../../../../src/domain/selector.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { ALICE, all, GITHUB, LAYOUTS, LEAVER, testDatabase } from '../../../support/test-database.ts';

describe.each(LAYOUTS)('reading the tables of the %s', (layout) => {
  const place = testDatabase(layout);

  const idsOf = async (items: AsyncIterable<{ readonly id: number }>) =>
    (await all(items)).map(({ id }) => id);

  it('reads everything about a token except its value', async () => {
    const [id = 0] = await place.tokens(1, {
      token: "'the-stored-form'",
      scope: "'read write'",
      description: "'nightly'",
      application_id: String(GITHUB),
      created: "'2026-03-04T05:06:07.891234Z'",
      expires: "'3026-03-04T05:06:07.891Z'",
      last_used: "'2026-03-05T00:00:00Z'",
    });
    await place.refreshToken(id);
    const digest = createHash('sha256').update('the-stored-form').digest('hex').slice(0, 12);
    const [token] = await all(place.target.tokens({ ids: [id] }));
    expect(token).toEqual({
      id,
      user: { id: ALICE, username: 'alice' },
      application: { id: GITHUB, name: 'github' },
      scope: 'read write',
      description: 'nightly',
      created: new Date('2026-03-04T05:06:07.891Z'),
      expires: new Date('3026-03-04T05:06:07.891Z'),
      lastUsed: new Date('2026-03-05T00:00:00Z'),
      hasRefreshToken: true,
      refreshTokenCreated: expect.any(Date),
      // The service's column holds the hash already. In a gateway, what is not marked as a hash is a token.
      fingerprint: layout === 'service' ? 'the-stored-f' : digest,
    });
  });

  it('reads missing values as null, and limits dates to JavaScript’s range', async () => {
    const [id = 0] = await place.tokens(1, { user_id: 'NULL', expires: "'infinity'" });
    await place.refreshToken(id, true);
    const [token] = await all(place.target.tokens({ ids: [id] }));
    expect(token).toMatchObject({ user: null, application: null, lastUsed: null, hasRefreshToken: false });
    expect(token?.expires).toEqual(new Date(8.64e15));
    const [far = 0] = await place.tokens(1, { expires: "'12345-06-07T08:09:10Z'" });
    expect((await all(place.target.tokens({ ids: [far] })))[0]?.expires).toEqual(
      new Date('+012345-06-07T08:09:10Z'),
    );
  });

  it('selects by each criterion and by combinations', async () => {
    const old = { created: "'2020-01-01T00:00:00Z'" };
    const [plain = 0] = await place.tokens(1, { scope: "'read'" });
    const [used = 0] = await place.tokens(1, { ...old, last_used: "'2025-01-01T00:00:00Z'" });
    const [never = 0] = await place.tokens(1, old);
    const [expired = 0] = await place.tokens(1, {
      expires: "'2024-01-01T00:00:00Z'",
      application_id: String(GITHUB),
    });
    const [left = 0] = await place.tokens(1, { user_id: String(LEAVER), scope: "'read write'" });
    const ids = [plain, used, never, expired, left];
    const among = (criteria: object) => idsOf(place.target.tokens({ ids, ...criteria }));
    expect(await among({})).toEqual(ids);
    expect(await among({ users: ['leaver', 'nobody'] })).toEqual([left]);
    expect(await among({ users: ['nobody'] })).toEqual([]);
    expect(await among({ applications: ['github'] })).toEqual([expired]);
    expect(await among({ applications: ['gone'] })).toEqual([]);
    expect(await among({ scope: 'read' })).toEqual([plain, left]);
    expect(await among({ scope: 'write' })).toEqual([used, never, expired, left]);
    expect(await among({ createdBefore: new Date('2020-01-01T00:00:00.001Z') })).toEqual([used, never]);
    expect(await among({ createdBefore: new Date('2020-01-01T00:00:00Z') })).toEqual([]);
    expect(await among({ unusedSince: new Date('2024-01-01T00:00:00Z') })).toEqual([never]);
    expect(await among({ unusedSince: new Date('2025-01-02T00:00:00Z') })).toEqual([used, never]);
    expect(await among({ neverUsed: true })).toEqual([plain, never, expired, left]);
    expect(await among({ expiredAt: new Date('2024-01-01T00:00:00Z') })).toEqual([expired]);
    expect(await among({ neverUsed: true, scope: 'write', users: ['alice'] })).toEqual([never, expired]);
    expect(await idsOf(place.target.tokens({ users: ['leaver'] }))).toEqual([left]);
  });

  it('lists several pages of tokens and refresh tokens, ascending, each once', async () => {
    const made = await place.tokens(4_500);
    await place.database.execute(
      `INSERT INTO ${place.tables.refreshTokens}
         (token, application_id, user_id, created, ${place.tables.refreshTokenUpdatedAt}, access_token_id)
       SELECT gen_random_uuid()::text, $1, $2, now(), now(), n FROM unnest($3::bigint[]) n WHERE n % 2 = 0`,
      [GITHUB, ALICE, made],
    );
    const every = await all(place.target.tokens({ all: true }));
    const ids = every.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(ids.slice(-4_500)).toEqual(made);
    expect(every.slice(-4_500).every(({ id, hasRefreshToken }) => hasRefreshToken === (id % 2 === 0))).toBe(
      true,
    );
    expect(await idsOf(place.target.tokens({ ids: made.toReversed() }))).toEqual(made);
    // A plan reads the same tokens, with less about each.
    const planned = async (selector: Selector) => {
      const pages = place.target.tokensToPlan?.(selector);
      return pages === undefined ? [] : (await all(pages)).flat();
    };
    expect(await planned({ all: true })).toEqual(
      every.map(({ id, user, application, scope, hasRefreshToken, refreshTokenCreated }) => ({
        ...{ id, user, application, scope, hasRefreshToken },
        ...(refreshTokenCreated && { refreshTokenCreated }),
      })),
    );
    const others = { notUsers: ['alice'] };
    const kept = await idsOf(place.target.tokens(others));
    expect((await planned(others)).map(({ id }) => id)).toEqual(kept);
    expect(kept.length).toBeLessThan(every.length);
    const beside = (await all(partOf(place.target, 'refreshTokens').list({ states: ['live'] }))).map(
      ({ accessTokenId }) => accessTokenId,
    );
    expect(beside.slice(-2250)).toEqual(made.filter((id) => id % 2 === 0));
  });

  it('lists refresh tokens by owner, application, state and age', async () => {
    const [id = 0] = await place.tokens(1);
    const live = await place.refreshToken(id);
    const orphan = await place.refreshToken(null);
    const revoked = await place.refreshToken(null, true);
    const ids = [live, orphan, revoked];
    const among = (criteria: object) =>
      idsOf(partOf(place.target, 'refreshTokens').list({ ids, ...criteria }));
    expect(await among({})).toEqual(ids);
    expect(await among({ states: ['live'] })).toEqual([live]);
    expect(await among({ states: ['orphaned', 'revoked'] })).toEqual([orphan, revoked]);
    expect(await among({ users: ['leaver'] })).toEqual([]);
    expect(await among({ users: ['alice'], applications: ['github'] })).toEqual(ids);
    expect(await among({ applications: ['gitlab'] })).toEqual([]);
    expect(await among({ createdBefore: new Date(Date.now() - 60_000) })).toEqual([]);
    expect(await among({ revokedBefore: new Date('2021-01-02T00:00:00Z') })).toEqual([revoked]);
    expect(await among({ revokedBefore: new Date('2021-01-01T00:00:00Z') })).toEqual([]);
    const [token] = await all(partOf(place.target, 'refreshTokens').list({ ids: [revoked] }));
    expect(token).toMatchObject({
      user: { id: ALICE, username: 'alice' },
      application: { id: GITHUB, name: 'github' },
      revoked: new Date('2021-01-01T00:00:00Z'),
      accessTokenId: null,
      fingerprint: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
  });

  it('reads the roles and identity providers of users', async () => {
    const users = new Map((await all(place.target.users.list())).map((user) => [user.username, user]));
    const external = (name: string) => users.get(name)?.externalAccount;
    // An LDAP name with a usable password beside it is a local account, and so is one that only a gateway's local
    // authenticator knows.
    expect(['alice', 'ldap', 'mixed', 'social', 'radius'].map(external)).toEqual([
      null,
      'ldap',
      null,
      'social',
      'enterprise',
    ]);
    expect(users.get('admin')).toMatchObject({ isSuperuser: true, isActive: true, lastLogin: null });
    expect(users.get('alice')?.lastLogin).toEqual(new Date('2026-01-02T03:04:05.678Z'));
    // A controller keeps it in tables that are not looked into.
    const auditors = { controller: [null, null], service: [false, false], gateway: [false, true] };
    expect(['alice', 'mixed'].map((name) => users.get(name)?.isSystemAuditor)).toEqual(auditors[layout]);
    expect((await all(place.target.users.list({ inactive: true }))).map(({ username }) => username)).toEqual([
      'leaver',
    ]);
    expect(
      (await all(place.target.users.list({ names: ['ldap', 'nobody'] }))).map(({ username }) => username),
    ).toEqual(['ldap']);
  });

  it('lists applications, all or by name', async () => {
    expect(await place.target.applications.list(['github', 'gone'])).toEqual([
      {
        id: GITHUB,
        name: 'github',
        clientType: 'public',
        grantType: 'password',
        created: new Date('2020-01-01T00:00:00Z'),
      },
    ]);
    expect((await place.target.applications.list()).map(({ name }) => name)).toEqual(['github', 'gitlab']);
  });

  it.runIf(layout !== 'gateway')(
    'lists the activity stream by actor, time and token, also of one that is gone',
    async () => {
      const [first = 0, second = 0] = await place.tokens(2, { description: `'"id": 4711,'` });
      await place.database.execute(
        `INSERT INTO main_activitystream (operation, timestamp, changes, object_relationship_type, object1, object2, actor_id,
         action_node, setting)
       VALUES ('create', '2026-01-01', '{"id": 1}', '', 'job_template', '', ${ALICE}, 'n', '{}'),
         ('update', '2026-01-02', 'no JSON', '', 'job_template', '', ${LEAVER}, 'n', '{}'),
         ('update', '2026-01-03', '{"description": ["", "x"]}', '', 'o_auth2_access_token', '', ${ALICE}, 'n', '{}')`,
      );
      await place.database.execute(
        `INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
       SELECT max(id), $1 FROM main_activitystream`,
        [second],
      );
      await all(place.target.revoke([first]));
      const of = (selector: object) => all(place.target.activity.list(selector));
      expect(await of({ tokenIds: [first] })).toEqual([
        expect.objectContaining({
          operation: 'delete',
          object: 'o_auth2_access_token',
          actor: null,
          changes: expect.objectContaining({ id: first, token: '************' }),
        }),
      ]);
      expect(await of({ tokenIds: [4711] })).toEqual([]);
      expect((await of({ tokenIds: [second] })).map(({ at }) => at)).toEqual([
        new Date('2026-01-03T00:00:00Z'),
      ]);
      expect((await of({ actorIds: [ALICE] })).map(({ operation }) => operation)).toEqual([
        'create',
        'update',
      ]);
      const [odd] = await of({
        since: new Date('2026-01-02T00:00:00Z'),
        until: new Date('2026-01-03T00:00:00Z'),
      });
      expect(odd).toMatchObject({ actor: { id: LEAVER, username: 'leaver' }, changes: {} });
      expect(await place.target.activity.lastChanges([ALICE, LEAVER, 99])).toEqual(
        new Map([
          [ALICE, new Date('2026-01-03T00:00:00Z')],
          [LEAVER, new Date('2026-01-02T00:00:00Z')],
        ]),
      );
    },
  );
});
