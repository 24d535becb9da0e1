import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requestedEvents } from '@tokenctl/common/signals/signal-event.ts';
import { freePort } from '@tokenctl/testing/embedded-postgres.ts';
import { EVENTS } from '@tokenctl/testing/transmitter.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { receiverProgram, type SignalWorld, signalWorld } from '../../support/signal-world.ts';
import { type StreamTransmitter, streamTransmitter } from '../../support/stream-transmitter.ts';
import { type Run, tokenctl } from './program.ts';

const PROGRAM = join(import.meta.dirname, '../../../bin/tokenctl.js');
const program = receiverProgram();
let stream: StreamTransmitter;
let world: SignalWorld;
beforeAll(async () => {
  stream = streamTransmitter();
  world = await signalWorld({
    program,
    serve: stream.serve,
    more: '  usersPerHour: 100',
    delivery: (url) =>
      `      audience: https://tokenctl.example.com
      poll: { url: "${url}/poll", token: { file: management.token } }
      management: { token: { file: management.token } }`,
  });
  stream.use(world.transmitter);
  const text = await readFile(world.config, 'utf8');
  await writeFile(
    world.config,
    `${text}jobs:\n  poll: { job: signals-poll, dryRun: false }\n  look: { job: signals-poll }\n`,
  );
});
afterAll(() => world[Symbol.asyncDispose]());

const run = (...args: readonly string[]): Promise<Run> =>
  tokenctl([...args, '--config', world.config], {
    env: { HOME: world.folder, XDG_STATE_HOME: join(world.folder, 'state') },
  });
const json = (result: Run) => JSON.parse(result.stdout) as Record<string, never>;
const email = (address: string) => ({ format: 'email', email: address });
const signal = async (jti: string) => (await world.signals()).find((each) => each.jti === jti);

async function add(jti: string, subject: unknown, uri: string = EVENTS.sessionRevoked): Promise<void> {
  stream.add(jti, await world.transmitter.event(uri, subject, { jti }));
}

test('a stream is planned, created, verified, and found again', async () => {
  stream.defaultSubjects = 'NONE';
  const plan = await run('signals', 'connect', world.transmitter.issuer, '--dry-run');
  stream.defaultSubjects = 'ALL';
  expect([plan.code, stream.created]).toEqual([0, []]);
  expect(plan.stdout).toContain('Would create a stream');
  expect(plan.stdout).toContain('only sends events about users that are added to the stream');
  const refused = await run('signals', 'connect', world.transmitter.issuer);
  expect([refused.code, stream.created]).toEqual([2, []]);
  const created = await run(
    'signals',
    'connect',
    world.transmitter.issuer,
    '--yes',
    '--json',
    '--reason',
    'r-1',
  );
  expect(created.code).toBe(0);
  expect(json(created)).toMatchObject({ transmitter: 'idp', stream: 's-1', created: true, verified: true });
  expect(json(created)['withheld']).toHaveLength(requestedEvents.length - 1);
  expect(stream.created).toHaveLength(1);
  const again = await run('signals', 'connect', `${world.transmitter.issuer}/`, '--json');
  expect(json(again)).toMatchObject({ created: false, verified: true });
  expect(stream.created).toHaveLength(1);
  const notes = (await world.auditLog()).filter(({ operation }) => operation === 'signals.connect');
  expect(notes.map(({ data }) => data)).toMatchObject([
    { begins: true, reason: 'r-1' },
    { stream: 's-1', reason: 'r-1' },
  ]);
});

test('a verification event that does not arrive is a failure', async () => {
  stream.verifies = false;
  const result = await run('signals', 'connect', world.transmitter.issuer, '--wait', '1');
  stream.verifies = true;
  expect(result.code).toBe(5);
  expect(result.stderr).toContain('No verification event from idp arrived');
});

