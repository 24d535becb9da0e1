import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AuthorizationServer,
  CALLBACK,
  CHALLENGE,
  codeRequest,
  pairOf,
  type Registered,
  VERIFIER,
} from './authorization-server.ts';

describe('the authorization code grant', () => {
  let server: AuthorizationServer;
  let app: Registered;
  let mobile: Registered;
  let ahead = 0;
  beforeAll(async () => {
    server = await AuthorizationServer.start({ now: () => new Date(Date.now() + ahead) });
    app = await server.register('web app', { redirect_uris: `${CALLBACK} ${CALLBACK}2` });
    mobile = await server.register('mobile app', { client_type: 'public' });
  });
  afterAll(() => server.close());
  const challenged = (challenge: string, method?: string) => ({
    code_challenge: challenge,
    ...(method !== undefined && { code_challenge_method: method }),
  });

  it('exchanges a code for tokens of the scope that was allowed', async () => {
    const answer = await server.exchange(await server.code(app), app);
    expect([answer.status, answer.json['scope']]).toEqual([200, 'read']);
    expect(await server.statusOf(pairOf(answer).access)).toBe(200);
  });

  it('ends the tokens of the first use, refreshed or not, when a code comes again (RFC 6749 §4.1.2)', async () => {
    const code = await server.code(app);
    const first = pairOf(await server.exchange(code, app));
    const second = pairOf(await server.refresh(first.refresh, app));
    const replay = await server.exchange(code, app);
    expect([replay.status, replay.json]).toEqual([400, { error: 'invalid_grant' }]);
    expect(await server.statusOf(second.access)).toBe(401);
    expect((await server.refresh(second.refresh, app)).status).toBe(400);
  });

  it('lets one of ten concurrent exchanges win, and ends its tokens for the others', async () => {
    const code = await server.code(app);
    const answers = await server.race(10, () => server.exchange(code, app));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    for (const answer of won) expect(await server.statusOf(pairOf(answer).access)).toBe(401);
  });

  it('refuses the code of another client, and leaves it to its own', async () => {
    const other = await server.register('another');
    const code = await server.code(app);
    expect((await server.exchange(code, other)).json).toEqual({ error: 'invalid_grant' });
    expect((await server.exchangeAsPublic(code, mobile)).json).toEqual({ error: 'invalid_grant' });
    expect((await server.exchange(code, app)).status).toBe(200);
  });

  it.each([`${CALLBACK}2`, `${CALLBACK}/`, `${CALLBACK}?x=1`, ''])(
    'refuses the redirect URI %j',
    async (uri) => {
      const code = await server.code(app);
      const answer = await server.exchange(code, app, { redirect_uri: uri });
      expect([answer.status, answer.json['error']]).toEqual([400, 'invalid_request']);
    },
  );

  it('asks for the redirect URI only where the authorization request named it', async () => {
    const { redirect_uri: _, ...without } = codeRequest(mobile);
    const url = await server.allow({ ...without, ...challenged(CHALLENGE, 'S256') });
    const code = url.searchParams.get('code') ?? '';
    const answer = await server.exchangeAsPublic(code, mobile, { redirect_uri: '', code_verifier: VERIFIER });
    expect(answer.status).toBe(200);
  });

  it('forgets a code after AUTHORIZATION_CODE_EXPIRE_SECONDS', async () => {
    const code = await server.code(app);
    ahead = 600_000;
    const answer = await server.exchange(code, app);
    ahead = 0;
    expect(answer.json).toEqual({ error: 'invalid_grant' });
  });

  it('refuses the code of a user who was deactivated meanwhile', async () => {
    const code = await server.code(app);
    await server.service.database.execute('UPDATE auth_user SET is_active = false WHERE id = $1', [
      server.aliceId,
    ]);
    const answer = await server.exchange(code, app);
    await server.service.database.execute('UPDATE auth_user SET is_active = true WHERE id = $1', [
      server.aliceId,
    ]);
    expect(answer.json).toEqual({ error: 'invalid_grant' });
  });

  it.each([
    ['S256', CHALLENGE],
    ['plain', VERIFIER],
    [undefined, VERIFIER],
  ])('checks the verifier with the method %s', async (method, challenge) => {
    const code = await server.code(mobile, challenged(challenge, method));
    const wrong = await server.exchangeAsPublic(code, mobile, { code_verifier: 'w'.repeat(64) });
    expect([wrong.status, wrong.json]).toEqual([400, { error: 'invalid_grant' }]);
    const missing = await server.exchangeAsPublic(code, mobile);
    expect([missing.status, missing.json['error']]).toEqual([400, 'invalid_request']);
    const right = await server.exchangeAsPublic(code, mobile, { code_verifier: VERIFIER });
    expect(right.status).toBe(200);
  });

  it('does not take the S256 challenge itself for its verifier', async () => {
    const code = await server.code(mobile, challenged(CHALLENGE, 'S256'));
    const answer = await server.exchangeAsPublic(code, mobile, { code_verifier: CHALLENGE });
    expect(answer.json).toEqual({ error: 'invalid_grant' });
  });

  it('refuses a verifier for a code that was asked for without a challenge (RFC 9700 §4.8.2)', async () => {
    const code = await server.code(app);
    const answer = await server.exchange(code, app, { code_verifier: VERIFIER });
    expect(answer.json).toEqual({ error: 'invalid_grant' });
  });

  it.each([
    ['a public client without a challenge', {}],
    ['a method without a challenge', { code_challenge_method: 'S256' }],
    ['an unknown method', challenged(CHALLENGE, 'S512')],
    ['a short challenge', challenged('short', 'plain')],
  ])('tells the client that it does not take %s', async (_, parameters) => {
    const url = await server.allow({ ...codeRequest(mobile), ...parameters });
    expect(url.searchParams.get('error')).toBe('invalid_request');
    expect(url.searchParams.has('code')).toBe(false);
  });
});

describe('a service that was started with requirePkce false', () => {
  it('lets a public client do without, as the controller does', async () => {
    const server = await AuthorizationServer.start({ requirePkce: false });
    const mobile = await server.register('mobile app', { client_type: 'public' });
    expect((await server.exchangeAsPublic(await server.code(mobile), mobile)).status).toBe(200);
    await server.close();
  });
});
