import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsFront } from 'node:tls';
import { exchange } from '@tokenctl/common/network/exchange.ts';
import { openOutgoing, type ProxySetting } from '@tokenctl/common/network/outgoing.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { HAS_OPENSSL, makeCertificate } from '@tokenctl/testing/redis.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { httpSink } from '../../../src/audit-log/export/network-sinks.ts';
import { clientCredentialsToken } from '../../../src/directories/access-tokens.ts';
import { ProviderClient } from '../../../src/directories/provider-client.ts';
import { openWebhook } from '../../../src/notify/webhook.ts';
import { Api } from '../../../src/targets/controller-api/api.ts';
import { Connection } from '../../../src/targets/controller-api/connection.ts';
import { controllerDialect } from '../../../src/targets/controller-api/controller-dialect.ts';
import { acceptsPassword } from '../../../src/targets/controller-api/users.ts';
import { NO_PROXY_SERVER, OWN_ADDRESS, startTinyproxy } from '../../support/tinyproxy.ts';

const NAMES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'];
const PASSWORD = 'pw-d.of-a-test';

function environment(variables: Readonly<Record<string, string>>) {
  for (const name of NAMES.flatMap((each) => [each, each.toLowerCase()])) vi.stubEnv(name, variables[name]);
}
afterEach(() => {
  vi.unstubAllEnvs();
});

function proxyOf(address: string, setting?: ProxySetting): string | null {
  const { dispatcher, proxy } = openOutgoing(new URL(address), {}, setting);
  void dispatcher.destroy();
  return proxy;
}

describe('which proxy is used', () => {
  const https = 'https://controller.example.org';

  test.each([
    [{ HTTPS_PROXY: 'http://up:1' }, https, 'http://up:1'],
    [{ https_proxy: 'http://low:1', HTTPS_PROXY: 'http://up:1' }, https, 'http://low:1'],
    [{ HTTP_PROXY: 'http://up:1' }, https, null],
    [{ HTTP_PROXY: 'up:1' }, 'http://controller.example.org', 'http://up:1'],
    [{ all_proxy: 'https://any:1' }, https, 'https://any:1'],
    [{ HTTPS_PROXY: '', ALL_PROXY: 'http://any:1' }, https, 'http://any:1'],
    [{ ALL_PROXY: 'http://any:1' }, 'https://localhost:8443', null],
    [{ ALL_PROXY: 'http://any:1' }, 'https://[::1]', null],
  ])('by the environment %j for %s: %s', (variables, address, proxy) => {
    environment(variables as Readonly<Record<string, string>>);
    expect(proxyOf(address)).toBe(proxy);
  });

  test.each([
    ['example.org', null],
    ['.example.org', null],
    ['*.example.org', null],
    ['Controller.Example.org.', null],
    ['other.org, controller.example.org:443', null],
    ['*', null],
    ['controller.example.org:8443', 'http://any:1'],
    ['troller.example.org', 'http://any:1'],
    ['10.0.0.0/8', 'http://any:1'],
  ])('NO_PROXY=%s', (list, proxy) => {
    environment({ ALL_PROXY: 'http://any:1', NO_PROXY: list });
    expect(proxyOf(https)).toBe(proxy);
  });

  test.each([
    ['10.0.0.0/8', 'https://10.1.2.3', null],
    ['10.0.0.0/8', 'https://11.1.2.3', 'http://any:1'],
    ['fd00::/8', 'https://[fd00::1]', null],
    ['[fd00::1]:443', 'https://[fd00::1]', null],
    ['fd00::1', 'https://[fd00::1]:8443', null],
  ])('NO_PROXY=%s for %s', (list, address, proxy) => {
    environment({ ALL_PROXY: 'http://any:1', NO_PROXY: list });
    expect(proxyOf(address)).toBe(proxy);
  });

  test('by the context before the environment, and none of either', () => {
    environment({ HTTPS_PROXY: 'http://any:1', NO_PROXY: '*' });
    expect(proxyOf(https, { url: new Secret(`http://u:secret@own:2`) })).toBe('http://own:2');
    vi.stubEnv('NO_PROXY', '');
    expect(proxyOf(https, 'none')).toBeNull();
  });

  test.each([
    [{ ALL_PROXY: 'socks5://any:1' }, 'The proxy of ALL_PROXY is invalid'],
    [
      { https_proxy: 'http://u:100%@any:1' },
      'The proxy of https_proxy has a % that is not part of an escape',
    ],
  ])('%j is refused by name', (variables, message) => {
    environment(variables as Readonly<Record<string, string>>);
    expect(() => proxyOf(https)).toThrow(message);
  });
});

