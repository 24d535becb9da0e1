// The list of tokens of the console with 100,000 tokens, in Chromium: how long its first rows take over what the same query
// takes over HTTP from the console, once the tokens are read; the same while they are being read for the first time; and the
// longest task of the page while one scrolls and filters.
// Run: npm run build && node bench/console-tokens.ts. It needs Chromium (CHROMIUM names it).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import { startChromium } from '@tokenctl/testing/chromium.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Page } from 'playwright-core';
import { testConsole } from '../test/support/console.ts';
import { configure } from '../test/support/drafts.ts';
import { judge, median, sized } from './support/ratio.ts';
import { start } from './support/requests.ts';

const sorts = ['user', 'application', 'scope', 'created', 'expires', 'lastUsed', 'id'] as const;
const ROUNDS = sorts.length;
const TOKENS = sized(100_000, 2_000);
const ROW = 'tr[aria-rowindex]';

const chromium = findChromium();
if (chromium === null) throw new Error('There is no Chromium: CHROMIUM names one');
const home = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));
const postgres = await startPostgres();
const DATABASE_URL = await createDatabase(postgres.url);
const service = await start('service-process.ts', { DATABASE_URL });
const browser = await startChromium(chromium);
const database = await openPostgres({ url: new Secret(DATABASE_URL), applicationName: 'bench' });
await storeEstate(database, sampleEstate({ users: 300, tokens: TOKENS }, { now: new Date() }));
await database.execute('VACUUM ANALYZE');
await database.close();
writeFileSync(join(home, 'password'), 'bench', { mode: 0o600 });
configure(
  home,
  `currentContext: bench\ncontexts:\n  bench: { url: "${service.url}", username: admin, password: { file: "${home}/password" } }\n`,
);
const opened = await testConsole({ home });

/** From the address to the first row, in milliseconds. */
async function firstRows(page: Page, path: string): Promise<number> {
  await page.goto('about:blank');
  const began = performance.now();
  await page.goto(new URL(path, origin).href, { waitUntil: 'commit' });
  await page.locator(ROW).first().waitFor();
  return performance.now() - began;
}

/** A query over HTTP, from the console's memory. */
function bareQuery(page: Page, path: string): Promise<number> {
  return page.evaluate(async (url) => {
    const began = performance.now();
    const answer = await fetch(url, {
      headers: { 'X-Console-Key': localStorage.getItem('console-key') ?? '' },
    });
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    await answer.json();
    return performance.now() - began;
  }, path);
}

async function readAgain(page: Page): Promise<void> {
  await page.goto(new URL('/tokens', origin).href);
  await page.getByRole('button', { name: 'Refresh' }).waitFor();
  await page.evaluate(() =>
    fetch('/api/tokens/read-again', {
      method: 'POST',
      body: '{}',
      headers: {
        'X-Console-Key': localStorage.getItem('console-key') ?? '',
        'Content-Type': 'application/json',
      },
    }),
  );
}

/** An event of a trace of Chromium, as far as it is read; times in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  /** The time that the thread worked: other load on the machine is no part of it. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The longest task of the page's thread while something is done, in milliseconds: by the clock, and of work. */
async function longestTask(page: Page, work: () => Promise<void>) {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && threads.has(`${pid} ${tid}`),
  );
  const longest = (of: (event: TraceEvent) => number | undefined) =>
    tasks.reduce((most, event) => Math.max(most, (of(event) ?? 0) / 1000), 0);
  return { clock: longest(({ dur }) => dur), work: longest(({ tdur }) => tdur) };
}

async function settled(page: Page, count: RegExp): Promise<void> {
  await page.locator('p').getByText(count).waitFor();
  await page.waitForLoadState('networkidle');
}

/** Filters by an owner, an application, an expiry, and without a filter again. */
async function filter(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Charts and more filters' }).click();
  for (const path of ['user', 'application', 'expiresSince']) {
    const title = { user: 'Owner', application: 'Application', expiresSince: 'Expiry' }[path] ?? '';
    const bars = page
      .locator('.bars')
      .filter({ has: page.getByRole('heading', { name: `${title} tokens`, exact: true }) });
    await bars.getByRole('button').last().click();
    await page.waitForFunction((name) => location.search.includes(name), path);
    await settled(page, /^[\d,]+ tokens$/);
  }
  await page.getByRole('textbox', { name: /^Owner, application/ }).fill('ci');
  await page.keyboard.press('Enter');
  await settled(page, /^[\d,]+ tokens$/);
}

async function scroll(page: Page): Promise<void> {
  await page.locator('.rows').hover();
  for (let step = 0; step < 60; step += 1) {
    await page.mouse.wheel(0, step % 10 === 9 ? 60_000 : 900);
    await page.waitForTimeout(30);
  }
  await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight));
  await page.locator(`${ROW.replace(']', '')}="${TOKENS + 1}"]`).waitFor();
}

let origin = '';
try {
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  origin = new URL(await openConsole(page)).origin;
  const cold: number[] = [];
  const cached: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round < 3) {
      await readAgain(page);
      cold.push(await firstRows(page, '/tokens'));
      await page
        .locator('p')
        .getByText(`${TOKENS.toLocaleString('en')} tokens`, { exact: true })
        .waitFor({ timeout: 120_000 });
    }
    // Never the same order twice: what is measured is the query, not an answer that is kept.
    bare.push(await bareQuery(page, `/api/tokens?sort=${sorts[round]}&descending=true&limit=100`));
    cached.push(await firstRows(page, `/tokens?sort=${sorts[round]}&descending=false`));
  }
  console.log(`first rows while the tokens are read for the first time: ${median(cold).toFixed(0)} ms`);
  console.log(`first rows of tokens that are read: ${median(cached).toFixed(0)} ms`);
  console.log(`the same query over HTTP: ${median(bare).toFixed(0)} ms`);
  judge(
    'seconds from a cached read to first rows',
    cached.map((time, round) => (time - (bare[round] ?? 0)) / 1000),
    { atMost: 1.5 },
  );
  judge(
    'seconds to first rows of a first reading',
    cold.map((time) => time / 1000),
    { atMost: 3 },
  );
  await firstRows(page, '/tokens');
  for (const [name, work] of [
    ['scrolling', scroll],
    ['filtering', filter],
  ] as const) {
    const longest = await longestTask(page, () => work(page));
    console.log(`longest task while ${name}, by the clock: ${longest.clock.toFixed(0)} ms`);
    judge(`longest task while ${name}, ms of work`, longest.work, { atMost: 200 });
  }
} finally {
  await browser.close();
  await opened.operations.close();
  await opened.app.close();
  service.child.kill('SIGKILL');
  await postgres.stop();
  rmSync(home, { recursive: true });
}

async function openConsole(page: Page): Promise<string> {
  const address = await opened.listen();
  await page.goto(address);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return address;
}
