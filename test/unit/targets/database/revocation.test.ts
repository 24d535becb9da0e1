import { until } from '@tokenctl/testing/until.ts';
import { stopClocks } from '@tokenctl/testing/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../src/domain/plan.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { ALICE, all, GITHUB, LAYOUTS, results, testDatabase } from '../../../support/test-database.ts';

describe.each(LAYOUTS)('revoking in the tables of the %s', (layout) => {
  const place = testDatabase(layout);
  const query = (sql: string, ...values: unknown[]) => place.database.query(sql, values);

  /** An application's token with a live refresh token and a link from the activity stream. */
  async function grant(): Promise<{ id: number; refreshId: number }> {
    const [id = 0] = await place.tokens(1, { application_id: String(GITHUB), description: '\'say "hi" é\'' });
    if (layout !== 'gateway') {
      await query(
        `WITH entry AS (INSERT INTO main_activitystream (operation, timestamp, changes, object_relationship_type, object1,
         object2, action_node, setting) VALUES ('create', now(), '{}', '', 'o_auth2_access_token', '', 'n', '{}') RETURNING id)
       INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id) SELECT id, $1 FROM entry`,
        id,
      );
    }
    return { id, refreshId: await place.refreshToken(id) };
  }

  const refreshRow = async (id: number) =>
    (
      await query(
        `SELECT access_token_id, revoked, ${place.tables.refreshTokenUpdatedAt} AS changed FROM ${place.tables.refreshTokens}
         WHERE id = $1`,
        id,
      )
    )[0];
  const exists = async (id: number) =>
    (await query(`SELECT FROM ${place.tables.accessTokens} WHERE id = $1`, id)).length === 1;
  const told = (id: number) =>
    query(
      `SELECT operation, changes, object1, object2, object_relationship_type, actor_id, deleted_actor, setting, action_node
       FROM main_activitystream WHERE operation = 'delete' AND changes LIKE '%"id": ' || $1 || ',%'`,
      id,
    );

  it('deletes access tokens, and keeps their refresh tokens unless requested', async () => {
    const { id, refreshId } = await grant();
    const [personal = 0] = await place.tokens(1);
    const outcomes = await all(place.target.revoke([id, personal, 999_999]));
    expect(outcomes.map(({ tokenId, result }) => [tokenId, result])).toEqual(
      expect.arrayContaining([
        [id, 'revoked'],
        [personal, 'revoked'],
        [999_999, 'unchanged'],
      ]),
    );
    expect(outcomes.every(({ refreshToken }) => refreshToken === undefined)).toBe(true);
    expect(await refreshRow(refreshId)).toEqual({
      access_token_id: null,
      revoked: null,
      changed: new Date('2020-01-01T00:00:00Z'),
    });
    expect([await exists(id), await exists(personal)]).toEqual([false, false]);
  });

  it('revokes the refresh token first if requested, and returns it', async () => {
    const { id, refreshId } = await grant();
    const [token] = await all(place.target.tokens({ ids: [id] }));
    const [refreshToken] = await all(partOf(place.target, 'refreshTokens').list({ ids: [refreshId] }));
    const before = new Date(Date.now() - 60_000);
    const [outcome] = await all(place.target.revoke([id], { withRefreshTokens: true }));
    expect(outcome).toEqual({
      tokenId: id,
      fingerprint: token?.fingerprint,
      result: 'revoked',
      refreshToken: { id: refreshId, fingerprint: refreshToken?.fingerprint },
    });
    const row = await refreshRow(refreshId);
    expect(row).toMatchObject({ access_token_id: null });
    expect((row?.['revoked'] as Date) > before).toBe(true);
    expect(row?.['changed']).toEqual(row?.['revoked']);
    expect(await exists(id)).toBe(false);
  });

  it('leaves an already revoked refresh token unchanged, and does not return it', async () => {
    const [id = 0] = await place.tokens(1);
    const refreshId = await place.refreshToken(id, true);
    const [outcome] = await all(place.target.revoke([id], { withRefreshTokens: true }));
    expect(outcome?.result).toBe('revoked');
    expect(outcome?.refreshToken).toBeUndefined();
    expect(await refreshRow(refreshId)).toEqual({
      access_token_id: null,
      revoked: new Date('2021-01-01T00:00:00Z'),
      changed: new Date('2020-01-01T00:00:00Z'),
    });
  });

  it.runIf(layout !== 'gateway')(
    'writes the activity stream as the controller does, and removes its links',
    async () => {
      const { id } = await grant();
      const [personal = 0] = await place.tokens(1, { scope: "'read'" });
      await all(place.target.revoke([id, personal]));
      expect(await told(id)).toEqual([
        {
          operation: 'delete',
          changes: `{"description": "say \\"hi\\" é", "application": "github", "scope": "write", "id": ${id}, "token": "************"}`,
          object1: 'o_auth2_access_token',
          object2: '',
          object_relationship_type: '',
          actor_id: null,
          deleted_actor: null,
          setting: {},
          action_node: 'tokenctl',
        },
      ]);
      expect((await told(personal))[0]?.['changes']).toBe(
        `{"description": "", "application": null, "scope": "read", "id": ${personal}, "token": "************"}`,
      );
      expect(
        await query(
          'SELECT FROM main_activitystream_o_auth2_access_token WHERE oauth2accesstoken_id = $1',
          id,
        ),
      ).toEqual([]);
    },
  );

  it('revokes several batches, each token once', async () => {
    const ids = await place.tokens(4500);
    const outcomes = await all(place.target.revoke([...ids, ...ids]));
    expect(outcomes.map(({ tokenId }) => tokenId).sort((a, b) => a - b)).toEqual(ids);
    expect(new Set(outcomes.map(({ result }) => result))).toEqual(new Set(['revoked']));
  });

  it('skips locked tokens and refresh tokens, retries them, and finally reports them', async () => {
    const [held = 0, free = 0] = await place.tokens(2);
    const { id: beside, refreshId } = await grant();
    await place.database.transaction(async (transaction) => {
      await transaction.query(`SELECT FROM ${place.tables.accessTokens} WHERE id = $1 FOR UPDATE`, [held]);
      await transaction.query(`SELECT FROM ${place.tables.refreshTokens} WHERE id = $1 FOR UPDATE`, [
        refreshId,
      ]);
      const outcomes = await all(place.target.revoke([held, free, beside], { withRefreshTokens: true }));
      expect(outcomes).toEqual([
        expect.objectContaining({ tokenId: free, result: 'revoked' }),
        { tokenId: held, result: 'failed', reason: 'another transaction locks it' },
        { tokenId: beside, result: 'failed', reason: 'another transaction locks it' },
      ]);
    });
    expect([await exists(held), await exists(free), await exists(beside)]).toEqual([true, false, true]);
    expect(await refreshRow(refreshId)).toMatchObject({ access_token_id: beside, revoked: null });
  });

  it('revokes tokens that are unlocked in time, even if they were changed', async () => {
    const { id, refreshId } = await grant();
    const patient = await place.open({ lockRetryMs: 600_000 });
    const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const other = place.database.transaction(async (transaction) => {
      await transaction.execute(`UPDATE ${place.tables.accessTokens} SET last_used = now() WHERE id = $1`, [
        id,
      ]);
      await transaction.execute(
        `UPDATE ${place.tables.refreshTokens} SET ${place.tables.refreshTokenUpdatedAt} = '2022-01-01' WHERE id = $1`,
        [refreshId],
      );
      isLocked();
      await released;
    });
    await locked;
    const [begun] = await query('SELECT clock_timestamp() AS at');
    const revoking = results(patient.revoke([id], { withRefreshTokens: true }));
    const tried = `SELECT FROM pg_stat_activity WHERE application_name = 'tokenctl' AND datname = current_database()
      AND state = 'idle' AND query_start > $1`;
    await until(async () => (await query(tried, begun?.['at'])).length > 0);
    release();
    expect(await revoking).toEqual({ [id]: 'revoked' });
    await other;
    expect(await exists(id)).toBe(false);
    expect(await refreshRow(refreshId)).toMatchObject({ access_token_id: null, revoked: expect.any(Date) });
  });

  it('reports tokens that another table refers to, and revokes the others', async () => {
    await place.database.script(
      `CREATE TABLE IF NOT EXISTS of_our_own (token_id bigint REFERENCES ${place.tables.accessTokens} (id))`,
    );
    const ids = await place.tokens(40);
    const referred = ids[17] ?? 0;
    await query('INSERT INTO of_our_own VALUES ($1)', referred);
    const pass = stopClocks();
    const patient = await place.open({ lockRetryMs: 600_000 });
    const outcomes: Outcome[] = [];
    for await (const outcome of patient.revoke(ids)) {
      outcomes.push(outcome);
      if (outcomes.length === 39) pass(600_000);
    }
    expect(outcomes.filter(({ result }) => result === 'failed')).toEqual([
      { tokenId: referred, result: 'failed', reason: 'another table of the database refers to it' },
    ]);
    expect(outcomes.filter(({ result }) => result === 'revoked')).toHaveLength(39);
    await place.database.script('DROP TABLE of_our_own');
  });

  it('revokes refresh tokens with their access tokens, and leaves revoked ones unchanged', async () => {
    const { id, refreshId } = await grant();
    const orphan = await place.refreshToken(null);
    const over = await place.refreshToken(null, true);
    const outcomes = await all(
      partOf(place.target, 'refreshTokens').revoke([refreshId, orphan, over, 999_999]),
    );
    expect(Object.fromEntries(outcomes.map(({ tokenId, result }) => [tokenId, result]))).toEqual({
      [refreshId]: 'revoked',
      [orphan]: 'revoked',
      [over]: 'unchanged',
      999999: 'unchanged',
    });
    expect(outcomes.find(({ tokenId }) => tokenId === orphan)?.fingerprint).toMatch(/^[0-9a-f]{12}$/);
    expect(await exists(id)).toBe(false);
    expect(
      (await all(place.target.activity.list({ tokenIds: [id] }))).map(({ operation }) => operation),
    ).toEqual(['delete']);
    expect(await refreshRow(refreshId)).toMatchObject({ access_token_id: null, revoked: expect.any(Date) });
    expect(await refreshRow(over)).toMatchObject({ revoked: new Date('2021-01-01T00:00:00Z') });
  });

  it('skips a refresh token while its access token is locked', async () => {
    const { id, refreshId } = await grant();
    await place.database.transaction(async (transaction) => {
      await transaction.query(`SELECT FROM ${place.tables.accessTokens} WHERE id = $1 FOR UPDATE`, [id]);
      expect(await results(partOf(place.target, 'refreshTokens').revoke([refreshId]))).toEqual({
        [refreshId]: 'failed',
      });
    });
    expect(await refreshRow(refreshId)).toMatchObject({ access_token_id: id, revoked: null });
  });

  it('lists authorization codes by whether they can be redeemed, and deletes them without an entry', async () => {
    const entries = () => query(`SELECT count(*)::int AS n FROM ${place.tables.activity}`);
    const [live, over] = [await place.authorizationCode(10), await place.authorizationCode(-1)];
    const { target } = place;
    const ids = async (state: 'live' | 'expired', users?: string[]) =>
      (
        await all(
          partOf(target, 'authorizationCodes').list({ state, ids: [live, over], ...(users && { users }) }),
        )
      ).map(({ id }) => id);
    expect([await ids('live'), await ids('expired')]).toEqual([[live], [over]]);
    expect([await ids('live', ['alice']), await ids('live', ['leaver'])]).toEqual([[live], []]);
    const [code] = await all(partOf(target, 'authorizationCodes').list({ state: 'live', ids: [live] }));
    expect(code).toMatchObject({ user: { username: 'alice' }, application: { name: 'github' } });
    const before = await entries();
    expect(await results(partOf(target, 'authorizationCodes').delete([live, over, 999_999]))).toEqual({
      [live]: 'revoked',
      [over]: 'revoked',
      999999: 'unchanged',
    });
    expect([await ids('live'), await ids('expired'), await entries()]).toEqual([[], [], before]);
  });

  it('deletes refresh tokens, and detaches the access tokens created from them', async () => {
    const over = await place.refreshToken(null, true);
    const [offspring = 0] = await place.tokens(1, { source_refresh_token_id: String(over) });
    const { id, refreshId } = await grant();
    expect(await results(partOf(place.target, 'refreshTokens').delete([over, refreshId, 999_999]))).toEqual({
      [over]: 'revoked',
      [refreshId]: 'revoked',
      999999: 'unchanged',
    });
    expect(
      await query(
        `SELECT source_refresh_token_id FROM ${place.tables.accessTokens} WHERE id = $1`,
        offspring,
      ),
    ).toEqual([{ source_refresh_token_id: null }]);
    expect([await refreshRow(over), await refreshRow(refreshId)]).toEqual([undefined, undefined]);
    expect(await exists(id)).toBe(true);
  });

  it('keeps a refresh token while an access token created from it is locked', async () => {
    const over = await place.refreshToken(null, true);
    const [offspring = 0] = await place.tokens(1, {
      source_refresh_token_id: String(over),
      user_id: String(ALICE),
    });
    await place.database.transaction(async (transaction) => {
      await transaction.query(`SELECT FROM ${place.tables.accessTokens} WHERE id = $1 FOR UPDATE`, [
        offspring,
      ]);
      expect(await results(partOf(place.target, 'refreshTokens').delete([over]))).toEqual({
        [over]: 'failed',
      });
    });
    expect(await refreshRow(over)).toBeDefined();
  });

  it('revokes several batches at the same time', async () => {
    const ids = await place.tokens(6000);
    const thirds = [0, 1, 2].map((third) => ids.slice(third * 2000, (third + 1) * 2000));
    const outcomes = (await Promise.all(thirds.map((third) => all(place.target.revoke(third))))).flat();
    expect(outcomes.filter(({ result }) => result === 'revoked')).toHaveLength(6000);
  });
});