interface Authorities {
  readonly caFile?: string;
  readonly proxyCa?: string;
}

describe.skipIf(NO_PROXY_SERVER !== null)('tinyproxy', () => {
  let proxy: Awaited<ReturnType<typeof startTinyproxy>>;
  let server: Server;
  let url: string;
  beforeAll(async () => {
    proxy = await startTinyproxy([`BasicAuth user ${PASSWORD}`]);
    server = createServer((_, answer) => answer.end('{}')).listen(0, OWN_ADDRESS);
    await new Promise((resolve) => server.once('listening', resolve));
    url = `http://${OWN_ADDRESS}:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await proxy.stop();
    server.close();
  });
  const credentials = `user:${encodeURIComponent(PASSWORD)}`;
  const connection = (address: string, at?: string, { caFile, proxyCa }: Authorities = {}) =>
    new Connection({
      address,
      credential: { kind: 'token', token: new Secret('x') },
      verifyTls: true,
      caFile,
      ...(at !== undefined && { proxy: { url: new Secret(at), caFile: proxyCa } }),
    });
  const answer = async (address: string, at?: string, authorities?: Authorities) => {
    const way = connection(address, at, authorities);
    try {
      return (await way.send({ method: 'GET', path: '/' })).status;
    } finally {
      await way.close();
    }
  };

  test('is used for the controller, webhooks and fetch, with its credentials', async () => {
    environment({ HTTP_PROXY: `http://${credentials}@127.0.0.1:${proxy.port}` });
    expect(await answer(url)).toBe(200);
    const notice = { id: 'a', type: 'token.expiring', at: new Date(0), data: {} } as const;
    const webhook = openWebhook({ url: new Secret(`${url}/hook`), pauses: [] });
    await webhook.send(notice as unknown as Parameters<typeof webhook.send>[0]);
    await webhook.close();
    const { dispatcher } = openOutgoing(new URL(url));
    const fetched = await exchange(`${url}/fetch`, { dispatcher, maxBytes: 100 });
    expect(await fetched.text()).toBe('{}');
    await dispatcher.destroy();
    for (const path of ['/', '/hook', '/fetch']) expect(proxy.log()).toContain(`${path} HTTP/1.1`);
  });

  test.skipIf(!HAS_OPENSSL)('opens a tunnel to a server of TLS, whose own authority is checked', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-tls-'));
    const { ca, cert, key } = makeCertificate(folder, `IP:${OWN_ADDRESS}`);
    const files = { cert: readFileSync(cert), key: readFileSync(key) };
    const tls = createTlsServer(files, (_, reply) => reply.end('{}')).listen(0, OWN_ADDRESS);
    await new Promise((resolve) => tls.once('listening', resolve));
    const address = `https://${OWN_ADDRESS}:${(tls.address() as AddressInfo).port}`;
    const at = `http://${credentials}@127.0.0.1:${proxy.port}`;
    expect(await answer(address, at, { caFile: ca })).toBe(200);
    expect(proxy.log()).toContain(`CONNECT ${new URL(address).host}`);
    await expect(answer(address, at)).rejects.toThrow(/^The certificate of .* is not signed by a trusted/);
    tls.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.skipIf(!HAS_OPENSSL)('is reached by TLS, whose authority is its own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-tls-'));
    const { ca, cert, key } = makeCertificate(folder, `IP:127.0.0.1,IP:${OWN_ADDRESS}`);
    const files = { cert: readFileSync(cert), key: readFileSync(key) };
    const front = createTlsFront(files, (socket) => {
      const behind = connect(proxy.port, '127.0.0.1');
      socket.on('error', () => behind.destroy()).pipe(behind);
      behind.on('error', () => socket.destroy()).pipe(socket);
    }).listen(0, '127.0.0.1');
    front.on('tlsClientError', () => undefined);
    const target = createTlsServer(files, (_, reply) => reply.end('{}')).listen(0, OWN_ADDRESS);
    await Promise.all([front, target].map((each) => each.listening || once(each, 'listening')));
    const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
    const own = `127.0.0.1:${portOf(front)}`;
    const at = `https://${credentials}@${own}`;
    const https = `https://${OWN_ADDRESS}:${portOf(target)}`;
    expect(await answer(https, at, { caFile: ca, proxyCa: ca })).toBe(200);
    expect(await answer(url, at, { proxyCa: ca })).toBe(200);
    for (const address of [https, url]) {
      await expect(answer(address, at, { caFile: ca })).rejects.toThrow(
        `The proxy https://${own} could not be reached (`,
      );
    }
    const way = connection(https, at, { proxyCa: ca });
    expect(way.proxy).toBe(`https://${own}`);
    await way.close();
    front.close();
    target.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('is told from the target', async () => {
    const at = `http://${credentials}@127.0.0.1:${proxy.port}`;
    const own = `127.0.0.1:${proxy.port}`;
    await expect(answer('https://127.0.0.2:1', at)).rejects.toThrow(/127\.0\.0\.2:1 refused/);
    await expect(answer('https://controller.invalid', at)).rejects.toMatchObject({
      message: expect.stringMatching(
        `^The proxy http://${own} could not reach controller\\.invalid:443 \\(5\\d\\d\\)$`,
      ),
    });
    await expect(answer('https://controller.invalid', `http://user:wrong@${own}`)).rejects.toThrow(
      /^The proxy http:\/\/127\.0\.0\.1:\d+ requires different credentials \(40[17]\)$/,
    );
    await expect(answer(url, 'http://127.0.0.1:1')).rejects.toThrow(
      'The proxy http://127.0.0.1:1 could not be reached (ECONNREFUSED)',
    );
    await expect(answer('https://controller.invalid', 'http://127.0.0.1:1')).rejects.toThrow(
      'The proxy http://127.0.0.1:1 could not be reached (ECONNREFUSED)',
    );
    // To requests without TLS it answers itself, as a target would.
    await expect(answer(url, `http://user:wrong@${own}`)).rejects.toThrow(
      /^The proxy http:\/\/127\.0\.0\.1:\d+ requires different credentials \(40[17]\)$/,
    );
    await expect(answer(`http://${OWN_ADDRESS}:1`, at)).rejects.toThrow(
      `The proxy http://${own} could not reach ${OWN_ADDRESS}:1 (500)`,
    );
  });

  test.each([
    ['is silent', () => undefined, 'did not connect to the host in time'],
    ['hangs up', (socket: Socket) => socket.end(), 'closed the connection'],
    [
      'speaks another protocol',
      (socket: Socket) => socket.end('220 mail\r\n'),
      'does not respond like an HTTP proxy',
    ],
  ])('is named where it %s', async (_, behave, message) => {
    const other = createTcpServer((socket) => {
      socket.on('error', () => undefined).once('data', () => behave(socket));
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { dispatcher } = openOutgoing(
      new URL('https://controller.invalid'),
      { connect: { timeout: NO_ANSWER_MS } },
      { url: new Secret(at) },
    );
    const sent = dispatcher.request({ origin: 'https://controller.invalid', method: 'GET', path: '/' });
    await expect(sent).rejects.toThrow(`The proxy ${at} ${message}`);
    await dispatcher.destroy();
    other.close();
  });

  test('is told from a target by 407, and by what squid and RFC 9209 mark as theirs', async () => {
    let reply: [status: number, headers: Record<string, string>] = [407, {}];
    const other = createServer((_, response) => response.writeHead(...reply).end()).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    await expect(answer(url, at)).rejects.toThrow(`The proxy ${at} requires different credentials (407)`);
    for (const headers of [
      { 'x-squid-error': 'ERR_ACCESS_DENIED 0' },
      { 'proxy-status': 'gate; error=destination_ip_prohibited' },
    ]) {
      reply = [403, headers];
      await expect(answer(url, at)).rejects.toThrow(`The proxy ${at} refused to connect to`);
    }
    reply = [403, { 'proxy-status': 'gate; received-status=403' }];
    expect(await answer(url, at)).toBe(403);
    other.close();
  });

  test('is not told from a target by an answer without a mark: messages name both', async () => {
    let status = 403;
    const other = createServer((_, response) => response.writeHead(status).end('<html>')).listen(
      0,
      '127.0.0.1',
    );
    await once(other, 'listening');
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    environment({ HTTP_PROXY: at });
    const both = `${url}, or the proxy ${at} in front of it,`;
    const way = connection(url);
    const api = new Api({ connection: way, dialect: controllerDialect, prefix: '', root: '/api/v2/' });
    for (const [each, said] of [
      [
        200,
        `${both} does not respond like a controller or a gateway: it returned a web page instead of the list of users`,
      ],
      [302, `${both} redirects to another page`],
      [403, `${both} does not allow this account the list of users`],
      [
        404,
        `${both} does not respond like a controller or a gateway: it returned a web page instead of the list of users`,
      ],
      [451, `${both} failed to return the list of users (HTTP 451)`],
    ] as const) {
      status = each;
      await expect(api.getJson('users/', 'the list of users')).rejects.toThrow(said);
    }
    status = 403;
    const user = { id: 1, username: 'anna' };
    await expect(acceptsPassword(api, user, new Secret('wrong'))).rejects.toThrow(both);
    await way.close();
    const notice = { id: 'a', type: 'token.expiring', at: new Date(0), data: {} } as const;
    const webhook = openWebhook({ url: new Secret(`${url}/hook`), pauses: [] });
    const host = new URL(url).host;
    await expect(webhook.send(notice as unknown as Parameters<typeof webhook.send>[0])).rejects.toThrow(
      `The webhook at ${host}, or the proxy ${at} in front of it, answered 403`,
    );
    await webhook.close();
    const sink = httpSink({
      ...{ name: 'siem', url: new URL(url), contentType: 'application/json', timeoutMs: NO_ANSWER_MS },
      ...{ ca: undefined, token: undefined },
    });
    await expect(sink.send(['{}'])).rejects.toThrow(
      `siem, or the proxy ${at} in front of it, rejected the records with status 403`,
    );
    await sink.close();
    other.close();
  });

  test('is mentioned where the host behind it hangs up', async () => {
    const other = createServer().on('connect', (_, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const way = connection('https://controller.invalid', at);
    await expect(way.send({ method: 'POST', path: '/' })).rejects.toMatchObject({
      message: 'controller.invalid closed the connection',
      hint: expect.stringMatching(`Requests go through the proxy ${at}\\.$`),
    });
    await way.close();
    other.close();
  });

  test('is named where a directory is read', async () => {
    environment({ HTTPS_PROXY: 'http://127.0.0.1:1' });
    const client = new ProviderClient({
      name: 'The directory',
      url: new URL('https://provider.invalid/'),
      authorization: async () => new Secret('Bearer x'),
    });
    await expect(client.get('users')).rejects.toThrow('The proxy http://127.0.0.1:1 could not be reached');
    await client.close();
    const application = { name: 'The directory', clientId: 'a', credential: { secret: new Secret('b') } };
    const tokenUrl = new URL('https://provider.invalid/token');
    await expect(clientCredentialsToken({ ...application, tokenUrl })).rejects.toThrow(
      'The proxy http://127.0.0.1:1 could not be reached',
    );
  });
});
