import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, startTestService } from '@tokenctl/service/testing/service.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Running, startTokenctl, temporaryFolder } from '../process/cli/program.ts';
import { configure } from '../support/drafts.ts';

const KILLS = 100;
/** Several, since what a creation that was cut off made is not known for two minutes: meanwhile the others are rotated. */
const NAMES = Array.from({ length: 12 }, (_, number) => `consumer-${number}`);
const OVERLAP_S = 4;

let service: RunningService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** Consumers with files as stores, and the program on them. */
function world() {
  const folder = temporaryFolder();
  const secret = join(folder, 'admin.password');
  writeFileSync(secret, ADMIN.password, { mode: 0o600 });
  const consumer = `{ every: 1m, lifetime: 1h, overlap: ${OVERLAP_S}s, store: files }`;
  configure(
    folder,
    `currentContext: test
contexts:
  test: { url: "${service.url}", username: admin, password: { file: "${secret}" } }
auditLog: { file: ${folder}/audit.jsonl }
stores:
  files: { kind: file, file: "${folder}/{consumer}.token" }
jobs:
  tokens:
    job: rotation
    dryRun: false
    parameters:
      consumers:
${NAMES.map((name) => `        ${name}: ${consumer}\n`).join('')}  ends: { job: lease-end, dryRun: false }
`,
  );
  const start = (...args: readonly string[]) => startTokenctl(args, { env: { HOME: folder } });
  const size = () => statSync(join(folder, 'audit.jsonl'), { throwIfNoEntry: false })?.size ?? 0;
  return {
    start,
    stored: (name: string) => readFileSync(join(folder, `${name}.token`), 'utf8').trim(),
    rotate: (name: string) => start('tokens', 'rotate', '--consumer', name, '--yes', '--json'),
    /** Returns once the audit log has grown: from then on, it is about the token. */
    async begun() {
      const before = size();
      await until(() => size() > before);
    },
    async leases(): Promise<readonly Lease[]> {
      const { stdout } = await start('tokens', 'leases', '--json').ended;
      return JSON.parse(stdout);
    },
  };
}

type World = ReturnType<typeof world>;

interface Lease {
  readonly state: string;
  readonly token: { readonly id: number } | null;
}

/** The ids of the tokens that the controller accepts whose description begins so. */
async function living(description: string): Promise<readonly number[]> {
  const rows = await service.database.query<{ id: number }>(
    `SELECT id FROM main_oauth2accesstoken WHERE description LIKE $1 AND expires > now()`,
    [`${description} (lease-%`],
  );
  return rows.map(({ id }) => id);
}

/** A client for each consumer that reads its token and calls the API, without a pause. */
function clients({ stored }: World) {
  const over = new AbortController();
  const refused: string[] = [];
  let calls = 0;
  const call = async (name: string) => {
    const token = stored(name);
    const { status } = await fetch(`${service.url}/api/v2/me/`, {
      headers: { authorization: `Bearer ${token}` },
    });
    calls += 1;
    if (status !== 200) refused.push(`${name} got ${status}`);
  };
  const ended = (async () => {
    while (!over.signal.aborted) for (const name of NAMES) await call(name);
  })();
  return {
    refused,
    async stop() {
      over.abort();
      await ended;
      return calls;
    },
  };
}

/** How long a process takes until it records something, and then until its end, in milliseconds. */
async function lengths(at: World, start: () => Running): Promise<readonly [number, number]> {
  const began = performance.now();
  const first = start();
  await at.begun();
  const recorded = performance.now();
  expect((await first.ended).code).toBe(0);
  return [recorded - began, performance.now() - recorded];
}

/** Kills a process at a random moment: as it starts, or after its first record. Resolves once it is gone, with whether it was killed. */
async function kill(
  { begun }: World,
  { process, early, times }: { process: Running; early: boolean; times: readonly [number, number] },
) {
  const [before, whole] = times;
  if (!early) await Promise.race([begun(), process.ended]);
  await pause(Math.random() * (early ? before : whole * 0.8));
  process.kill('SIGKILL');
  return (await process.ended).code === null;
}

/** What became of a rotation that was left alone. */
async function resultOf({ ended }: Running): Promise<string> {
  const { code, stdout, stderr } = await ended;
  if (code === 0) return (JSON.parse(stdout).rotation as { result: string }).result;
  const [why = ''] = /may be in progress until|already has two live tokens/.exec(stdout + stderr) ?? [];
  expect(why, stdout + stderr).not.toBe('');
  return why;
}

function report(facts: object): void {
  process.stdout.write(`  ${JSON.stringify(facts)}\n`);
}

describe(`killed ${KILLS} times`, () => {
  test('rotations leave a token that works, two at most, and no other', async () => {
    const at = world();
    expect((await at.start('jobs', 'run', 'tokens@test').ended).code).toBe(0);
    const client = clients(at);
    const times = await lengths(at, () => at.rotate(NAMES[0] ?? ''));
    const seen: Record<string, number> = {};
    const note = (what: string) => {
      seen[what] = (seen[what] ?? 0) + 1;
    };
    for (let round = 0; (seen['killed'] ?? 0) < KILLS; round += 1) {
      const name = NAMES[round % NAMES.length] ?? '';
      const check = async () => {
        expect((await living(name)).length).toBeLessThanOrEqual(2);
        expect(client.refused).toEqual([]);
      };
      // Every third time, another process rotates the same consumer at once.
      const other = round % 3 === 0 ? at.rotate(name) : null;
      if (await kill(at, { process: at.rotate(name), times, early: round % 4 === 0 })) note('killed');
      await check();
      if (other !== null) note(await resultOf(other));
      note(await resultOf(at.rotate(name)));
      await check();
    }
    report({ ...seen, calls: await client.stop() });
    expect(client.refused).toEqual([]);
    await settle(at, NAMES.length);
    for (const name of NAMES) expect((await living(name)).length, name).toBe(1);
    const alive = (await Promise.all(NAMES.map(living))).flat().toSorted();
    expect((await at.leases()).map(({ token }) => token?.id).toSorted()).toEqual(alive);
  }, 3_600_000);
});

/** Runs the jobs until no more leases than this are left. */
async function settle(at: World, tokens: number): Promise<void> {
  for (;;) {
    if (tokens > 0) await at.start('jobs', 'run', 'tokens@test').ended;
    await at.start('jobs', 'run', 'ends@test').ended;
    const open = await at.leases();
    const isWaiting = open.some(({ state }) => state !== 'open');
    if (!isWaiting && open.length <= tokens) return;
    await pause(2000);
  }
}
