import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether {@link makeCertificate} works here. */
export const HAS_OPENSSL = spawnSync('openssl', ['version']).status === 0;

if (!HAS_OPENSSL)
  process.stderr.write(
    'Tests with certificates are skipped: openssl is not installed (apt install openssl).\n',
  );

/** Why there is no Redis server to test against; null if there is one. */
export const NO_REDIS: string | null =
  spawnSync('redis-server', ['--version']).status === 0 ? null : 'redis-server is not installed';

if (NO_REDIS !== null) process.stderr.write(`Tests with a session cache are skipped: ${NO_REDIS}.\n`);

/** A Redis server of a test's own. */
export interface Redis {
  readonly port: number;
  /** Runs a command with redis-cli and gives what it printed. */
  readonly cli: (...args: string[]) => string;
  /** Stores bytes. */
  readonly set: (key: string, value: Buffer, seconds: number) => void;
  readonly stop: () => Promise<void>;
}

/** Starts a Redis server on a free port; `cli` are arguments that redis-cli needs to reach it. */
export async function startRedis(
  args: readonly string[] = [],
  options: { readonly tls?: boolean; readonly cli?: readonly string[] } = {},
): Promise<Redis> {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-redis-'));
  const port = await freePort();
  const ports = options.tls === true ? ['--port', '0', '--tls-port', `${port}`] : ['--port', `${port}`];
  const server = spawn(
    'redis-server',
    ['--bind', '127.0.0.1', '--save', '', '--dir', folder, ...ports, ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    server.stdout.on('data', (chunk: Buffer) => {
      if (chunk.includes('Ready to accept connections')) resolve();
    });
  });
  const reach = ['-p', `${port}`, '--no-auth-warning', ...(options.cli ?? [])];
  const cli = (input: Buffer | undefined, ...rest: string[]) => {
    const done = spawnSync('redis-cli', [...reach, ...rest], { input, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`redis-cli ${rest[0]}: ${done.stderr}`);
    return done.stdout.trim();
  };
  return {
    port,
    cli: (...rest) => cli(undefined, ...rest),
    set: (key, value, seconds) => {
      cli(value, '-x', 'SET', key);
      cli(undefined, 'EXPIRE', key, `${seconds}`);
    },
    stop: async () => {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A session as a gateway caches it: a pickled dictionary (protocol 5), with the id of the user as text. */
export function pickledSession(userId: number | null): Buffer {
  const text = (value: string) =>
    Buffer.concat([Buffer.from([0x8c, value.length]), Buffer.from(value), Buffer.from([0x94])]);
  const items =
    userId === null ? ['_session_expiry', '900'] : ['_auth_user_id', `${userId}`, '_auth_user_hash', 'x'];
  const body = Buffer.concat([Buffer.from('}\x94(', 'latin1'), ...items.map(text), Buffer.from('u.')]);
  const head = Buffer.from('\x80\x05\x95\0\0\0\0\0\0\0\0', 'latin1');
  head.writeUInt32LE(body.length, 3);
  return Buffer.concat([head, body]);
}

/** Makes a CA and a certificate for localhost, or other names, with openssl, in a folder. */
export function makeCertificate(
  folder: string,
  names = 'DNS:localhost',
): { readonly ca: string; readonly cert: string; readonly key: string } {
  const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const openssl = (...args: string[]) => {
    const done = spawnSync('openssl', args, { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(done.stderr);
  };
  const caKey = join(folder, 'ca.key');
  openssl(
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', caKey, '-out', ca],
    ...['-days', '1', '-subj', '/CN=test CA'],
  );
  const request = join(folder, 'request.pem');
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', request, '-subj', '/CN=localhost');
  writeFileSync(join(folder, 'names'), `subjectAltName=${names}\n`);
  openssl(
    ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-days', '1'],
    ...['-extfile', join(folder, 'names'), '-out', cert],
  );
  return { ca, cert, key };
}

/** A port of this machine on which no one listens. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
