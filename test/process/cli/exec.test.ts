import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import { estate, type Home, homeFor } from './estate.ts';
import { startTokenctl } from './program.ts';

const { home, url } = estate({ users: 1, tokens: 1 });

/** What `node -e` runs: it says when it is ready, and goes on until something ends it. */
const WAITS = 'console.error("ready"); setInterval(() => {}, 1e6);';
const program = (script: string) => ['--', process.execPath, '-e', script];

async function leases({ run }: Home): Promise<{ readonly state: string; readonly token: { id: number } }[]> {
  return JSON.parse((await run(['tokens', 'leases', '--all', '--json'])).stdout);
}

const logOf = ({ folder }: Home) => join(folder, '.local/state/tokenctl/audit.jsonl');

test('runs a program with a token that works, and ends with it; the exit code is the program’s', async () => {
  const at = home();
  const { start, folder } = at;
  const script = `const { CONTROLLER_HOST: host, AAP_TOKEN: token, ...others } = process.env;
    const me = await fetch(host + '/api/v2/me/', { headers: { authorization: 'Bearer ' + token } });
    const same = ['CONTROLLER_OAUTH_TOKEN', 'TOWER_OAUTH_TOKEN', 'MINE'].every((name) => others[name] === token);
    console.log(JSON.stringify([me.status, same, others.CONTROLLER_PASSWORD, others.HOME, token]));
    process.exit(3);`;
  const ran = await start([
    'exec',
    '--env',
    'MINE',
    '--',
    process.execPath,
    '--input-type=module',
    '-e',
    script,
  ]).ended;
  const [status, same, password, kept, token] = JSON.parse(ran.stdout);
  expect([ran.code, status, same, password, kept]).toEqual([3, 200, true, null, folder]);
  expect(ran.stderr + readFileSync(logOf(at), 'utf8')).not.toContain(token);
  const after = await fetch(`${url()}/api/v2/me/`, { headers: { authorization: `Bearer ${token}` } });
  expect(after.status).toBe(401);
  expect(await leases(at)).toMatchObject([{ state: 'ended', why: 'exec', ended: { how: 'revoked' } }]);
});

test('leaves out its own credentials, and sends the token to no other host', async () => {
  const { folder } = home();
  const other = `{ url: "https://other.example.org", username: admin, password: { env: OTHER_PW } }`;
  configure(folder, `contexts: { other: ${other} }\n`);
  const env = {
    HOME: folder,
    CONTROLLER_HOST: url(),
    CONTROLLER_USERNAME: 'admin',
    CONTROLLER_PASSWORD: readFileSync(join(folder, 'admin.password'), 'utf8').trim(),
    AAP_HOSTNAME: 'https://other.example.org',
    AAP_PASSWORD: 'of another tool',
    OTHER_PW: 'of another context',
    TOKENCTL_AUDIT_LOG: join(folder, 'audit.jsonl'),
  };
  const script = 'const { PATH, HOME, ...rest } = process.env; console.log(JSON.stringify(rest));';
  const { stdout, code } = await startTokenctl(['exec', ...program(script)], { env }).ended;
  const given = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(Object.keys(given).filter((name) => /PASSWORD|USERNAME|OTHER_PW/.test(name))).toEqual([]);
  expect([given.AAP_HOSTNAME, given.TOWER_HOST, given.TOKENCTL_AUDIT_LOG]).toEqual([
    url(),
    url(),
    env.TOKENCTL_AUDIT_LOG,
  ]);
});

test('passes a signal on, and revokes the token after the program has ended', async () => {
  const at = home();
  const handled = at.start(['exec', ...program(`process.on('SIGTERM', () => process.exit(7)); ${WAITS}`)]);
  await handled.says(/ready/);
  handled.kill('SIGTERM');
  expect((await handled.ended).code).toBe(7);
  const plain = at.start(['exec', ...program(WAITS)]);
  await plain.says(/ready/);
  plain.kill('SIGHUP');
  expect((await plain.ended).code).toBe(129);
  const killed = at.start(['exec', ...program('process.kill(process.pid, "SIGKILL")')]);
  expect((await killed.ended).code).toBe(137);
  expect((await leases(at)).map(({ state }) => state)).toEqual(['ended', 'ended', 'ended']);
});

test('killed, it leaves a lease that says until when, and that can be ended', async () => {
  const at = home();
  const script = `console.error('pid ' + process.pid); ${WAITS}`;
  const killed = at.start(['exec', '--for', '10m', ...program(script)]);
  const said = await killed.says(/pid \d+\nready/);
  onTestFinished(() => void process.kill(Number(/\d+/.exec(said)?.[0]), 'SIGKILL'));
  killed.kill('SIGKILL');
  process.kill(Number(/\d+/.exec(said)?.[0]), 0);
  const [{ token, state } = { token: { id: 0 }, state: '' }] = await leases(at);
  expect(state).toBe('open');
  expect((await at.run(['tokens', 'list', '--id', String(token.id)])).stdout).toMatch(/ lease /);
  expect((await at.run(['tokens', 'leases', '--end', String(token.id), '--yes'])).code).toBe(0);
  expect(await leases(at)).toMatchObject([{ state: 'ended' }]);
});

test('a controller that is lost meanwhile leaves the lease, and says so', async () => {
  const { hostname, port } = new URL(url());
  const sockets = new Set<net.Socket>();
  const way = net.createServer((socket) => {
    const behind = net.connect(Number(port), hostname).on('error', () => undefined);
    sockets.add(socket.on('error', () => undefined));
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((done) => way.listen(0, '127.0.0.1', done));
  const at = homeFor(`http://127.0.0.1:${(way.address() as net.AddressInfo).port}`);
  const lost = at.start(['exec', ...program(`process.on('SIGTERM', () => process.exit(0)); ${WAITS}`)]);
  await lost.says(/ready/);
  way.close();
  for (const socket of sockets) socket.destroy();
  lost.kill('SIGTERM');
  expect(await lost.ended).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringMatching(
      /was not revoked: .*refused the connection[\s\S]*tokens leases --end lease-/,
    ),
  });
});

test('what cannot be done is refused before a token is made', async () => {
  const at = home();
  const marker = join(at.folder, 'ran');
  const invalid = join(at.folder, 'invalid.yaml');
  writeFileSync(
    invalid,
    `${readFileSync(join(at.folder, '.config/tokenctl/tokenctl.yaml'), 'utf8')}jobs: 7\n`,
  );
  const touch = program(`require('fs').writeFileSync(${JSON.stringify(marker)}, '')`);
  for (const [code, ...args] of [
    [127, '--', 'no-such-program-here'],
    [2],
    [2, '--env', 'NOT A NAME', ...touch],
    [4, '--user', 'somebody-else', ...touch],
    [2, '--config', invalid, ...touch],
    [6, '--log-file', '/proc/none/audit.jsonl', ...touch],
    [0, '--dry-run', ...touch],
  ] as const) {
    expect([args, (await at.run(['exec', ...args])).code]).toEqual([args, code]);
  }
  expect([existsSync(marker), existsSync(logOf(at))]).toEqual([false, false]);
});
