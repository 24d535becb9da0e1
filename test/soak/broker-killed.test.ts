import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret } from '@tokenctl/common/secret.ts';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseEnd } from '../../jobs/lease-end.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { isOpen } from '../../src/domain/leases.ts';
import { readLeases } from '../../src/operations/journal/recorded-leases.ts';
import { machineClock } from '../../src/operations/ports/clock.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { type BrokerWorld, brokerWorld, exchange } from '../support/broker-world.ts';
import { openTestTarget } from '../support/test-target.ts';
import { unusedFiles, unusedServices } from '../support/unused-files.ts';

const KILLS = 100;
const PIPELINES = 6;

let world: BrokerWorld;
beforeAll(async () => {
  world = await brokerWorld({ live: 10_000 });
});
afterAll(() => world[Symbol.asyncDispose]());

/** What pipelines came to while their broker was killed: the tokens that they got, and the identities that got no answer. */
async function untilKilled(broker: {
  url: string;
  process: { kill(signal: 'SIGKILL'): void; ended: Promise<unknown> };
}) {
  const got: string[] = [];
  const lost: string[] = [];
  let isOver = false;
  const pipeline = async (_: unknown, index: number) => {
    while (!isOver) {
      const isReport = index % 3 === 0;
      const identity = await world.identity(isReport ? { repository: 'acme/report' } : {});
      const answer = await exchange(broker.url, identity).catch(() => null);
      if (answer === null) lost.push(identity);
      else if (answer.status === 200) {
        got.push(answer.token);
        const given = fetch(`${broker.url}/revoke`, {
          method: 'POST',
          body: new URLSearchParams({ token: answer.token }),
        });
        if (isReport) await given.catch(() => null);
        else given.catch(() => null);
      }
    }
  };
  const pipelines = Array.from({ length: PIPELINES }, pipeline);
  await pause(Math.random() * 1000);
  broker.process.kill('SIGKILL');
  isOver = true;
  await Promise.all([...pipelines, broker.process.ended]);
  return { got, lost };
}

/** The leases in the descriptions of the tokens that are there. */
async function leasesOfTokens(): Promise<readonly string[]> {
  return (await world.living()).map((text) => /\((lease-[0-9a-f]+)\)$/.exec(text)?.[1] ?? text);
}

test(`a broker that is killed ${KILLS} times leaves no token without a lease, and gives no identity two`, async () => {
  const log = openFileLog({ path: join(world.folder, 'state/tokenctl/audit.jsonl'), clock: machineClock });
  const seen = { got: 0, lost: 0, again: 0, used: 0 };
  let lost: readonly string[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    const broker = await world.serve();
    for (const identity of lost) {
      const { status, answer } = await exchange(broker.url, identity);
      if (status === 200) seen.again += 1;
      else if (answer['error_description'] === 'This identity was used before') seen.used += 1;
      else expect([429, 503]).toContain(status);
    }
    const ended = await untilKilled(broker);
    lost = ended.lost;
    seen.got += ended.got.length;
    seen.lost += lost.length;
    const known = new Set<string>();
    const identities = new Map<unknown, number>();
    for await (const { kind, data } of log.entries(1, { operations: ['tokens.create'] })) {
      const { id, origin } = Object(data['lease']);
      if (kind !== 'intent') continue;
      known.add(id);
      identities.set(origin.claims.jti, (identities.get(origin.claims.jti) ?? 0) + 1);
    }
    expect((await leasesOfTokens()).filter((lease) => !known.has(lease))).toEqual([]);
    expect([...identities.values()].filter((count) => count > 1)).toEqual([]);
  }
  process.stdout.write(`  ${JSON.stringify(seen)}\n`);
  expect([seen.got > 0, seen.used > 0]).toEqual([true, true]);
  const credential = {
    kind: 'password',
    username: ADMIN.username,
    password: new Secret(ADMIN.password),
  } as const;
  const rest = openTestTarget(world.service.url, { credential, context: 'rest' });
  const database = await openDatabaseTarget({ context: 'db', connection: world.databaseUrl });
  const later = new Date(Date.now() + 7_200_000);
  for (const target of [rest, database]) {
    const description = await target.describe();
    const ends = {
      ...{ target, description, log, clock: { now: () => later }, actor: { user: 'root', as: 'admin' } },
      ...{ files: unusedFiles, services: unusedServices, due: later, dryRun: false },
      signal: new AbortController().signal,
    };
    await leaseEnd.run(ends, {});
    expect(
      (await readLeases(log, description)).filter(
        (lease) => isOpen(lease) && lease.target['address'] === description.address,
      ),
    ).toEqual([]);
    await target.close();
  }
  expect(await world.living()).toEqual([]);
}, 3_600_000);
