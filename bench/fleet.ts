// A command over fifty controllers against the same over one of them, which does no less than the slowest, and against nothing
// but the same pages, read by bare undici from all of them at once. On few processors the second ratio is what the toolkit
// costs: reading a million tokens takes its time, however many controllers have them. Most of the memory for fifty
// controllers is garbage that V8 has not collected yet.
// Run: npm run build && node bench/fleet.ts [--controllers N] [--tokens N] [--rounds N]
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import type { FleetOptions } from './support/bare-fleet.ts';
import { judge, perTurn, sized } from './support/ratio.ts';
import { runProgram } from './support/tokenctl-process.ts';

const { values } = parseArgs({
  options: {
    controllers: { type: 'string', default: String(sized(50, 4)) },
    tokens: { type: 'string', default: String(sized(20_000, 500)) },
    rounds: { type: 'string', default: String(sized(5, 1)) },
  },
});
const [controllers, tokens, rounds] = [values.controllers, values.tokens, values.rounds].map(Number) as [
  number,
  number,
  number,
];
const PAGE = 200;
const home = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));

/** Starts the controllers, each with the same tokens, 20 ms away. */
async function startFleet(): Promise<{ readonly urls: readonly string[]; stop(): Promise<number> }> {
  const workerData: FleetOptions = { controllers, tokens, ofAlice: 20, delay: 20 };
  const worker = new Worker(new URL('./support/bare-fleet.ts', import.meta.url), { workerData });
  const [urls] = (await once(worker, 'message')) as [readonly string[]];
  return { urls, stop: () => worker.terminate() };
}

function configure(urls: readonly string[]): void {
  mkdirSync(join(home, '.config/tokenctl'), { recursive: true });
  const token = join(home, 'token');
  writeFileSync(token, 'a-token-that-nobody-checks', { mode: 0o600 });
  const contexts = urls.map((url, index) => `  c${index}: { url: "${url}", token: { file: "${token}" } }\n`);
  writeFileSync(join(home, '.config/tokenctl/tokenctl.yaml'), `contexts:\n${contexts.join('')}`);
}

/** The pages of these lists of all controllers, one after the other of each controller, as JSON. */
async function barePages(urls: readonly string[], lists: readonly string[]): Promise<number> {
  const started = performance.now();
  const ofOne = async (url: string) => {
    const pool = new Pool(url, { connections: 10 });
    let count = 0;
    for (const list of lists) {
      for (let after = 0; after < tokens; after += PAGE) {
        const path = `/api/v2/tokens/?${list}id__gt=${after}&order_by=id&page_size=${PAGE}&count_disabled=1`;
        const { body } = await pool.request({ method: 'GET', path });
        count += ((await body.json()) as { results: unknown[] }).results.length;
      }
    }
    await pool.close();
    if (count !== tokens * lists.length) throw new Error(`${url} listed ${count} tokens`);
  };
  await Promise.all(urls.map(ofOne));
  return performance.now() - started;
}

/** A controller's JSON does not show when a token was last used: an audit asks for the unused ones, here all, in a list of its own. */
const UNUSED = 'or__last_used__lt=2026-01-01&or__last_used__isnull=true&';

const COMMANDS = [
  { name: 'tokens list --count-by', args: ['tokens', 'list', '--count-by', 'user'], lists: [''] },
  { name: 'tokens audit --summary', args: ['tokens', 'audit', '--summary'], lists: [UNUSED, ''] },
  {
    name: 'tokens revoke --user (dry run)',
    args: ['tokens', 'revoke', '--user', 'alice', '--dry-run'],
    lists: [],
  },
  { name: 'incident status', args: ['incident', 'status'], lists: [] },
];

const fleet = await startFleet();
configure(fleet.urls);
const run = (args: readonly string[]) => runProgram(args, { HOME: home });
await run(['tokens', 'list', '--context', 'c0', '--count-by', 'user']);
for (const { name, args, lists } of COMMANDS) {
  const [one, all, bare, memory]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let round = 0; round < rounds; round += 1) {
    const alone = await run([...args, '--context', 'c0']);
    const together = await run([...args, '--all-contexts']);
    one.push(alone.whole);
    all.push(together.whole);
    memory.push(together.memory / alone.memory);
    if (lists.length > 0) bare.push(await barePages(fleet.urls, lists));
  }
  judge(`${name}, ${controllers} controllers / one alone`, perTurn(all, one), { atMost: 1.3 });
  if (lists.length === 0) continue;
  judge(`${name}, ${controllers} controllers / the same pages by bare undici`, perTurn(all, bare), {
    atMost: 1.3,
  });
  judge(`${name}, memory for ${controllers} controllers / for one`, memory, { atMost: 2 });
}
await fleet.stop();
rmSync(home, { recursive: true });
