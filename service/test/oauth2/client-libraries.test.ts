import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { hasProgram } from '@tokenctl/testing/tools.ts';
import * as openid from 'openid-client';
import { AuthorizationCode, ResourceOwnerPassword } from 'simple-oauth2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN } from '../support/service.ts';
import { ALICE_CREDENTIALS, AuthorizationServer, CALLBACK, type Registered } from './authorization-server.ts';

describe('client libraries', () => {
  let server: AuthorizationServer;
  const app: Record<string, Registered> = {};
  const of = (name: string): Registered => {
    const found = app[name];
    if (found === undefined) throw new Error(`no application ${name}`);
    return found;
  };
  const query = (url: URL | string) => Object.fromEntries(new URL(url).searchParams);

  beforeAll(async () => {
    server = await AuthorizationServer.start({ allowImplicitGrant: true });
    const password = { authorization_grant_type: 'password', redirect_uris: '' };
    app['code'] = await server.register('code');
    app['public code'] = await server.register('public code', { client_type: 'public' });
    app['password'] = await server.register('password', password);
    app['public password'] = await server.register('public password', { ...password, client_type: 'public' });
    app['implicit'] = await server.register('implicit', {
      client_type: 'public',
      authorization_grant_type: 'implicit',
    });
  });
  afterAll(() => server.close());

  describe('openid-client', () => {
    /** The library configured from the service's metadata (RFC 8414). */
    const configured = (client: Registered, authentication: openid.ClientAuth) =>
      openid.discovery(new URL(server.service.url), client.clientId, undefined, authentication, {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      });

    it.each<readonly [string, string, (secret: string) => openid.ClientAuth]>([
      ['a secret in the header', 'code', (secret) => openid.ClientSecretBasic(secret)],
      ['a secret in the body', 'code', (secret) => openid.ClientSecretPost(secret)],
      ['no secret', 'public code', () => openid.None()],
    ])('gets, refreshes and revokes tokens for a code with PKCE: %s', async (_name, name, authentication) => {
      const client = of(name);
      const configuration = await configured(client, authentication(client.secret));
      const verifier = openid.randomPKCECodeVerifier();
      const state = openid.randomState();
      const request = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: CALLBACK,
        scope: 'write',
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      const callback = await server.allow(query(request));
      const checks = { expectedState: state, pkceCodeVerifier: verifier };
      const first = await openid.authorizationCodeGrant(configuration, callback, checks);
      expect([first.token_type, first.scope]).toEqual(['bearer', 'write']);
      expect(await server.statusOf(first.access_token)).toBe(200);
      const second = await openid.refreshTokenGrant(configuration, first.refresh_token ?? '');
      expect([await server.statusOf(first.access_token), await server.statusOf(second.access_token)]).toEqual(
        [401, 200],
      );
      const url = new URL('/api/v2/me/', server.service.url);
      expect(
        (await openid.fetchProtectedResource(configuration, second.access_token, url, 'GET')).status,
      ).toBe(200);
      await openid.tokenRevocation(configuration, second.access_token);
      expect(await server.statusOf(second.access_token)).toBe(401);
      await expect(openid.authorizationCodeGrant(configuration, callback, checks)).rejects.toMatchObject({
        error: 'invalid_grant',
      });
    });

    it.each(['password', 'public password'])('gets and refreshes tokens for a password: %s', async (name) => {
      const client = of(name);
      const authentication = name === 'password' ? openid.ClientSecretBasic(client.secret) : openid.None();
      const configuration = await configured(client, authentication);
      const grant = { ...ALICE_CREDENTIALS, scope: 'read' };
      const first = await openid.genericGrantRequest(configuration, 'password', grant);
      expect(first.scope).toBe('read');
      const second = await openid.refreshTokenGrant(configuration, first.refresh_token ?? '');
      expect(await server.statusOf(second.access_token)).toBe(200);
      await openid.tokenRevocation(configuration, second.refresh_token ?? '', {
        token_type_hint: 'refresh_token',
      });
      expect(await server.statusOf(second.access_token)).toBe(401);
      await expect(
        openid.genericGrantRequest(configuration, 'password', { ...grant, password: 'wrong' }),
      ).rejects.toMatchObject({ error: 'invalid_grant' });
    });

    it('gets a token by the implicit grant, where applications may use it', async () => {
      const configuration = await configured(of('implicit'), openid.None());
      const state = openid.randomState();
      const request = openid.buildAuthorizationUrl(configuration, {
        response_type: 'token',
        redirect_uri: CALLBACK,
        scope: 'read',
        state,
      });
      const answer = new URLSearchParams((await server.allow(query(request))).hash.slice(1));
      expect([answer.get('state'), answer.get('token_type'), answer.get('refresh_token')]).toEqual([
        state,
        'Bearer',
        null,
      ]);
      expect(await server.statusOf(answer.get('access_token') ?? '')).toBe(200);
    });
  });

  describe('simple-oauth2', () => {
    const options = (client: Registered, authorizationMethod: 'header' | 'body') => ({
      client: { id: client.clientId, secret: client.secret },
      auth: { tokenHost: server.service.url, tokenPath: '/api/o/token/', revokePath: '/api/o/revoke_token/' },
      options: { authorizationMethod },
    });

    it.each(['header', 'body'] as const)(
      'gets, refreshes and revokes tokens for a code: secret in the %s',
      async (place) => {
        const { auth, ...others } = options(of('code'), place);
        const library = new AuthorizationCode({
          ...others,
          auth: { ...auth, authorizePath: '/api/o/authorize/' },
        });
        const request = library.authorizeURL({ redirect_uri: CALLBACK, scope: 'read', state: 'a state' });
        const callback = await server.allow(query(request));
        expect(callback.searchParams.get('state')).toBe('a state');
        const code = callback.searchParams.get('code') ?? '';
        const first = await library.getToken({ code, redirect_uri: CALLBACK });
        const second = await first.refresh();
        const access = String(second.token['access_token']);
        expect([
          await server.statusOf(String(first.token['access_token'])),
          await server.statusOf(access),
        ]).toEqual([401, 200]);
        await second.revokeAll();
        expect(await server.statusOf(access)).toBe(401);
        await expect(second.refresh()).rejects.toMatchObject({ output: { statusCode: 400 } });
      },
    );

    it('gets and revokes tokens for a password', async () => {
      const library = new ResourceOwnerPassword(options(of('password'), 'header'));
      const found = await library.getToken({ ...ALICE_CREDENTIALS, scope: 'write' });
      const access = String(found.token['access_token']);
      expect(await server.statusOf(access)).toBe(200);
      await found.revoke('access_token');
      expect(await server.statusOf(access)).toBe(401);
      await expect(library.getToken({ ...ALICE_CREDENTIALS, password: 'wrong' })).rejects.toMatchObject({
        output: { statusCode: 400 },
      });
    });
  });

  it.skipIf(!hasProgram('curl'))('curl, four ways, as documented', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/service.md'), 'utf8');
    const section = page.split('\n## ').find((part) => part.startsWith('Authenticate\n')) ?? '';
    const requests = Array.from(section.matchAll(/```sh\n(.*?)```/gs), ([, script = '']) => script);
    expect(requests).toHaveLength(4);
    const client = of('code');
    await using folder = await temporaryFolder();
    const files = {
      netrc: `machine 127.0.0.1 login ${ADMIN.username} password "${ADMIN.password}"`,
      password: ADMIN.password,
      client: `user = "${client.clientId}:${client.secret}"`,
      code: await server.code(client),
    };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder.path, name), text, { mode: 0o600 });
    }
    const env = { PATH: process.env['PATH'], SERVICE: server.service.url, REDIRECT_URI: CALLBACK };
    const strict = 'curl() { command curl -sS --fail "$@"; }\n';
    const answers: string[] = [];
    for (const request of requests) {
      const options = { cwd: folder.path, env };
      const { stdout } = await promisify(execFile)('bash', ['-ec', `${strict}${request}`], options);
      answers.push(stdout);
    }
    const me = expect.stringContaining('"username":"admin"');
    expect(answers).toEqual([me, me, me, expect.stringContaining('"refresh_token"')]);
  });
});
