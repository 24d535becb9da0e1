// Tokens revoked a second over REST, with everything that belongs to it (intents and outcomes on stable
// storage, reading again afterwards), against nothing but the same deletes, pipelined by bare undici, in the
// same run and turn by turn: on the service, and on controllers that do nothing but answer, where what the
// tool itself costs cannot hide behind the server.
// Run: node bench/rest-revoke.ts
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Secret } from '@tokenctl/common/secret.ts';
import { Pool } from 'undici';
import { openFileLog } from '../src/audit-log/file-log.ts';
import { planRevocation } from '../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../src/operations/revocation/revoke-tokens.ts';
import { openControllerApi } from '../src/targets/controller-api/controller-api.ts';
import { judge, median, sized } from './support/ratio.ts';

const PASSWORD = 'bench';
const AUTHORIZATION = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
const ROUNDS = sized(7, 1);
const folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));

async function start(file: string, data: object): Promise<{ url: string; stop: () => Promise<number> }> {
  const worker = new Worker(new URL(`./support/${file}`, import.meta.url), { workerData: data });
  const url = await new Promise<string>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  return { url, stop: () => worker.terminate() };
}

/** Deletes by bare undici, as fast as it can, on as many connections as the tool uses. */
async function bareDeletes(url: string, ids: readonly number[]): Promise<void> {
  const pool = new Pool(url, { connections: 10, pipelining: 10 });
  const waiting = ids.values();
  const work = async () => {
    for (const id of waiting) {
      const { statusCode, body } = await pool.request({
        method: 'DELETE',
        path: `/api/v2/tokens/${id}/`,
        headers: { authorization: AUTHORIZATION },
        idempotent: true,
        blocking: false,
      });
      await body.dump();
      if (statusCode !== 204) throw new Error(`a delete was answered with ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: 100 }, work));
  await pool.close();
}

const clock = { now: () => new Date() };

/** The operation itself, after the plan: intents, deletes, outcomes, verification. */
async function prepareRevocation(url: string, ids: readonly number[]): Promise<() => Promise<void>> {
  const credential = { kind: 'password', username: 'admin', password: new Secret(PASSWORD) } as const;
  const target = openControllerApi({ context: 'bench', address: url, credential, verifyTls: true });
  const plan = await planRevocation({ target, selector: { ids }, clock });
  const description = await target.describe();
  const log = openFileLog({ path: join(folder, 'audit.jsonl'), clock });
  return async () => {
    const report = await revokeTokens({ target, description, plan, log, clock, actor: { user: 'bench' } });
    if (report.revoked !== ids.length || !report.verified)
      throw new Error('not all was revoked and verified');
    await Promise.all([target.close(), log.close()]);
  };
}

async function timed(run: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

async function compare(name: string, url: string, share: number): Promise<number[]> {
  const ratios: number[] = [];
  const speeds: number[] = [];
  let next = 1;
  const some = () => Array.from({ length: share }, () => next++);
  for (let round = 0; round < ROUNDS; round++) {
    const revoke = await prepareRevocation(url, some());
    const ids = some();
    const toolFirst = round % 2 === 0;
    const early = toolFirst ? await timed(revoke) : undefined;
    const bare = await timed(() => bareDeletes(url, ids));
    const tool = early ?? (await timed(revoke));
    ratios.push(bare / tool);
    speeds.push((share / tool) * 1000);
  }
  console.log(`${name}: ${median(speeds).toFixed(0)} tokens/s, ${ROUNDS} rounds of ${share}`);
  return ratios;
}

const cases = [
  { name: 'the service, embedded database', file: 'sample-service.ts', share: 500, delay: 0 },
  { name: 'a bare controller that takes 5 ms', file: 'bare-controller.ts', share: 2000, delay: 5 },
];
for (const { name, file, share, delay } of cases) {
  const controller = await start(file, { tokens: share * 2 * ROUNDS, delay, password: PASSWORD });
  const ratio = await compare(name, controller.url, share);
  judge(`revoked a second / bare deletes, ${name}`, ratio, { atLeast: 0.8 });
  await controller.stop();
}
// No controller answers in no time; this one shows what the tool itself costs, and has no goal.
const controller = await start('bare-controller.ts', { tokens: 4000 * ROUNDS, delay: 0, password: PASSWORD });
const ratio = await compare('a bare controller that answers at once', controller.url, 2000);
console.log(
  `revoked a second / bare deletes, a bare controller that answers at once: ${median(ratio).toFixed(2)}`,
);
await controller.stop();
rmSync(folder, { recursive: true });
