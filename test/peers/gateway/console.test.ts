import { describe, expect, it } from 'vitest';
import { findChromium } from '../../browser/chromium.ts';
import { openConsole } from '../console-in-browser.ts';
import { homeOf } from '../home.ts';
import { changes, describePeer } from '../peer.ts';

const chromium = findChromium();
const ACCESS = 'dab_oauth2_provider_oauth2accesstoken';

/** What requests change by themselves, with the token of the home. */
const OWN_USE = [`${ACCESS}.last_used`, `${ACCESS}.modified`, `${ACCESS}.scope`, `${ACCESS}.modified_by_id`];

describe.skipIf(chromium === null)('the console in a browser', () => {
  describePeer('gateway', 'on a gateway', (peer) => {
    it('lists the tokens, and revokes the one that was selected', async () => {
      const home = homeOf(peer());
      const { page, problems } = await openConsole({ chromium: chromium ?? '', home });
      const known = peer().fill.tokens.find(({ id, user, scope, application }) => {
        return id !== undefined && user === 'alice' && scope === 'write' && application === null;
      });
      const { id = 0, token = '' } = known ?? {};
      const works = async () => (await peer().request(`${peer().api}me/`, { token })).status;
      expect(await works()).toBe(200);
      const { body: listed } = await home.json<unknown[]>('tokens', 'list');
      const before = await peer().tables();

      await page.getByRole('navigation').getByRole('link', { name: 'Tokens', exact: true }).click();
      await page.getByText(`${listed.length} tokens`, { exact: true }).waitFor();
      await page
        .getByRole('row')
        .filter({ has: page.getByRole('button', { name: `Trace token ${id}`, exact: true }) })
        .getByRole('checkbox')
        .check();
      await page.getByRole('button', { name: 'Revoke 1 selected…' }).click();
      await page.getByRole('button', { name: 'Plan', exact: true }).click();
      await page.getByLabel('Type 1 to revoke 1 token').fill('1');
      await page.getByRole('button', { name: 'Revoke 1 token' }).click();
      await page.getByText(/^Revoked 1 of 1 token in /).waitFor();

      const { [ACCESS]: found, ...others } = changes(before, await peer().tables(), OWN_USE);
      expect(found?.removed.map((row) => row['id'])).toEqual([id]);
      expect(found).toMatchObject({ added: [], changed: [] });
      expect(Object.keys(others)).toEqual(['dab_activitystream_entry']);
      expect(await works()).toBe(401);
      expect((await home.json<object[]>('log', 'list')).body).toMatchObject([
        { operation: 'tokens.revoke', state: 'done', counts: { revoked: 1 } },
      ]);
      await page.getByRole('button', { name: 'Close' }).first().click();
      await page.getByText(`${listed.length - 1} tokens`, { exact: true }).waitFor();
      expect(problems).toEqual([]);
    });
  });
});
