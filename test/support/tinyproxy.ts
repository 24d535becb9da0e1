import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';

/** An address of this machine that is not its loopback, which no proxy is used for; undefined without one. */
export const OWN_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;

/** Why there is no proxy to test with; null if there is one. */
export const NO_PROXY_SERVER: string | null =
  spawnSync('tinyproxy', ['-v']).status === 0
    ? OWN_ADDRESS === undefined
      ? 'this machine has no network'
      : null
    : 'tinyproxy is not installed (apt install tinyproxy)';

if (NO_PROXY_SERVER !== null)
  process.stderr.write(`Tests with a real proxy are skipped: ${NO_PROXY_SERVER}.\n`);

/** Starts tinyproxy on a free port, with these lines in its configuration. */
export async function startTinyproxy(
  lines: readonly string[] = [],
): Promise<{ readonly port: number; readonly log: () => string; readonly stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-proxy-'));
  const file = join(folder, 'tinyproxy.conf');
  const port = await freePort();
  const own = [`Port ${port}`, 'Listen 127.0.0.1', 'LogLevel Connect', 'Timeout 60', 'MaxClients 50'];
  writeFileSync(file, `${[...own, ...lines].join('\n')}\n`);
  const server = spawn('tinyproxy', ['-d', '-c', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  }
  server.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await until(async () => server.exitCode !== null || (await isListening(port)));
  if (server.exitCode !== null) throw new Error(`tinyproxy ended: ${text}`);
  return {
    port,
    log: () => text,
    stop: async () => {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill();
      await ended;
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
