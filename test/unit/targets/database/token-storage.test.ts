import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkTarget } from '../../../../src/operations/contexts/check-target.ts';
import { testDatabase } from '../../../support/test-database.ts';

const place = testDatabase('gateway');

/** What tokenctl stored before 0.2. */
const BARE = createHash('sha256').update('a token that was handed out').digest('hex');

const warnings = async () =>
  (await checkTarget({ target: place.target, clock: { now: () => new Date() } })).warnings.filter((each) =>
    /stored|stores/.test(each),
  );

test('a gateway’s tokens in another form than its newest are named, without any part of them', async () => {
  expect(await warnings()).toEqual([]);
  const [bare = 0] = await place.tokens(1, { token: `'${BARE}'` });
  await place.tokens(1, { token: "repeat('0', 64)", expires: "now() - interval '1 day'" });
  // No other token tells how this gateway stores them.
  expect(await place.target.describe()).toMatchObject({
    tokensInClear: false,
    unhashedTokens: { hashes: false, count: 1, ids: [bare] },
  });
  expect((await warnings()).join()).toContain('One that stores them in clear text accepts the stored text');

  await place.tokens(1);
  const [warning = ''] = await warnings();
  expect(warning).toContain('1 live token is stored without the prefix');
  expect(warning).toContain('does not accept these');
  expect(warning).toContain(`\`tokenctl tokens revoke --id ${bare} --context `);
  for (let at = 0; at + 6 <= BARE.length; at += 1) expect(warning).not.toContain(BARE.slice(at, at + 6));

  // As of a first 2.5: the newest token is in clear, and the stored text of each is a token.
  await place.tokens(1, { token: "'the-newest-is-in-clear'", created: "now() + interval '1 minute'" });
  expect(await place.target.describe()).toMatchObject({ tokensInClear: true, unhashedTokens: null });
  expect(await warnings()).toEqual([expect.stringContaining('stores working tokens in clear')]);
});
