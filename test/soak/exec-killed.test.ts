import net from 'node:net';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseEnd } from '../../jobs/lease-end.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { isOpen } from '../../src/domain/leases.ts';
import { readLeases } from '../../src/operations/journal/recorded-leases.ts';
import { machineClock } from '../../src/operations/ports/clock.ts';
import { estate, homeFor } from '../process/cli/estate.ts';
import { all } from '../support/test-database.ts';
import { openTestTarget } from '../support/test-target.ts';
import { unusedFiles, unusedServices } from '../support/unused-files.ts';

const KILLS = 200;
/** More messages than one run of exec sends and gets. */
const MESSAGES = 40;

const { url } = estate({ users: 1, tokens: 5 });

/** Called for each message on the way to the service and back. */
let onMessage: () => void = () => undefined;
const way = net.createServer((socket) => {
  const { hostname, port } = new URL(url());
  const behind = net.connect(Number(port), hostname);
  for (const [from, to] of [
    [socket, behind],
    [behind, socket],
  ] as const) {
    from.on('data', (data: Buffer) => {
      to.write(data);
      onMessage();
    });
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
  }
});
beforeAll(() => new Promise<void>((done) => way.listen(0, '127.0.0.1', done)));
afterAll(() => void way.close());

test('exec, killed at random 200 times, leaves no token without an end', async () => {
  const address = `http://127.0.0.1:${(way.address() as net.AddressInfo).port}`;
  const { start, folder } = homeFor(address);
  const credential = {
    kind: 'password',
    username: ADMIN.username,
    password: new Secret(ADMIN.password),
  } as const;
  const target = openTestTarget(address, { credential });
  const description = await target.describe();
  const before = await all(target.tokens({ all: true }));
  let killed = 0;
  for (let run = 0; run < KILLS; run += 1) {
    let left = 1 + Math.floor(Math.random() * MESSAGES);
    const running = start(['exec', '--for', '1m', '--', 'true']);
    onMessage = () => {
      left -= 1;
      if (left === 0) running.kill('SIGKILL');
    };
    const { code } = await running.ended;
    onMessage = () => undefined;
    killed += Number(code === null);
  }
  const log = openFileLog({ path: join(folder, '.local/state/tokenctl/audit.jsonl'), clock: machineClock });
  const open = async () => (await readLeases(log, description)).filter(isOpen);
  const alive = async () => (await all(target.tokens({ all: true }))).length - before.length;
  const [leases, tokens] = [(await open()).length, await alive()];
  expect([killed > KILLS / 4, tokens > 0, leases >= tokens]).toEqual([true, true, true]);
  const later = new Date(Date.now() + 3_600_000);
  const ends = {
    ...{ target, description, log, clock: { now: () => later }, actor: { user: 'root', as: 'admin' } },
    ...{ files: unusedFiles, services: unusedServices, due: later, dryRun: false },
    signal: new AbortController().signal,
  };
  await leaseEnd.run(ends, {});
  expect([await open(), await all(target.tokens({ all: true }))]).toEqual([[], before]);
  await target.close();
});
