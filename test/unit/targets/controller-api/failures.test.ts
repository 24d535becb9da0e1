import { execFileSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRODUCT_HEADER, SERVICE_PRODUCT } from '@tokenctl/common/product.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { FakeController, type Fault, json } from '../../../support/fake-controller.ts';
import { bearer, errorOf, openTestTarget } from '../../../support/test-target.ts';

async function failing(fault: Fault, other: Parameters<typeof openTestTarget>[1] = {}) {
  await using fake = await FakeController.start();
  fake.fault = fault;
  const target = openTestTarget(fake.address, other);
  const error = await errorOf(target.describe());
  await target.close();
  return { error, requests: fake.requests.length };
}

describe('network errors', () => {
  test('a host name that does not exist', async () => {
    const error = await errorOf(openTestTarget('https://controller.invalid').describe());
    expect(error).toMatchObject({ code: 'target_unreachable' });
    expect(error.message).toContain('The host name controller.invalid was not found');
  });

  test('a refused connection, without retries', async () => {
    const fake = await FakeController.start();
    const { address } = fake;
    await fake[Symbol.asyncDispose]();
    let attempts = 0;
    const count = () => {
      attempts += 1;
    };
    subscribe('undici:client:connectError', count);
    onTestFinished(() => void unsubscribe('undici:client:connectError', count));
    const error = await errorOf(openTestTarget(address).describe());
    expect(error).toMatchObject(refused('target_unreachable', 'refused'));
    expect(attempts).toBe(1);
  });

  test('a server that never responds', async () => {
    const { error } = await failing(() => true, { timeoutMs: NO_ANSWER_MS });
    expect(error).toMatchObject(refused('target_unreachable', 'in time'));
  });

  test('a server that closes every connection, after several attempts', { tags: ['long'] }, async () => {
    const { error, requests } = await failing((request) => request.socket.destroy() !== null);
    expect(error).toMatchObject(refused('target_unreachable', 'closed the connection'));
    expect(requests).toBeGreaterThan(2);
  });

  test('a server that does not speak HTTP', async () => {
    const server = createTcpServer((socket) => socket.end('220 mail.example.org ESMTP\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const error = await errorOf(openTestTarget(`http://127.0.0.1:${port}`).describe());
    server.close();
    expect(error).toMatchObject(refused('target_unreachable', 'does not speak HTTP'));
  });

  test('https to a server that speaks http', async () => {
    await using fake = await FakeController.start();
    const error = await errorOf(openTestTarget(fake.address.replace('http:', 'https:')).describe());
    expect(error).toMatchObject(refused('target_unreachable', 'TLS connection'));
  });
});

describe('unexpected responses', () => {
  test('a rejected password', async () => {
    const { error } = await failing((_, response) => json(response, 401, { detail: 'secret-detail' }));
    expect(error).toMatchObject(refused('credentials_refused', 'admin'));
  });

  test('a rejected token', async () => {
    const answer: Fault = (_, response) => json(response, 401, { detail: 'no' });
    const { error } = await failing(answer, { credential: bearer });
    expect(error).toMatchObject(refused('credentials_refused', 'the token'));
    expect(error).toHaveProperty('hint', expect.stringContaining('from platform version 2.7 on'));
    const service: Fault = (_, response) => json(response, 401, {}, { [PRODUCT_HEADER]: SERVICE_PRODUCT });
    const { error: ofService } = await failing(service, { credential: bearer });
    expect(ofService).toHaveProperty('hint', expect.stringMatching(/Create a new token and use it\.$/));
  });

  test('a missing permission, without the response body', async () => {
    const { error } = await failing((_, response) => json(response, 403, { detail: 'secret-detail' }));
    expect(error.code).toBe('permission_refused');
  });

  test.each([
    ['a web page', 200, 'text/html', '<html>'],
    ['a page that says not found', 404, 'text/html', '<html>'],
    ['an API without these paths', 404, 'application/json', '{"detail":"Not found."}'],
    ['JSON of something else', 200, 'application/json', '{"hello":"world"}'],
    ['broken JSON', 200, 'application/json', '{"results": ['],
    ['an internal error', 500, 'application/json', '{}'],
  ])('%s', async (_, status, type, text) => {
    const { error } = await failing((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(text);
      return true;
    });
    expect(error.code).toBe('target_misbehaved');
  });

  test('a redirect to another host is not followed', async () => {
    const { error, requests } = await failing((_, response) => {
      response.writeHead(302, { location: 'https://elsewhere.example.org/login?next=secret-next' }).end();
      return true;
    });
    expect(error).toMatchObject({
      code: 'target_misbehaved',
      message: expect.stringContaining(
        'redirects to https://elsewhere.example.org; the credential was not sent there',
      ),
    });
    expect(requests).toBe(1);
  });

  test('an endless body', async () => {
    const { error } = await failing((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = 'x'.repeat(1 << 20);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
      return true;
    });
    expect(error).toMatchObject(refused('target_misbehaved', 'too large'));
  });
});

/** A server that sends the same again and again, until the client leaves. */
function dripping(response: ServerResponse, head: string, more = ' '): true {
  const { socket } = response;
  socket?.write(head);
  const timer = setInterval(() => socket?.write(more), 20);
  socket?.on('close', () => clearInterval(timer));
  return true;
}

describe('a response that comes byte by byte', () => {
  test.each([
    ['in its body', 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4096\r\n\r\n'],
    ['in its headers', 'HTTP/1.1 200 OK\r\nx-slow: '],
  ])('%s is given up on, however long it goes on', async (_, head) => {
    const limit = { timeoutMs: NO_ANSWER_MS };
    const { error } = await failing((_request, response) => dripping(response, head), limit);
    expect(error).toMatchObject({
      code: 'target_unreachable',
      message: expect.stringMatching(/did not respond in time|sends its response too slowly/),
    });
  });

  test('names the rate, and leaves a response alone that is merely long', async () => {
    const body = JSON.stringify({ current_version: '/api/v2/', padding: 'x'.repeat(60_000) });
    await using fake = await FakeController.start();
    fake.fault = (request, response) => {
      if (request.url !== '/api/') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const parts = body.match(/.{1,2500}/g) ?? [];
      const timer = setInterval(() => {
        const part = parts.shift();
        if (part === undefined) clearInterval(timer);
        if (part === undefined) response.end();
        else response.write(part);
      }, 50);
      return true;
    };
    const target = openTestTarget(fake.address, { timeoutMs: NO_ANSWER_MS });
    expect((await target.describe()).version).toBe('24.6.1');
    await target.close();
  });

  test('is given up on if it consists of interim responses', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\n';
    const { error, requests } = await failing((_request, response) => dripping(response, interim, interim));
    expect(error.code).toBe('target_misbehaved');
    expect(requests).toBe(1);
  });
});

describe('an overloaded server', () => {
  test('gets retries until it recovers', async () => {
    await using fake = await FakeController.start();
    let refusals = 3;
    fake.fault = (_, response) => refusals-- > 0 && json(response, 503, {});
    const target = openTestTarget(fake.address);
    expect((await target.describe()).version).toBe('24.6.1');
    await target.close();
  });

  test('gets no retry if Retry-After is longer than a minute', async () => {
    const { error, requests } = await failing((_, response) => {
      return json(response, 429, {}, { 'retry-after': '3600' });
    });
    expect(error).toMatchObject(refused('target_unreachable', 'limits the rate'));
    expect(requests).toBe(1);
  });
});

describe('an invalid address or credential is refused before anything is sent', () => {
  test.each([
    ['no URL', 'controller'],
    ['another scheme', 'ftp://controller'],
    ['credentials in it', 'https://admin:secret-password@controller'],
  ])('%s', (_, address) => {
    expect(() => openTestTarget(address)).toThrow(expect.objectContaining({ code: 'configuration' }));
    expect(() => openTestTarget(address)).not.toThrow(/secret-/);
  });

  test.each([
    ['a token with a line feed', { kind: 'token', token: new Secret('secret-token\nx-evil: 1') }],
    ['a token in quotes', { kind: 'token', token: new Secret('"secret-token"') }],
    ['a user name with a colon', { kind: 'password', username: 'a:b', password: new Secret('secret-x') }],
  ] as const)('%s', (_, credential) => {
    expect(() => openTestTarget('https://localhost', { credential })).toThrow(
      expect.objectContaining({ code: 'configuration' }),
    );
    expect(() => openTestTarget('https://localhost', { credential })).not.toThrow(/secret-/);
  });

  test('a missing CA file', () => {
    expect(() => openTestTarget('https://localhost', { caFile: '/nowhere/ca.pem' })).toThrow(
      '/nowhere/ca.pem',
    );
  });
});

describe('TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-tls-'));
  const server = { address: '', close: () => undefined as unknown };

  beforeAll(async () => {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const request = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '1',
    ];
    execFileSync('openssl', [...request, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
    const paths: Record<string, unknown> = {
      '/api/': { current_version: '/api/v2/' },
      '/api/v2/ping/': { version: '24.6.1' },
      '/api/v2/me/': { results: [{ id: 1, username: 'admin', is_superuser: true }] },
    };
    const https = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) =>
      json(response, 200, paths[request.url ?? '']),
    );
    await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve));
    server.address = `https://localhost:${(https.address() as AddressInfo).port}`;
    server.close = () => https.close();
  });

  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('rejects an untrusted certificate', async () => {
    const error = await errorOf(openTestTarget(server.address).describe());
    expect(error).toMatchObject(refused('target_unreachable', 'not signed by'));
  });

  test('accepts it with the CA file', async () => {
    const target = openTestTarget(server.address, { caFile: join(folder, 'cert.pem') });
    expect(await target.describe()).toMatchObject({ transport: 'https', version: '24.6.1' });
    await target.close();
  });

  test('rejects it for another host name', async () => {
    const caFile = join(folder, 'cert.pem');
    const error = await errorOf(
      openTestTarget(server.address.replace('localhost', '127.0.0.1'), { caFile }).describe(),
    );
    expect(error).toMatchObject(refused('target_unreachable', 'another host name'));
  });

  test('accepts any certificate without verification, and reports that', async () => {
    const target = openTestTarget(server.address, { verifyTls: false });
    expect(await target.describe()).toMatchObject({ transport: 'https_unverified' });
    await target.close();
  });
});