test('a stream for another audience is said to be, and is not asked to verify', async () => {
  const text = await readFile(world.config, 'utf8');
  await writeFile(
    world.config,
    text.replace('audience: https://tokenctl.example.com\n      poll', 'audience: other\n      poll'),
  );
  const result = await run('signals', 'connect', world.transmitter.issuer);
  await writeFile(world.config, text);
  expect(result.code).toBe(5);
  expect(result.stdout).toContain('audience: https://tokenctl.example.com');
});

test('an issuer that is not configured, or not there, is explained', async () => {
  const foreign = streamTransmitter();
  const { startTransmitter } = await import('@tokenctl/testing/transmitter.ts');
  const other = await startTransmitter(foreign.serve);
  const unknown = await run('signals', 'connect', other.issuer);
  await other.close();
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain(`jwks: ${other.issuer}/jwks`);
  const gone = await run('signals', 'connect', other.issuer);
  expect(gone.code).toBe(7);
  const typo = await run('signals', 'connect', 'idp');
  expect([typo.code, typo.stderr]).toEqual([2, expect.stringContaining('"idp" is not an address')]);
  const name = await run('signals', 'disconnect', 'ipd', '--yes');
  expect([name.code, name.stderr]).toEqual([2, expect.stringContaining('Did you mean "idp"?')]);
});

test('polled events are recorded, acknowledged and carried out, and refused ones are reported', async () => {
  const member = await world.member('polled');
  await add('poll-1', email('polled@example.org'));
  const forged = (
    await world.transmitter.event(EVENTS.sessionRevoked, email('x@example.org'), { jti: 'poll-2' })
  ).slice(0, -6);
  stream.add('poll-2', `${forged}AAAAAA`);
  await add('poll-3', email('no address'));
  // The id of one event with the token of another.
  stream.add(
    'poll-4',
    await world.transmitter.event(EVENTS.sessionRevoked, email('x@example.org'), { jti: 'poll-5' }),
  );
  const look = await run('jobs', 'run', 'look');
  expect([look.code, stream.waiting()]).toEqual([0, ['poll-1', 'poll-2', 'poll-3', 'poll-4']]);
  expect(await signal('poll-1')).toBeUndefined();
  const result = await run('jobs', 'run', 'poll');
  expect(result.code).toBe(0);
  expect(stream.waiting()).toEqual([]);
  expect(stream.reported.ack).toContain('poll-1');
  expect(stream.reported.setErrs).toMatchObject({
    'poll-2': { err: 'invalid_key' },
    'poll-3': { err: 'invalid_request' },
    'poll-4': { err: 'invalid_request' },
  });
  expect(await signal('poll-1')).toMatchObject({ state: 'done', route: 'poll', users: ['polled'] });
  expect(await world.accepts(member.token)).toBe(false);
  // Sent again, as by a transmitter that did not get the acknowledgement.
  const later = await world.newToken(member);
  await add('poll-1', email('polled@example.org'));
  expect((await run('jobs', 'run', 'poll')).code).toBe(0);
  expect(stream.waiting()).toEqual([]);
  expect(await world.accepts(later)).toBe(true);
});

test('what cannot be verified or recorded now is left to be sent again', async () => {
  await add('later-1', email('nobody@example.org'));
  stream.pollStatus = 503;
  const down = await run('jobs', 'run', 'poll');
  stream.pollStatus = 200;
  expect(down.code).not.toBe(0);
  world.transmitter.answerKeysWith(503);
  const keyless = await run('jobs', 'run', 'poll');
  world.transmitter.answerKeysWith(200);
  expect(keyless.code).not.toBe(0);
  expect(stream.waiting()).toEqual(['later-1']);
  expect((await run('jobs', 'run', 'poll')).code).toBe(0);
  expect(await signal('later-1')).toMatchObject({ state: 'ignored' });
});

