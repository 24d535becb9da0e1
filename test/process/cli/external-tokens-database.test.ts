import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import { loadRealTables, REAL_PEERS } from '../../support/real-tables.ts';
import { tokenctl } from './program.ts';

test.runIf(REAL_PEERS.includes('awx-24.6.1'))(
  'external-tokens deny in a database says until when tokens may be issued',
  async () => {
    const real = await loadRealTables('awx-24.6.1');
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
    const file = join(folder, 'database');
    writeFileSync(file, `${real.url}\n`, { mode: 0o600 });
    configure(folder, `contexts:\n  db: { database: { file: "${file}" } }\n`);
    const deny = () =>
      tokenctl(
        ['settings', 'external-tokens', 'deny', '--revoke-existing', '--yes', '--json', '--context', 'db'],
        { env: { HOME: folder } },
      );
    await real.database.execute("UPDATE main_profile SET ldap_dn = 'uid=alice' WHERE user_id = $1", [
      real.filling.users['alice'],
    ]);
    await real.database.execute(
      "INSERT INTO conf_setting (created, modified, key, value) VALUES (now(), now(), 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS', 'true')",
    );
    // The cache of a controller holds the setting for up to a minute: tokens that it issues meanwhile survive.
    const first = await deny();
    expect(first).toMatchObject({ code: 5, stderr: expect.stringContaining('Run the same command again') });
    const { changed, revocation, issuedUntil } = JSON.parse(first.stdout);
    expect([changed, revocation.revoked > 0, Date.parse(issuedUntil) > Date.now()]).toEqual([
      ...[true, true, true],
    ]);
    // Again within that time, there is nothing to change, and still no all-clear.
    const second = await deny();
    expect(second.code).toBe(5);
    expect(JSON.parse(second.stdout)).toMatchObject({ changed: false, issuedUntil: expect.any(String) });
    rmSync(folder, { recursive: true, force: true });
    await real.close();
  },
);
