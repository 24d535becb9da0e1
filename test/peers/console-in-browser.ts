import type { Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { startChromium } from '../browser/chromium.ts';
import { testConsole } from '../support/console.ts';
import type { PeerHome } from './home.ts';

/** A console of a home, and a page of Chromium that opened its address. */
export interface ConsoleInBrowser {
  readonly page: Page;
  /** The errors of the page, and what its Content-Security-Policy refused. */
  readonly problems: readonly string[];
}

/** Opens a console in Chromium at its overview, until the test ends. */
export async function openConsole({
  chromium,
  home,
}: {
  readonly chromium: string;
  readonly home: PeerHome;
}): Promise<ConsoleInBrowser> {
  const opened = await testConsole({ home: home.folder });
  const browser = await startChromium(chromium);
  onTestFinished(async () => {
    await browser.close();
    await opened.operations.close();
    await opened.app.close();
  });
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) problems.push(message.text());
  });
  await page.goto(await opened.listen());
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return { page, problems };
}
