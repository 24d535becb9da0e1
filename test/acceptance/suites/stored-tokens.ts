import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { homeOf } from '../home.ts';
import { DATABASE } from '../needs.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';
import { tableNames } from '../tables.ts';

const fingerprint = (value: string) => createHash('sha256').update(value).digest('hex').slice(0, 12);

/** How the database stores tokens, and what tokenctl makes of it. */
export const storedTokens: AcceptanceSuite = {
  name: 'The stored format of tokens',
  needs: [DATABASE],
  scenarios: [
    {
      name: 'fingerprints are of the value, and leaked values are found: access and refresh tokens',
      run: async (it) => {
        const { account, access, tokenIds } = await scene(it, 'stored');
        const home = homeOf(it, { current: 'db' });
        const { body: listed } = await home.json<{ id: number; fingerprint: string | null }[]>(
          ...['tokens', 'list', '--user', account.name],
        );
        const values = [access.personal, access.application].filter((value) => value !== null);
        assert.deepEqual(listed.map(({ id }) => id).sort(), [...tokenIds].sort());
        const marks = values.map(fingerprint).sort();
        assert.deepEqual(listed.map((token) => token.fingerprint).sort(), marks);
        const file = join(home.folder, 'leak.txt');
        const leaked = [...values, ...(access.refresh === null ? [] : [access.refresh])];
        writeFileSync(file, leaked.join('\n'), { mode: 0o600 });
        it.secretFiles.add(file);
        const { body } = await home.json<{ found: { fingerprint: string; live: boolean }[] }>(
          ...['tokens', 'find', '--leaked', file],
        );
        assert.deepEqual(body.found.map((token) => token.fingerprint).sort(), leaked.map(fingerprint).sort());
        assert.ok(body.found.every(({ live }) => live));
      },
    },
    {
      name: 'tokens in clear are reported, and only they',
      run: async (it) => {
        const { account } = await scene(it, 'in-clear');
        const [row] = await it.sql<{ number: number }>(
          `SELECT count(*)::int AS number FROM ${tableNames(it).access}
           WHERE user_id = $1 AND token !~ '^(\\$sha256\\$|[0-9a-f]{64}$)'`,
          [account.id],
        );
        const isInClear = (row?.number ?? 0) > 0;
        const home = homeOf(it, { current: 'db' });
        const { body } = await home.json<{ tokensInClear?: boolean; warnings: string[] }>('context', 'check');
        const isSaid = body.tokensInClear === true || body.warnings.some((each) => /in clear/.test(each));
        // A controller stores them in clear: only on a gateway this is a finding.
        if (it.isGateway) assert.equal(isSaid, isInClear);
        return isInClear ? 'Tokens are stored in clear here.' : 'Tokens are stored as hashes here.';
      },
    },
  ],
};
