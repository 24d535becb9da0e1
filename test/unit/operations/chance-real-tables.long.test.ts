import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Selector } from '../../../src/domain/selector.ts';
import { incidentStatus } from '../../../src/operations/incident/incident-status.ts';
import { liftIncident } from '../../../src/operations/incident/lift.ts';
import { lockDown } from '../../../src/operations/incident/lock-down.ts';
import { planLockdown } from '../../../src/operations/incident/plan-lockdown.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import { incidentFixture, NO_MEASURE } from '../../support/incident-fixture.ts';
import { loadRealTables, REAL_PEERS, type RealTables } from '../../support/real-tables.ts';

/** The same each time, so that no other change fails by chance; HISTORY_SEED=N makes others. */
const SEED = Number(process.env['HISTORY_SEED'] ?? 8);
/** Each takes about as long as five histories. */
const RUNS = Math.ceil(inject('histories') / 5);

const DAY = 86_400_000;

describe.runIf(REAL_PEERS.includes('awx-24.6.1'))('by chance, in the tables of awx-24.6.1', () => {
  let real: RealTables;
  let ids: { readonly alice: number; readonly bob: number };
  const execute = (sql: string, values: readonly unknown[] = []) => real.database.execute(sql, [...values]);

  beforeAll(async () => {
    real = await loadRealTables('awx-24.6.1');
    ids = { alice: real.filling.users['alice'] ?? 0, bob: real.filling.users['bob'] ?? 0 };
  });
  afterAll(() => real.close());

  /** No token, session or code of before, and both users as they were. */
  async function clear(): Promise<void> {
    await execute('UPDATE main_oauth2accesstoken SET source_refresh_token_id = NULL');
    for (const table of [
      ...['main_activitystream_o_auth2_access_token', 'oauth2_provider_refreshtoken'],
      ...['main_oauth2accesstoken', 'main_usersessionmembership', 'django_session', 'oauth2_provider_grant'],
    ])
      await execute(`DELETE FROM ${table}`);
    for (const names of ["'old-' || id", "CASE id WHEN $1::int THEN 'alice' ELSE 'bob' END"])
      await execute(
        `UPDATE auth_user SET is_active = true, username = ${names} WHERE id IN ($1::int, $2::int)`,
        [ids.alice, ids.bob],
      );
  }
  afterEach(clear);

  interface NewToken {
    readonly user: number | null;
    readonly application?: number | null;
    readonly scope?: string;
    readonly created?: Date;
    readonly lastUsed?: Date | null;
    readonly expires?: Date;
  }

  async function mint(token: NewToken): Promise<number> {
    const { user, application = null, scope = 'write', lastUsed = null } = token;
    const { created = new Date(), expires = new Date(Date.now() + DAY) } = token;
    const [row] = await real.database.query<{ id: number }>(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, created, updated, modified, description, last_used,
         application_id, user_id)
       VALUES ($1, $2, $3, $4, $4, $4, '', $5, $6, $7) RETURNING id::int`,
      [randomBytes(32).toString('hex'), expires, scope, created, lastUsed, application, user],
    );
    return row?.id ?? 0;
  }

  async function refresh(user: number, accessToken: number | null): Promise<void> {
    await execute(
      `INSERT INTO oauth2_provider_refreshtoken (token, access_token_id, application_id, user_id, created, updated)
       VALUES ($1, $2, 1, $3, now(), now())`,
      [randomBytes(32).toString('hex'), accessToken, user],
    );
  }

  async function logIn(user: number): Promise<void> {
    const key = randomBytes(16).toString('hex');
    await execute("INSERT INTO django_session VALUES ($1, '', now() + interval '1 hour')", [key]);
    await execute(
      'INSERT INTO main_usersessionmembership (created, session_id, user_id) VALUES (now(), $1, $2)',
      [key, user],
    );
  }

  const ACTS = {
    /** By the intruder, or by a client whose request was under way. */
    token: (user: number) => mint({ user }).then(() => undefined),
    issued: async (user: number) => refresh(user, await mint({ user, application: 1 })),
    refresh: (user: number) => refresh(user, null),
    session: logIn,
    code: (user: number) =>
      execute(
        `INSERT INTO oauth2_provider_grant (code, expires, redirect_uri, scope, application_id, user_id, created, updated,
           code_challenge, code_challenge_method, nonce, claims)
         VALUES ($1, now() + interval '1 minute', '', 'write', 3, $2, now(), now(), '', '', '', '')`,
        [randomBytes(16).toString('hex'), user],
      ),
    activate: (user: number) => execute('UPDATE auth_user SET is_active = true WHERE id = $1', [user]),
    /** By the legitimate user. */
    deactivate: (user: number) => execute('UPDATE auth_user SET is_active = false WHERE id = $1', [user]),
    rename: (user: number) =>
      execute(
        "UPDATE auth_user SET username = CASE WHEN username LIKE 'was-%' THEN substr(username, 5) ELSE 'was-' || username END WHERE id = $1",
        [user],
      ),
    async swap() {
      await execute("UPDATE auth_user SET username = 'between' WHERE id = $1", [ids.alice]);
      await execute("UPDATE auth_user SET username = 'alice' WHERE id = $1", [ids.bob]);
      await execute("UPDATE auth_user SET username = 'bob' WHERE id = $1", [ids.alice]);
    },
    async revoke(user: number) {
      await execute(
        'UPDATE oauth2_provider_refreshtoken SET revoked = now(), access_token_id = NULL WHERE user_id = $1 AND revoked IS NULL',
        [user],
      );
      await execute('DELETE FROM main_oauth2accesstoken WHERE user_id = $1', [user]);
    },
    async logOut(user: number) {
      const gone = await real.database.query<{ session_id: string }>(
        'DELETE FROM main_usersessionmembership WHERE user_id = $1 RETURNING session_id',
        [user],
      );
      for (const { session_id } of gone)
        await execute('DELETE FROM django_session WHERE session_key = $1', [session_id]);
    },
  } as const;

  type What = keyof typeof ACTS;

  const history = fc.array(
    fc.record({
      what: fc.constantFrom(...(Object.keys(ACTS) as What[])),
      who: fc.constantFrom<'alice' | 'bob'>('alice', 'alice', 'bob'),
    }),
    { maxLength: 5 },
  );

  /** What of alice's works, by the way in that has it: by id, whatever she is called. */
  async function working(): Promise<ReadonlySet<string>> {
    const [row] = await real.database.query<Record<string, boolean>>(
      `SELECT EXISTS (SELECT FROM main_oauth2accesstoken WHERE user_id = $1 AND expires > now()) AS access_tokens,
         EXISTS (SELECT FROM oauth2_provider_refreshtoken WHERE user_id = $1 AND revoked IS NULL) AS refresh_tokens,
         EXISTS (SELECT FROM oauth2_provider_grant WHERE user_id = $1 AND expires > now()) AS authorization_codes,
         EXISTS (SELECT FROM main_usersessionmembership m JOIN django_session s ON s.session_key = m.session_id
           WHERE m.user_id = $1 AND s.expire_date > now()) AS sessions,
         (SELECT is_active FROM auth_user WHERE id = $1) AS users`,
      [ids.alice],
    );
    return new Set(Object.keys(row ?? {}).filter((name) => row?.[name] === true));
  }

  it('no lockdown is in effect while something of its user works, and it is if nothing does', async () => {
    const property = fc.asyncProperty(history, history, async (before, after) => {
      await clear();
      await using at = await incidentFixture('database');
      const target = await real.open();
      const description = await target.describe();
      const common = { ...at.common, clock: { now: () => new Date() }, target, description };
      await mint({ user: ids.alice });
      for (const { what, who } of before)
        if (what !== 'swap' && what !== 'rename') await ACTS[what](ids[who]);
      const [was] = await real.database.query<{ active: boolean }>(
        'SELECT is_active AS active FROM auth_user WHERE id = $1',
        [ids.alice],
      );
      const scope = { kind: 'users', names: ['alice'] } as const;
      const measures = { ...NO_MEASURE, deactivate: true };
      const plan = await planLockdown({ ...common, scope, measures, lasts: null });
      const done = await lockDown({ ...common, files: at.files, plan });
      expect(done.result).toBe('locked');
      expect([...(await working())]).toEqual([]);

      for (const { what, who } of after) await ACTS[what](ids[who]);
      const [found] = (await incidentStatus({ ...common, all: false })).incidents;
      const works = await working();
      const closed =
        found?.accessPaths.filter(({ state }) => state === 'closed').map(({ path }) => path) ?? [];
      expect(closed.filter((path) => works.has(path))).toEqual([]);
      expect(found?.holds).toBe(works.size === 0);

      const lifted = await liftIncident({ ...common, incident: done.incident, acceptSessions: true });
      expect(lifted.result).toBe('lifted');
      const [now] = await real.database.query<{ active: boolean }>(
        'SELECT is_active AS active FROM auth_user WHERE id = $1',
        [ids.alice],
      );
      expect(now?.active).toBe(was?.active === true || works.has('users'));
      // Revoked tokens stay revoked.
      expect([...(await working())].filter((path) => path !== 'users')).toEqual(
        [...works].filter((path) => path !== 'users'),
      );
      await target.close();
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED });
  });

  const ago = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 - days * DAY);
  const newTokens = fc.array(
    fc.record({
      user: fc.constantFrom<'alice' | 'bob' | null>('alice', 'alice', 'bob', null),
      application: fc.constantFrom(null, 1, 2),
      scope: fc.constantFrom('read', 'write', 'read write'),
      created: fc.integer({ min: 0, max: 6 }),
      lastUsed: fc.option(fc.integer({ min: 0, max: 6 })),
      expires: fc.integer({ min: -6, max: 6 }).filter((days) => days !== 0),
    }),
    { minLength: 1, maxLength: 12 },
  );
  const criteria = fc
    .record(
      {
        users: fc.subarray(['alice', 'bob'], { minLength: 1 }),
        applications: fc.subarray(['AppPwConf', 'AppPwPub'], { minLength: 1 }),
        notUsers: fc.subarray(['alice', 'b*'], { minLength: 1 }),
        notApplications: fc.constantFrom(['AppPwConf'], ['App*']),
        scope: fc.constantFrom<'read' | 'write'>('read', 'write'),
        createdBefore: fc.integer({ min: 0, max: 6 }).map(ago),
        createdSince: fc.integer({ min: 0, max: 6 }).map(ago),
        unusedSince: fc.integer({ min: 0, max: 6 }).map(ago),
        neverUsed: fc.constant<true>(true),
        expiredAt: fc.constant(0).map(ago),
        expiresAfter: fc.constant(0).map(ago),
      },
      { requiredKeys: [] },
    )
    .filter((selector) => Object.keys(selector).length > 0);

  it('a revocation by selection revokes exactly the tokens that match', async () => {
    const property = fc.asyncProperty(newTokens, criteria, async (tokens, selector: Selector) => {
      await clear();
      const made: { readonly id: number; readonly token: (typeof tokens)[number] }[] = [];
      for (const token of tokens) {
        const { user, application, scope, created, lastUsed, expires } = token;
        const row = { application, scope, created: ago(created), expires: ago(-expires) };
        const used = lastUsed === null ? null : ago(lastUsed);
        made.push({
          id: await mint({ ...row, user: user === null ? null : ids[user], lastUsed: used }),
          token,
        });
      }
      const meant = made.filter(({ token }) => matches(token, selector)).map(({ id }) => id);
      await using at = await incidentFixture('database');
      const target = await real.open();
      const common = { ...at.common, target, description: await target.describe() };
      const plan = await planRevocation({ ...common, clock: { now: () => new Date() }, selector });
      expect([...plan.tokenIds].sort((a, b) => a - b)).toEqual(meant);
      if (meant.length > 0) {
        const report = await revokeTokens({ ...common, plan, selector });
        expect(report).toMatchObject({ revoked: meant.length, verified: true });
      }
      const left = await real.database.query<{ id: number }>(
        'SELECT id::int FROM main_oauth2accesstoken ORDER BY id',
      );
      expect(left.map(({ id }) => id)).toEqual(made.map(({ id }) => id).filter((id) => !meant.includes(id)));
      await target.close();
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED });
  });

  const APPLICATIONS: Readonly<Record<number, string>> = { 1: 'AppPwConf', 2: 'AppPwPub' };

  /** What a selection means, said again without the words of the sources. */
  function matches(
    token: {
      readonly user: string | null;
      readonly application: number | null;
      readonly scope: string;
      readonly created: number;
      readonly lastUsed: number | null;
      readonly expires: number;
    },
    selector: Selector,
  ): boolean {
    const application = token.application === null ? null : APPLICATIONS[token.application];
    const created = ago(token.created);
    const used = token.lastUsed === null ? null : ago(token.lastUsed);
    const expires = ago(-token.expires);
    const is = <Value>(value: Value | undefined, test: (value: Value) => boolean) =>
      value === undefined || test(value);
    return (
      is(selector.users, (names) => token.user !== null && names.includes(token.user)) &&
      is(selector.applications, (names) => application != null && names.includes(application)) &&
      is(
        selector.notUsers,
        (names) =>
          !(token.user === 'alice' && names.includes('alice')) &&
          !(token.user === 'bob' && names.includes('b*')),
      ) &&
      is(
        selector.notApplications,
        ([name]) => application == null || !(name === 'App*' || name === application),
      ) &&
      is(selector.scope, (word) => token.scope.split(' ').includes(word)) &&
      is(selector.createdBefore, (at) => created < at) &&
      is(selector.createdSince, (at) => created >= at) &&
      is(selector.unusedSince, (at) => (used ?? created) < at) &&
      is(selector.neverUsed, () => used === null) &&
      is(selector.expiredAt, (at) => expires <= at) &&
      is(selector.expiresAfter, (at) => expires > at)
    );
  }
});
