// How long the first view of the web interface's dashboard takes over loopback, with a session and an empty cache, as a
// multiple of a static page of PatternFly in the same run. That page (support/static-page) is a React application as
// well, with the frame and the cards of the dashboard, built by the same Vite, but with fixed contents and no request.
// For comparison, the same page without any script is measured too: its HTML as React rendered it, with its styles.
//
// The view is interactive when its heading and every number were painted and the last long task (over 50 ms, of scripts,
// styles or layout) has ended, with no other in the 500 ms that follow. Then a link of the navigation has to work.
// Run: npm run build && node bench/web-first-view.ts. It needs Chromium (CHROMIUM names it).
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import { startChromium } from '@tokenctl/testing/chromium.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { bundleWeb } from '../scripts/build-web.ts';
import { judge, median, perTurn, sized } from './support/ratio.ts';
import { start } from './support/requests.ts';

const ROUNDS = sized(15, 1);
const QUIET_MS = 500;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

const chromium = findChromium();
if (chromium === null) throw new Error('There is no Chromium: CHROMIUM names one');
const built = mkdtempSync(join(tmpdir(), 'tokenctl-first-view-'));
const postgres = await startPostgres();
const DATABASE_URL = await createDatabase(postgres.url);
const service = await start('service-process.ts', { DATABASE_URL });
/** The files of the static page by their addresses, compressed. */
const files = new Map<string, Buffer>();
const server = createServer((request, response) => {
  const path = request.url === '/' ? '/index.html' : (request.url ?? '');
  const content = files.get(path);
  const headers = { 'Content-Type': TYPES[extname(path)], 'Content-Encoding': 'br' };
  if (content === undefined) response.writeHead(404).end();
  else response.writeHead(200, headers).end(content);
});
const browser = await startChromium(chromium);
try {
  await Promise.all([
    bundleWeb(fileURLToPath(new URL('./support/static-page', import.meta.url)), built),
    new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)),
    fillDatabase(),
  ]);
  for (const entry of readdirSync(built, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) add(path.slice(built.length), readFileSync(path));
  }
  await compare(browser, {
    url: service.url,
    reference: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
} finally {
  await browser.close();
  server.close();
  service.child.kill('SIGKILL');
  await postgres.stop();
  rmSync(built, { recursive: true });
}

function add(path: string, content: string | Buffer): void {
  files.set(path, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
}

/** Measures the dashboard and the static page in turn, round after round. */
async function compare(browser: Browser, { url, reference }: { url: string; reference: string }) {
  const session = await logIn(browser, url);
  const times = { dashboard: [] as number[], react: [] as number[], html: [] as number[] };
  for (let round = 0; round <= ROUNDS; round++) {
    const dashboard = await view(browser, url, { session, check: followLink });
    const react = await view(browser, `${reference}/`, round === 0 ? { check: keepAsHtml } : {});
    const html = await view(browser, `${reference}/static.html`);
    // The first round warms everything up.
    if (round === 0) continue;
    times.dashboard.push(dashboard);
    times.react.push(react);
    times.html.push(html);
  }
  const { dashboard, react, html } = times;
  console.log(`the dashboard is interactive after ${median(dashboard).toFixed(0)} ms`);
  console.log(
    `a static PatternFly page: ${median(react).toFixed(0)} ms; as HTML without a script: ${median(html).toFixed(0)} ms`,
  );
  console.log(`dashboard / static HTML page: ${median(perTurn(dashboard, html)).toFixed(2)} (no goal)`);
  judge('dashboard / static PatternFly page', perTurn(dashboard, react), { atMost: 1.5 });
}

type Session = Awaited<ReturnType<BrowserContext['storageState']>>;

async function logIn(browser: Browser, url: string): Promise<Session> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.getByLabel('Username').fill('admin');
  await page.getByLabel('Password').fill('bench');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** Opens a page in a new context, whose caches are empty. Returns the milliseconds until it is interactive. */
async function view(
  browser: Browser,
  url: string,
  { session, check }: { session?: Session; check?: (page: Page) => Promise<void> } = {},
): Promise<number> {
  const context = await browser.newContext({
    viewport: { width: 1300, height: 900 },
    ...(session !== undefined && { storageState: session }),
  });
  const page = await context.newPage();
  await page.addInitScript(`(${observe.toString()})(${QUIET_MS})`);
  await page.goto(url, { waitUntil: 'commit' });
  const time = await page.evaluate(
    () => (globalThis as unknown as { interactive: Promise<number> }).interactive,
  );
  await check?.(page);
  await context.close();
  return time;
}

/** Runs in the page before anything else: promises the time, since the navigation began, when it is interactive. */
function observe(quiet: number): void {
  const page = globalThis as unknown as {
    interactive: Promise<number>;
    document: {
      querySelector(selector: string): unknown;
      querySelectorAll(selector: string): Iterable<{ textContent: string }>;
    };
    PerformanceObserver: new (
      on: (list: { getEntries(): { startTime: number; duration: number }[] }) => void,
    ) => { observe(what: object): void };
    requestAnimationFrame(on: () => void): void;
  };
  const { document } = page;
  let busyUntil = 0;
  new page.PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      busyUntil = Math.max(busyUntil, startTime + duration);
  }).observe({ type: 'longtask', buffered: true });
  const isComplete = () =>
    document.querySelector('h1') !== null &&
    document.querySelector('.dashboard-events > li') !== null &&
    document.querySelector('.pf-v6-c-skeleton, .pf-v6-c-spinner') === null &&
    [...document.querySelectorAll('dd')].every(({ textContent }) => textContent !== '…');
  page.interactive = new Promise((resolve) => {
    const afterQuiet = (complete: number) => {
      const end = Math.max(complete, busyUntil);
      if (performance.now() - end > quiet) resolve(end);
      else setTimeout(afterQuiet, 50, complete);
    };
    // Before each frame; what it finds complete is painted when the next task begins.
    const look = () => {
      if (isComplete()) setTimeout(() => afterQuiet(performance.now()));
      else page.requestAnimationFrame(look);
    };
    page.requestAnimationFrame(look);
  });
}

/** A link of the navigation leads to its page. */
async function followLink(page: Page): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: 'Users', exact: true }).click();
  await page.getByRole('heading', { name: 'Users', exact: true }).waitFor();
}

/** Keeps what the static page rendered as a page without its script. */
async function keepAsHtml(page: Page): Promise<void> {
  const rendered = (await page.content())
    .replace(/<script.*?<\/script>/gs, '')
    .replace(/<link rel="modulepreload"[^>]*>/g, '');
  add('/static.html', `<!doctype html>${rendered}`);
}

/** Users and tokens, as an installation has them. */
async function fillDatabase(): Promise<void> {
  const database = await openPostgres({ url: new Secret(DATABASE_URL), applicationName: 'bench' });
  await storeEstate(database, sampleEstate({ users: 300, tokens: 3_000 }, { now: new Date() }));
  await database.execute('VACUUM ANALYZE');
  await database.close();
}
