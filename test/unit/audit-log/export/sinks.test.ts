import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSink } from '../../../../src/audit-log/export/open-sink.ts';
import { deadPort, messagesIn, receiver, silence, webServer } from '../../../support/receivers.ts';

const RECORDS = ['<109>1 first', 'zweite Zeile ü', 'third'];

describe('TCP', () => {
  test('messages of syslog go with their length in bytes before each', async () => {
    const at = await receiver();
    const sink = openSink({ to: `tcp://127.0.0.1:${at.port}`, format: 'syslog' });
    await sink.send(RECORDS);
    await sink.send(['fourth']);
    await sink.close();
    await at.until((text) => text.includes('fourth'));
    expect(messagesIn(at.text())).toEqual([...RECORDS, 'fourth']);
    expect(at.text()).toMatch(/15 zweite/);
  });

  test('events in JSON go a line each', async () => {
    const at = await receiver();
    const sink = openSink({ to: `tcp://127.0.0.1:${at.port}`, format: 'ocsf' });
    await sink.send(['{"a":1}', '{"b":2}']);
    await sink.close();
    await at.until((text) => text === '{"a":1}\n{"b":2}\n');
  });

  test('a connection that the other end broke is opened anew', async () => {
    const at = await receiver();
    const sink = openSink({ to: `tcp://127.0.0.1:${at.port}`, format: 'ocsf' });
    await sink.send(['before']);
    await at.until((text) => text === 'before\n');
    at.drop();
    // A record may be lost that is sent before the end of the connection is known here.
    await until(async () => {
      await sink.send(['after']).catch(() => undefined);
      return at.text().includes('after\n');
    });
    await sink.close();
  });

  test('reports a refused connection with the address', async () => {
    const sink = openSink({ to: `tcp://127.0.0.1:${await deadPort()}`, format: 'ocsf' });
    await expect(sink.send(RECORDS)).rejects.toMatchObject({
      code: 'target_unreachable',
      message: expect.stringMatching(
        /^Could not send records to tcp:\/\/127\.0\.0\.1:\d+: connection refused/,
      ),
    });
    await sink.close();
  });

  test('times out if the receiver does not read, and can be used again', async () => {
    const { port } = await silence();
    const sink = openSink({ to: `tcp://127.0.0.1:${port}`, format: 'ocsf', timeoutMs: 1_000 });
    const much = Array.from({ length: 40 }, () => 'x'.repeat(1_000_000));
    await expect(sink.send(much)).rejects.toMatchObject({
      code: 'target_unreachable',
      message: expect.stringMatching(/in 1 s$/),
    });
    // On a busy machine the limit, short for the sake of the first time, can pass once more.
    await until(() =>
      sink.send(['small']).then(
        () => true,
        () => false,
      ),
    );
    await sink.close();
  });
});

describe.runIf(spawnSync('openssl', ['version']).status === 0)('TLS', () => {
  test('sends only to a server whose certificate is signed by the CA', async () => {
    await using folder = await temporaryFolder();
    const [key, cert] = [join(folder.path, 'key.pem'), join(folder.path, 'cert.pem')];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', key, '-out', cert],
    ]);
    expect(made.status).toBe(0);
    const at = await receiver({ key: readFileSync(key), cert: readFileSync(cert) });
    for (const host of ['localhost', '127.0.0.1']) {
      const sink = openSink({ to: `tls://${host}:${at.port}`, format: 'syslog', caFile: cert });
      await sink.send([`to ${host}`]);
      await sink.close();
    }
    await at.until((text) => messagesIn(text).length === 2);
    const stranger = openSink({ to: `tls://127.0.0.1:${at.port}`, format: 'syslog' });
    await expect(stranger.send(['secret'])).rejects.toMatchObject(
      refused('target_unreachable', 'DEPTH_ZERO_SELF_SIGNED_CERT'),
    );
    expect(at.text()).not.toContain('secret');
  });

  test('times out during the TLS handshake', async () => {
    const sink = openSink({
      to: `tls://127.0.0.1:${(await silence()).port}`,
      format: 'syslog',
      timeoutMs: NO_ANSWER_MS,
    });
    await expect(sink.send(RECORDS)).rejects.toMatchObject({ code: 'target_unreachable' });
    await sink.close();
  });
});