test('a person decides about held events', async () => {
  const local = await world.member('local-held', { local: true });
  const other = await world.member('not-held');
  await add('held-1', email('local-held@example.org'));
  await add('held-2', email('local-held@example.org'), EVENTS.accountDisabled);
  await run('jobs', 'run', 'poll');
  const listed = await run('signals', 'list', '--state', 'held', '--json');
  const held = JSON.parse(listed.stdout) as { id: string; jti: string }[];
  expect(held.map(({ jti }) => jti).sort()).toEqual(['held-1', 'held-2']);
  const idOf = (jti: string) => held.find((each) => each.jti === jti)?.id.slice(0, 12) ?? '';
  expect((await run('signals', 'release', idOf('held-1'), '--dry-run')).stdout).toContain(
    'revoke for local-held',
  );
  expect((await run('signals', 'release', idOf('held-1'))).code).toBe(2);
  expect(await signal('held-1')).toMatchObject({ state: 'held' });
  expect((await run('signals', 'release', 'ffffffffffff', '--yes')).code).toBe(2);
  const released = await run('signals', 'release', idOf('held-1'), '--yes', '--reason', 'asked HR', '--json');
  expect([released.code, json(released)]).toEqual([0, expect.objectContaining({ decision: 'released' })]);
  const dismissed = await run('signals', 'dismiss', idOf('held-2'), '--yes');
  expect(dismissed.code).toBe(0);
  expect((await run('signals', 'dismiss', idOf('held-2'), '--yes')).code).toBe(2);
  await run('jobs', 'run', 'poll');
  expect(await signal('held-1')).toMatchObject({ state: 'done', users: ['local-held'] });
  expect(await signal('held-2')).toMatchObject({ state: 'dismissed', users: ['local-held'] });
  expect([await world.accepts(local.token), await world.accepts(other.token)]).toEqual([false, true]);
  const decisions = (await world.auditLog()).filter(({ operation }) =>
    String(operation).startsWith('signals.'),
  );
  expect(decisions.map(({ operation }) => operation)).toEqual(
    expect.arrayContaining(['signals.release', 'signals.dismiss']),
  );
});

test('the status says what waits, and whether the stream delivers', async () => {
  const well = await run('signals', 'status', '--json');
  expect(well.code).toBe(0);
  expect(json(well)['transmitters']).toMatchObject([{ name: 'idp', stream: 'enabled', problem: null }]);
  stream.state = 'paused';
  const paused = await run('signals', 'status');
  stream.state = 'enabled';
  expect([paused.code, paused.stdout]).toEqual([3, expect.stringContaining('paused')]);
});

const activate = '/usr/bin/systemd-socket-activate';
test.skipIf(!existsSync(activate))(
  'the receiver takes the port that systemd opened, and leaves it on SIGTERM',
  { tags: ['long'] },
  async () => {
    const port = await freePort();
    const child = spawn(
      activate,
      ['-l', `127.0.0.1:${port}`, process.execPath, PROGRAM, 'signals', 'serve', '--config', world.config],
      {
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: world.folder,
          XDG_STATE_HOME: join(world.folder, 'state'),
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stderr.on('data', (data: Buffer) => {
      said += String(data);
    });
    // The first request starts the program, and waits for it.
    await until(async () => said.includes('Listening on'));
    const health = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect([health.status, await health.json()]).toEqual([200, { ready: true }]);
    await until(async () => said.includes(`at http://127.0.0.1:${port}`));
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect((await exited)[0]).toBe(0);
  },
);

test('a stream is deleted once, and no secret is printed or recorded', async () => {
  expect((await run('signals', 'disconnect', 'idp', '--dry-run')).stdout).toContain(
    'Would delete the stream s-1',
  );
  expect(stream.deleted).toBe(0);
  expect((await run('signals', 'disconnect', 'idp', '--yes')).code).toBe(0);
  const again = await run('signals', 'disconnect', 'idp', '--yes', '--json');
  expect(json(again)).toMatchObject({ stream: null, deleted: false });
  expect(stream.deleted).toBe(1);
  const recorded = await readFile(join(world.folder, 'audit.jsonl'), 'utf8');
  for (const secret of ['the-token-of-the-stream', 'the-token-of-the-client'])
    expect(recorded).not.toContain(secret);
});
