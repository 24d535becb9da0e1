import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DATABASES } from '../support/service.ts';
import { AuthorizationServer, pairOf, type Registered } from './authorization-server.ts';

describe.each(DATABASES)('the refresh grant on %s', (kind) => {
  let server: AuthorizationServer;
  let app: Registered;
  let ahead = 0;
  beforeAll(async () => {
    server = await AuthorizationServer.start({ kind, now: () => new Date(Date.now() + ahead) });
    app = await server.register('password app', { authorization_grant_type: 'password' });
  });
  afterAll(() => server.close());

  it('replaces the pair: the old one dies, the new one lives', async () => {
    const old = await server.passwordPair(app);
    const answer = await server.refresh(old.refresh, app);
    expect(answer.json).toEqual({
      access_token: expect.stringMatching(/^[A-Za-z0-9]{30}$/),
      expires_in: 31_536_000_000,
      token_type: 'Bearer',
      scope: 'write',
      refresh_token: expect.stringMatching(/^[A-Za-z0-9]{30}$/),
    });
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(await server.statusOf(old.access)).toBe(401);
    expect(await server.statusOf(pairOf(answer).access)).toBe(200);
  });

  it('ends the whole family when a used token comes again (RFC 9700 §4.14.2), and no other', async () => {
    const first = await server.passwordPair(app);
    const other = await server.passwordPair(app);
    const second = pairOf(await server.refresh(first.refresh, app));
    const third = pairOf(await server.refresh(second.refresh, app));
    expect((await server.refresh(first.refresh, app)).json).toEqual({ error: 'invalid_grant' });
    expect(await server.statusOf(third.access)).toBe(401);
    expect((await server.refresh(third.refresh, app)).json).toEqual({ error: 'invalid_grant' });
    expect(await server.statusOf(other.access)).toBe(200);
  });

  it('lets exactly one of twenty concurrent requests win, and ends the family for the others', async () => {
    const { refresh } = await server.passwordPair(app);
    const answers = await server.race(20, () => server.refresh(refresh, app));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    for (const lost of answers.filter(({ status }) => status !== 200)) {
      expect([lost.status, lost.json]).toEqual([400, { error: 'invalid_grant' }]);
    }
    for (const answer of won) {
      const { access, refresh: next } = pairOf(answer);
      expect(await server.statusOf(access)).toBe(401);
      expect((await server.refresh(next, app)).status).toBe(400);
    }
    const rows = await server.service.database.query(
      'SELECT FROM oauth2_provider_refreshtoken WHERE family = (SELECT max(family) FROM oauth2_provider_refreshtoken) AND (revoked IS NULL OR access_token_id IS NOT NULL)',
    );
    expect(rows).toEqual([]);
  });

  it('leaves nothing alive where a family ends while its newest tokens are being replaced', async () => {
    for (let round = 0; round < 20; round++) {
      const first = await server.passwordPair(app);
      const second = pairOf(await server.refresh(first.refresh, app));
      const [replaced, , again] = await Promise.all([
        server.refresh(second.refresh, app),
        server.refresh(first.refresh, app),
        server.refresh(first.refresh, app),
      ]);
      expect(again.status).toBe(400);
      if (replaced.status !== 200) continue;
      const third = pairOf(replaced);
      expect(await server.statusOf(third.access)).toBe(401);
      expect((await server.refresh(third.refresh, app)).status).toBe(400);
    }
  });

  it('narrows the scope for good: no later refresh gives more than a list shows', async () => {
    const { refresh } = await server.passwordPair(app, 'read write');
    const narrow = await server.refresh(refresh, app, { scope: 'read' });
    expect(narrow.json['scope']).toBe('read');
    const refused = await server.refresh(pairOf(narrow).refresh, app, { scope: 'read write' });
    expect(refused.json).toEqual({ error: 'invalid_scope' });
    const next = await server.refresh(pairOf(narrow).refresh, app);
    expect(next.json['scope']).toBe('read');
    const read = await server.passwordPair(app, 'read');
    expect((await server.refresh(read.refresh, app, { scope: 'write' })).json).toEqual({
      error: 'invalid_scope',
    });
    expect((await server.refresh(read.refresh, app)).status).toBe(200);
  });

  it('refuses another client, and leaves the token to its own', async () => {
    const other = await server.register('another', { authorization_grant_type: 'password' });
    const { refresh } = await server.passwordPair(app);
    expect((await server.refresh(refresh, other)).json).toEqual({ error: 'invalid_grant' });
    expect((await server.refresh(refresh, app)).status).toBe(200);
  });

  it('answers 400 where the access token was deleted, not 500', async () => {
    const { refresh } = await server.passwordPair(app);
    const { json } = await server.admin.get('/api/v2/tokens/?order_by=-id&page_size=1');
    await server.admin.delete(`/api/v2/tokens/${json.results[0]?.id}/`);
    const answer = await server.refresh(refresh, app);
    expect([answer.status, answer.json]).toEqual([400, { error: 'invalid_grant' }]);
  });

  it('says that a token has expired, by the lifetime that is set now', async () => {
    const { refresh } = await server.passwordPair(app);
    const set = (seconds: number) =>
      server.admin.patch('/api/v2/settings/authentication/', {
        OAUTH2_PROVIDER: { REFRESH_TOKEN_EXPIRE_SECONDS: seconds, ACCESS_TOKEN_EXPIRE_SECONDS: 77 },
      });
    await set(60);
    ahead = 60_000;
    const answer = await server.refresh(refresh, app);
    expect([answer.status, answer.text]).toEqual([403, 'The refresh token has expired.']);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    await set(2_628_000);
    expect((await server.refresh(refresh, app)).json['expires_in']).toBe(77);
    ahead = 0;
    await server.admin.delete('/api/v2/settings/authentication/');
  });

  it('refuses the tokens of a deactivated user and of a deleted application', async () => {
    const { refresh } = await server.passwordPair(app);
    await server.admin.patch(`/api/v2/users/${server.aliceId}/`, { is_active: false });
    expect((await server.refresh(refresh, app)).json).toEqual({ error: 'invalid_grant' });
    await server.admin.patch(`/api/v2/users/${server.aliceId}/`, { is_active: true });
    expect((await server.refresh(refresh, app)).status).toBe(200);
    const gone = await server.register('gone', { authorization_grant_type: 'password' });
    const pair = await server.passwordPair(gone);
    await server.admin.delete(`/api/v2/applications/${gone.id}/`);
    expect(await server.statusOf(pair.access)).toBe(401);
    expect((await server.refresh(pair.refresh, gone)).json).toEqual({ error: 'invalid_client' });
  });

  it('refuses a user of an identity provider while the setting is off, and keeps the token', async () => {
    const { refresh } = await server.passwordPair(app);
    const { database } = server.service;
    await database.execute("INSERT INTO sso_userenterpriseauth (provider, user_id) VALUES ('radius', $1)", [
      server.aliceId,
    ]);
    const answer = await server.refresh(refresh, app);
    expect([answer.status, answer.text.slice(0, 15)]).toEqual([403, '(access_denied)']);
    await database.execute('DELETE FROM sso_userenterpriseauth');
    expect((await server.refresh(refresh, app)).status).toBe(200);
  });

  it('notes in the activity stream what ended and what began, without an actor', async () => {
    const { refresh } = await server.passwordPair(app);
    await server.refresh(refresh, app);
    const { json } = await server.admin.get(
      '/api/v2/activity_stream/?object1=o_auth2_access_token&order_by=-id&page_size=3',
    );
    const seen = json.results.map(({ operation, changes, summary_fields }) => [
      operation,
      (changes as Record<string, unknown>)['application'],
      (changes as Record<string, unknown>)['token'],
      'actor' in (summary_fields as object),
    ]);
    expect(seen.sort()).toEqual([
      ['create', 'password app', '************', false],
      ['create', 'password app', '************', false],
      ['delete', 'password app', '************', false],
    ]);
  });

  it('keeps digests only', async () => {
    const { access, refresh } = await server.passwordPair(app);
    const rows = await server.service.database.query<{ text: string }>(
      `SELECT row_to_json(t)::text AS text FROM main_oauth2accesstoken t
       UNION ALL SELECT row_to_json(r)::text FROM oauth2_provider_refreshtoken r
       UNION ALL SELECT row_to_json(s)::text FROM main_activitystream s`,
    );
    const all = rows.map(({ text }) => text).join('\n');
    expect(all.includes(access) || all.includes(refresh)).toBe(false);
  });
});
