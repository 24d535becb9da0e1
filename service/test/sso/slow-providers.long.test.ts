import type { ServerResponse } from 'node:http';
import { type LoopbackServer, listenOnLoopback } from '@tokenctl/testing/sso/http-server.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { SECRET_KEY, startTestService } from '../support/service.ts';
import { Browser } from '../support/sso/browser.ts';
import { expectRefused, set } from '../support/sso/world.ts';

/** Answers JSON that never ends, as fast as it is taken. */
function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).write('{"issuer":"');
  const chunk = 'x'.repeat(65_536);
  const more = () => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

describe('providers that do not answer as they should', () => {
  let service: RunningService;
  let provider: LoopbackServer;
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const logIn = async (issuer: string) => {
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: issuer });
    const browser = new Browser();
    return { browser, stop: await browser.open(`${service.url}/sso/login/google-oauth2/`) };
  };

  beforeAll(async () => {
    service = await startTestService({ secretKey: SECRET_KEY });
    provider = await listenOnLoopback(() => (request, response) => {
      if (request.url?.startsWith('/endless')) endless(response);
      else isAsked();
    });
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'secret',
    });
  });
  afterAll(async () => {
    await service.close();
    await provider.close();
  });

  it('are given up, and hold up no one else meanwhile', async () => {
    let isAnswered = false;
    const waiting = logIn(`${provider.url}/silent`).finally(() => {
      isAnswered = true;
    });
    await asked;
    expect((await fetch(`${service.url}/api/login/`)).status).toBe(200);
    expect(isAnswered).toBe(false);
    await expectRefused(service, await waiting, 'unreachable');
  });

  it('are not listened to without end', async () => {
    await expectRefused(service, await logIn(`${provider.url}/endless`), 'unverified');
  });

  it.each(['a/b', 'a?b', 'user@a', '['])('are sent no one back to the host %j', async (host) => {
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const asked = request(`${service.url}/sso/login/google-oauth2/`, { headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.once('error', reject).end();
    });
    expect(status).toBe(421);
  });
});
