import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findChromium, startChromium } from '../../browser/chromium.ts';
import { createAndDeleteToken, logIn, type Site, turnBasicOffAndOn } from '../../browser/web-stories.ts';
import { describePeer } from '../peer.ts';
import { startWebFront, type WebFront } from './web-front.ts';

const chromium = findChromium();

/** Pages with what a controller shows there. */
const PAGES = [
  ['/', 'Recent activity'],
  ['/users', 'alice'],
  ['/users/1/organizations', 'Details'],
  ['/organizations/1/users', 'Members'],
  ['/applications', 'AppCode'],
  ['/applications/1', 'Client ID'],
  ['/applications/1/tokens', 'In the last'],
  ['/tokens', 'Personal'],
  ['/settings/saml', 'sso/metadata/saml'],
  ['/activity?operation=create', 'Created token'],
] as const;

describePeer('awx', 'the web interface on a controller', (peer) => {
  let front: WebFront;
  let browser: Browser;

  beforeAll(async () => {
    front = await startWebFront(peer().url);
    browser = await startChromium(chromium ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await front?.[Symbol.asyncDispose]();
  });

  it.skipIf(chromium === null)(
    'shows its pages, creates a token, and turns Basic authentication off and on',
    async () => {
      const site: Site = { url: front.url, username: 'admin', password: 'adminpw' };
      const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
      const failures: string[] = [];
      await page.goto(`${front.url}/users?username__icontains=ali`);
      await logIn(page, site);
      await page.getByRole('link', { name: 'alice' }).waitFor();
      expect(page.url()).toBe(`${front.url}/users?username__icontains=ali`);
      page.on('response', (answer) => {
        if (answer.status() >= 400) failures.push(`${answer.status()} ${answer.url()}`);
      });
      for (const [path, text] of PAGES) {
        await page.goto(`${front.url}${path}`);
        const shown = page.getByText(text).or(page.locator(`input[value*="${text}"]`));
        await shown.first().waitFor();
        await page.waitForLoadState('networkidle');
      }
      expect(failures).toEqual([]);
      await createAndDeleteToken(page, site);
      await turnBasicOffAndOn(page, site);
    },
  );
});