describe('UDP', () => {
  test('a datagram each', async () => {
    const socket = createSocket('udp4');
    const found: string[] = [];
    socket.on('message', (message) => found.push(message.toString()));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    onTestFinished(() => void socket.close());
    const sink = openSink({ to: `udp://127.0.0.1:${socket.address().port}`, format: 'syslog' });
    await sink.send(RECORDS);
    await sink.close();
    await until(() => found.length === 3);
    expect(found).toEqual(RECORDS);
  });

  test('refuses what no datagram holds', async () => {
    expect(() => openSink({ to: 'udp://127.0.0.1:514', format: 'jsonl' })).toThrow(/larger than a datagram/);
    const sink = openSink({ to: 'udp://127.0.0.1:9', format: 'ocsf' });
    await expect(sink.send(['x'.repeat(70_000)])).rejects.toMatchObject({ code: 'unsupported' });
    await sink.close();
  });
});

describe('HTTP', () => {
  test('posts several records in one request with the token, and reports a rejection', async () => {
    let status = 200;
    const { port, requests } = await webServer(() => status);
    const token = new Secret('s3cret');
    const sink = openSink({ to: `http://127.0.0.1:${port}/in`, format: 'ecs', token });
    await sink.send(['{"a":1}', '{"b":2}']);
    expect(requests).toMatchObject([{ body: '{"a":1}\n{"b":2}\n', authorization: 'Bearer s3cret' }]);
    expect(requests).toHaveLength(1);
    for (const [code, problem] of [
      [401, 'permission_refused'],
      [302, 'target_misbehaved'],
      [503, 'target_misbehaved'],
    ] as const) {
      status = code;
      const refused = sink.send(['{}']);
      await expect(refused).rejects.toMatchObject({ code: problem });
      await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('s3cret') });
    }
    await sink.close();
  });

  test('times out without a response', async () => {
    const sink = openSink({
      to: `http://127.0.0.1:${(await silence()).port}/`,
      format: 'ecs',
      timeoutMs: NO_ANSWER_MS,
    });
    await expect(sink.send(['{}'])).rejects.toMatchObject({ message: expect.stringMatching(/in 1 s$/) });
    await sink.close();
  });
});

describe('a file', () => {
  test('is appended to, for its owner only', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'out.jsonl');
    const sink = openSink({ to: path, format: 'ocsf' });
    await sink.send(['one']);
    await sink.send(['two', 'three']);
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\nthree\n');
  });

  test('reports a file that cannot be written, and does not wait for the reader of a pipe', async () => {
    await using folder = await temporaryFolder();
    mkdirSync(join(folder.path, 'folder'));
    const pipe = join(folder.path, 'pipe');
    expect(spawnSync('sh', ['-c', 'mkfifo "$0"', pipe]).status).toBe(0);
    for (const path of [join(folder.path, 'folder'), pipe, '/dev/full']) {
      const sink = openSink({ to: path, format: 'ocsf' });
      await expect(sink.send(['one'])).rejects.toMatchObject({ code: 'partly_done' });
    }
  });
});

test.each(['ftp://host/x', 'tls://', 'tcp://user:password@host:1'])('%s is no address of a sink', (to) => {
  expect(() => openSink({ to, format: 'ocsf' })).toThrow(/^(Invalid sink address|The sink address)/);
});

test('reports an unreadable CA certificate before sending', async () => {
  await using folder = await temporaryFolder();
  writeFileSync(join(folder.path, 'x'), '');
  const caFile = join(folder.path, 'missing.pem');
  expect(() => openSink({ to: 'tls://host:1', format: 'ocsf', caFile })).toThrow(/Could not read/);
});
