// Takes the pictures of the console in docs: the overview, a lockdown and the ends of a sunset, of a real service with a sample estate.
// Run: npm run build && node scripts/console-screenshots.ts. It needs Chromium (CHROMIUM names it).
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startChromium } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { startDemoService } from '../src/app/service/demo-service.ts';
import type { OperationState } from '../src/console/operations.ts';
import { type TestConsole, testConsole } from '../test/support/console.ts';
import { configure } from '../test/support/drafts.ts';

const folder = fileURLToPath(new URL('../docs', import.meta.url));
const program = fileURLToPath(new URL('../bin/tokenctl.js', import.meta.url));
const chromium = findChromium();
if (chromium === null) throw new Error('There is no Chromium: CHROMIUM names one');
const home = mkdtempSync(join(tmpdir(), 'tokenctl-pictures-'));
const demo = await startDemoService('0.0.0', process.env);
const browser = await startChromium(chromium);

/** Locks a user down for four hours, as the page does it. */
async function lockDown({ send, reached }: TestConsole): Promise<void> {
  const request = { kind: 'incident lockdown', place: 'production', user: ['monitoring'], hours: 4 };
  const measures = { deactivate: true, externalTokensOff: true };
  const account = { reason: 'laptop stolen', ticket: 'SEC-7' };
  const begun = await send('/api/operations', { ...request, ...measures, ...account });
  const { id } = begun.json() as OperationState;
  const { asked } = await reached(id, 'asking');
  await send(`/api/operations/${id}/confirm`, { answer: asked?.type, digest: asked?.digest });
  await reached(id, 'done');
}

try {
  writeFileSync(join(home, 'password'), demo.adminPassword.reveal(), { mode: 0o600 });
  configure(
    home,
    `currentContext: production
contexts:
  production: { url: "${demo.service.url}", username: admin, password: { file: "${home}/password" } }
`,
  );
  const env = { PATH: process.env['PATH'], HOME: home };
  await promisify(execFile)(process.execPath, [program, 'tokens', 'sunset', '--over', '60d', '--yes'], {
    env,
  });
  const opened = await testConsole({ home });
  await lockDown(opened);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(120_000);
  await page.goto(await opened.listen());
  const card = page.getByRole('region', { name: 'production' });
  await card
    .getByText(/^[\d,]+ high$/)
    .first()
    .waitFor();
  await page.locator('.tile', { hasText: 'Open incidents' }).getByRole('link', { name: '1' }).waitFor();
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: join(folder, 'console-overview.png') });
  await page.getByRole('navigation').getByRole('link', { name: 'Incidents', exact: true }).click();
  await page.getByRole('grid', { name: 'Open incidents' }).getByRole('link').click();
  // The page of a case shows the next stage.
  await page.getByRole('link', { name: 'Lockdown', exact: true }).click();
  await page.getByRole('grid', { name: /^Ways in of inc-/ }).waitFor();
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: join(folder, 'console-lockdown.png') });
  await page.getByRole('navigation').getByRole('link', { name: 'Token lifetimes' }).click();
  await page.getByText(/tokens have ended/).waitFor();
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: join(folder, 'console-lifetimes.png') });
  await opened.operations.close();
  await opened.app.close();
} finally {
  await browser.close();
  await demo.close();
  rmSync(home, { recursive: true });
}
