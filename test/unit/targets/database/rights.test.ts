import { TokenctlError } from '@tokenctl/common/errors.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { describe, expect, it } from 'vitest';
import { checkTarget } from '../../../../src/operations/contexts/check-target.ts';
import type { RightsPurpose, Target } from '../../../../src/operations/ports/target.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import {
  ALICE,
  all,
  GITHUB,
  LAYOUTS,
  results,
  roleWith,
  testDatabase,
} from '../../../support/test-database.ts';

const checked = (target: Target) => checkTarget({ target, clock: { now: () => new Date() } });

describe.each(kinds(LAYOUTS))('a role of the database of the %s', (layout) => {
  const place = testDatabase(layout);

  /** A target with a new role that has exactly the rights listed as missing for these purposes. */
  async function roleFor(...purposes: RightsPurpose[]): Promise<Target> {
    const url = await roleWith(place, () => []);
    const target = await place.open({ url });
    const { missingRights } = await target.describe();
    for (const { purpose, grant } of missingRights) {
      if (purposes.includes(purpose)) await place.database.execute(grant);
    }
    // Which parts a target has is found out as it is opened.
    return await place.open({ url });
  }

  it('lists all missing rights for a role without rights', async () => {
    const { capabilities, identity, missingRights } = await checked(await roleFor());
    expect(new Set(missingRights.map(({ purpose }) => purpose))).toEqual(
      new Set([
        'read',
        'revoke',
        'sessions',
        'settings',
        'create',
        'ends',
        'cleanup',
        'applications',
        'users',
        'contacts',
      ]),
    );
    expect(capabilities).toMatchObject({
      refreshTokens: false,
      sessions: false,
      settings: false,
      createTokens: false,
      changes: false,
    });
    expect(identity).toMatchObject({ isSuperuser: false, isSystemAuditor: false });
    expect(missingRights).toContainEqual({
      purpose: 'sessions',
      grant: `GRANT UPDATE (expire_date), DELETE ON public.django_session TO ${identity.username}`,
    });
  });

  it('lists and audits with the rights to read, and changes nothing', async () => {
    const { tables } = place;
    const reader = await roleFor('read');
    const { capabilities, identity, missingRights } = await checked(reader);
    expect(identity).toMatchObject({ isSuperuser: false, isSystemAuditor: false });
    expect(capabilities).toMatchObject({
      refreshTokens: true,
      sessions: true,
      settings: true,
      changes: false,
    });
    expect(missingRights.some(({ purpose }) => purpose === 'read')).toBe(false);
    const [id = 0] = await place.tokens(1);
    const refreshId = await place.refreshToken(id);
    await place.session(`reader-${refreshId}`, ALICE);
    expect(await all(reader.tokens({ ids: [id] }))).toHaveLength(1);
    expect(await all(partOf(reader, 'refreshTokens').list({ ids: [refreshId] }))).toHaveLength(1);
    expect(await all(reader.users.list())).toHaveLength(7);
    expect((await reader.applications.list()).length).toBe(2);
    expect(await all(reader.activity.list({}))).toBeDefined();
    expect(await reader.activity.lastChanges([ALICE])).toBeDefined();
    expect((await all(partOf(reader, 'sessions').list({ all: true }))).length).toBeGreaterThan(0);
    expect(await reader.settings.read()).toMatchObject({ AUTH_BASIC_ENABLED: true });
    const refused = (what: Promise<unknown>, table: string) =>
      expect(what).rejects.toMatchObject({
        code: 'permission_refused',
        hint: expect.stringContaining(table),
      });
    await refused(
      all(reader.revoke([id], { withRefreshTokens: true })),
      `DELETE ON public.${tables.accessTokens}`,
    );
    await refused(all(partOf(reader, 'refreshTokens').revoke([refreshId])), `public.${tables.refreshTokens}`);
    await refused(all(partOf(reader, 'refreshTokens').delete([refreshId])), `public.${tables.refreshTokens}`);
    // Codes that could be listed but not deleted are no part of it.
    expect(reader.authorizationCodes).toBeUndefined();
    await refused(all(partOf(reader, 'sessions').end({ all: true })), 'public.django_session');
    await refused(reader.users.contacts(['alice'], []), `SELECT (email`);
    await refused(reader.settings.write({ AUTH_BASIC_ENABLED: false }), `public.${tables.settings}`);
    await refused(
      reader.createToken({ scope: 'read', description: '', user: 'alice' }),
      `public.${tables.activity}`,
    );
    expect(await all(reader.tokens({ ids: [id] }))).toHaveLength(1);
    expect(
      await all(partOf(reader, 'refreshTokens').list({ ids: [refreshId], states: ['live'] })),
    ).toHaveLength(1);
  });

  it('changes nothing without DELETE, not even refresh tokens or the activity stream', async () => {
    const { accessTokens, activity } = place.tables;
    const target = await roleFor('read', 'revoke');
    const { identity } = await target.describe();
    await place.database.execute(`REVOKE DELETE ON ${accessTokens} FROM ${identity.username}`);
    const [id = 0] = await place.tokens(1);
    const refreshId = await place.refreshToken(id);
    const entries = () => place.database.query(`SELECT count(*) AS n FROM ${activity}`);
    const before = await entries();
    const error: unknown = await all(target.revoke([id], { withRefreshTokens: true })).catch(
      (reason: unknown) => reason,
    );
    if (!(error instanceof TokenctlError)) throw error;
    expect(error.code).toBe('permission_refused');
    expect(error.message).toContain(`public.${accessTokens}`);
    expect(error.hint).toContain(`GRANT DELETE ON public.${accessTokens} TO ${identity.username}`);
    expect(
      await all(partOf(target, 'refreshTokens').list({ ids: [refreshId], states: ['live'] })),
    ).toHaveLength(1);
    expect(await entries()).toEqual(before);
  });

  it('does everything with exactly the listed rights', async () => {
    const changing = [
      'revoke',
      'sessions',
      'settings',
      'create',
      'ends',
      'cleanup',
      'applications',
      'users',
    ] as const;
    const target = await roleFor('read', ...changing, 'contacts');
    const { capabilities, missingRights } = await checked(target);
    expect(missingRights).toEqual([]);
    expect(capabilities).toMatchObject({ createTokens: true, changes: true });
    expect(await target.users.contacts(['alice', 'nobody'], [])).toMatchObject([
      { id: ALICE, username: 'alice', organizations: [] },
    ]);
    const { token } = await target.createToken({ scope: 'write', description: '', user: 'alice' });
    const { id, created, expires: from } = token;
    expect(await target.ends?.set([{ id, created, from: [from], to: new Date('2027-01-01') }])).toEqual([id]);
    const refreshId = await place.refreshToken(token.id);
    const orphan = await place.refreshToken(null);
    expect(await results(target.revoke([token.id], { withRefreshTokens: true }))).toEqual({
      [token.id]: 'revoked',
    });
    expect(await target.users.setActive(ALICE, false)).toBe(true);
    expect(await target.users.setActive(ALICE, true)).toBe(true);
    expect(await results(partOf(target, 'refreshTokens').revoke([orphan]))).toEqual({ [orphan]: 'revoked' });
    const codeId = await place.authorizationCode(10);
    expect(await results(partOf(target, 'authorizationCodes').delete([codeId]))).toEqual({
      [codeId]: 'revoked',
    });
    expect(await results(partOf(target, 'refreshTokens').delete([refreshId, orphan]))).toEqual({
      [refreshId]: 'revoked',
      [orphan]: 'revoked',
    });
    expect(await target.applications.delete(GITHUB)).toBe(true);
    await place.session('of-the-role', ALICE);
    expect((await all(partOf(target, 'sessions').end({ userIds: [ALICE] }))).length).toBeGreaterThan(0);
    expect(await target.settings.write({ AUTH_BASIC_ENABLED: false })).toMatchObject({
      AUTH_BASIC_ENABLED: false,
    });
  });

  it('needs the sequences of an old installation', async () => {
    await place.database.script(
      `ALTER TABLE ${place.tables.activity} ALTER id DROP IDENTITY;
       CREATE SEQUENCE old_numbers OWNED BY ${place.tables.activity}.id;
       ALTER TABLE ${place.tables.activity} ALTER id SET DEFAULT nextval('old_numbers')`,
    );
    const { identity, missingRights } = await (await roleFor()).describe();
    expect(missingRights).toContainEqual({
      purpose: 'revoke',
      grant: `GRANT USAGE ON SEQUENCE public.old_numbers TO ${identity.username}`,
    });
    expect(
      missingRights.filter(({ grant }) => grant.includes('SEQUENCE')).map(({ purpose }) => purpose),
    ).not.toContain('sessions');
  });
});
