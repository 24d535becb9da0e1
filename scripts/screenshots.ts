// Takes pictures of the web interface, light and dark, into service/docs/screenshots: of a real service with a sample estate.
// Run: npm run build && node scripts/screenshots.ts. It needs Chromium (CHROMIUM names it).
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startChromium } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Page } from 'playwright-core';
import { startDemoService } from '../src/app/service/demo-service.ts';

const folder = fileURLToPath(new URL('../service/docs/screenshots', import.meta.url));

/** The pages, with a text that is there once the page is complete. `FAILED` is the last failed job. */
const PAGES = [
  ['dashboard', '/', 'All activity'],
  ['tokens', '/tokens?expires__gt=2100-01-01', 'Last 24 hours'],
  ['job-template', '/templates/3', 'Deploy web application'],
  ['settings', '/settings/authentication', 'Idle session timeout'],
  ['activity', '/activity', 'Created'],
  ['job-output', '/jobs/FAILED', 'PLAY RECAP'],
] as const;

const chromium = findChromium();
if (chromium === null) throw new Error('There is no Chromium: CHROMIUM names one');
mkdirSync(folder, { recursive: true });
const demo = await startDemoService('0.0.0', process.env);
const browser = await startChromium(chromium);

/** Logs in, with a picture of the login page. */
async function logIn(page: Page, scheme: string): Promise<void> {
  await page.goto(demo.service.url);
  await page.getByLabel('Username').fill('admin');
  await page.screenshot({ path: `${folder}/login-${scheme}.png` });
  await page.getByLabel('Password').fill(demo.adminPassword.reveal());
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
}

const authorization = `Basic ${Buffer.from(`admin:${demo.adminPassword.reveal()}`).toString('base64')}`;

/** The jobs that a filter selects, the last ones first. */
async function jobs(filter: string): Promise<readonly { readonly id: number }[]> {
  const path = `/api/v2/jobs/?order_by=-id&${filter}`;
  const answer = await fetch(`${demo.service.url}${path}`, { headers: { authorization } });
  return ((await answer.json()) as { readonly results: readonly { readonly id: number }[] }).results;
}

/** Something for the activity stream: changes that an administrator makes. */
async function changeSomething(): Promise<void> {
  const send = (path: string, body: object) =>
    fetch(`${demo.service.url}/api/v2/${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await send('organizations/', { name: 'Networking' });
  await send('users/', { username: 'night-shift', password: 'a-long-password' });
  await send('organizations/1/users/', { id: 2 });
  await send('tokens/', { scope: 'read', description: 'Monitoring of the night shift' });
}

try {
  await changeSomething();
  const [failed] = await jobs('status=failed&name=Deploy+web+application');
  // The job that runs for real, where Ansible is there.
  while ((await jobs('status__in=pending,running')).length > 0) await sleep(500);
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 760 }, colorScheme });
    const page = await context.newPage();
    await logIn(page, colorScheme);
    for (const [name, path, text] of PAGES) {
      // The dashboard up to its graph.
      await page.setViewportSize({ width: 1200, height: name === 'dashboard' ? 890 : 760 });
      await page.goto(`${demo.service.url}${path.replace('FAILED', String(failed?.id))}`);
      await page.getByText(text).first().waitFor();
      await page.waitForLoadState('networkidle');
      await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png` });
    }
    await context.close();
  }
} finally {
  await browser.close();
  await demo.close();
}
