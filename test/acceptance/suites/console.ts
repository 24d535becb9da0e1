import assert from 'node:assert/strict';
import { startChromium } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { testConsole } from '../../support/console.ts';
import { closedWays, ofOffered } from '../access.ts';
import { homeOf } from '../home.ts';
import { CHROMIUM, CONTROLLER } from '../needs.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';

export const consoleInBrowser: AcceptanceSuite = {
  name: 'The console',
  needs: [CHROMIUM, CONTROLLER],
  scenarios: [
    {
      name: 'locks a user down from the overview to the report, and closes what it says',
      run: async (it) => {
        const { account, access, tokenIds, listed } = await scene(it, 'by-mouse');
        const home = homeOf(it);
        const opened = await testConsole({ home: home.folder });
        const browser = await startChromium(findChromium() ?? '');
        try {
          const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
          const problems: string[] = [];
          page.setDefaultTimeout(60_000);
          page.on('pageerror', ({ message }) => problems.push(message));
          await page.goto(await opened.listen());
          const overview = page.getByRole('region', { name: 'rest' });
          await overview.getByText(`${it.adminName} (superuser)`).waitFor();
          await page.getByRole('navigation').getByRole('link', { name: 'Incidents', exact: true }).click();
          await page.getByLabel('Names, separated by commas').fill(account.name);
          await page.getByLabel('Reason').fill('acceptance');
          // What is remarkable about the account comes first: it was just made.
          await page.getByText(`Would lock down the access of ${account.name}`).first().waitFor();
          await page.getByRole('button', { name: 'Lock down…' }).click();
          await page.getByLabel(`Type ${account.name} to confirm`).fill(account.name);
          await page.getByRole('button', { name: `Lock down the access of ${account.name}` }).click();
          const report = (await page.getByRole('region', { name: 'Result' }).textContent()) ?? '';
          assert.match(report, /^Locked down as far as this context can check/);
          assert.deepEqual(problems, []);
        } finally {
          await browser.close();
          await opened.operations.close();
          await opened.app.close();
        }
        assert.deepEqual(await listed(), { gone: tokenIds, made: [] });
        const closed = await closedWays(it, access);
        for (const way of ofOffered(it, 'personal', 'application', 'basic', 'login', 'password')) {
          assert.ok(closed.includes(way), `${way} is open`);
        }
        assert.equal((await home.run('log', 'verify')).code, 0);
      },
    },
  ],
};
