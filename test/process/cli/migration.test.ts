import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import { loadRealTables, REAL_PEERS } from '../../support/real-tables.ts';
import { RecordedGateway } from '../../support/recorded-gateway.ts';
import { tokenctl } from './program.ts';

test.runIf(REAL_PEERS.includes('awx-24.6.1') && REAL_PEERS.includes('gateway'))(
  'tokens of a controller are planned, made on the gateway, and revoked once the new ones are used',
  async () => {
    const controller = await loadRealTables('awx-24.6.1');
    const gateway = await loadRealTables('gateway');
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
    const context = (name: string, url: string) => {
      writeFileSync(join(folder, name), `${url}\n`, { mode: 0o600 });
      return `  ${name}: { database: { file: "${join(folder, name)}" } }\n`;
    };
    const all = join(folder, 'one-place');
    const contexts = `${context('old', controller.url)}${context('new', gateway.url)}stores: { one: { kind: file, file: "${all}" } }\n`;
    configure(folder, `contexts:\n${contexts}`);
    const run = (...args: string[]) =>
      tokenctl(
        ['tokens', 'migrate', '--from', 'old', ...(args.includes('--to') ? [] : ['--to', 'new']), ...args],
        { env: { HOME: folder } },
      );
    await controller.database.script(`UPDATE main_oauth2accesstoken SET last_used = NULL;
      UPDATE main_oauth2accesstoken SET last_used = now() - interval '20 days' WHERE id IN (1, 2)`);

    const dry = await run('--dry-run', '--json');
    expect([dry.code, JSON.parse(dry.stdout)]).toMatchObject([
      0,
      { dryRun: true, plan: { counts: { new_token: 2 } }, results: null },
    ]);
    const csv = await run('--dry-run', '--csv');
    expect(csv.stdout.split('\n')[0]).toContain(
      'id,user,application,scope,created,expires,last_used,account',
    );
    const text = await run('--dry-run');
    expect(text.stdout).toContain('Would create 2 tokens on new to replace those in use on old');
    expect(text.stdout).toContain('Without an account: eve');
    expect(text.stderr).toBe('');

    // Over REST, the gateway's lists tell as much, but for the platform's ids; an account can only create tokens for itself.
    await using recorded = await RecordedGateway.start(gateway);
    const admin = gateway.filling.tokens.find(({ user }) => user === 'admin')?.token ?? '';
    writeFileSync(join(folder, 'token'), `${admin}\n`, { mode: 0o600 });
    const settings = `contexts:\n  rest: { url: "${recorded.address}", token: { file: "${join(folder, 'token')}" } }\n`;
    configure(folder, `${settings}${contexts}`);
    const rest = await run('--to', 'rest', '--dry-run', '--json');
    expect([rest.code, JSON.parse(rest.stdout)]).toMatchObject([
      0,
      { plan: { counts: { new_token: 2 }, unknown: [expect.stringContaining('only by name')] } },
    ]);
    expect(await run('--to', 'rest', '--yes', '--output-dir', folder)).toMatchObject({ code: 4 });

    expect(await run('--yes')).toMatchObject({ code: 2, stderr: expect.stringContaining('--output-dir') });
    expect(await run('--yes', '--store', 'one')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('{consumer}'),
    });
    const places = join(folder, 'values');
    mkdirSync(places);
    const made = await run('--yes', '--output-dir', places, '--json');
    expect([made.code, readdirSync(places)]).toEqual([
      0,
      [expect.stringMatching(/^migrated-[0-9a-f]{8}-1$/), expect.stringMatching(/^migrated-[0-9a-f]{8}-2$/)],
    ]);
    const ids = (JSON.parse(made.stdout) as { results: { token: number }[] }).results.map(
      ({ token }) => token,
    );
    expect(await run('--yes', '--output-dir', places)).toMatchObject({ code: 0 });
    expect(await run('--finish', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No token can be revoked yet'),
    });

    await gateway.database.execute(
      'UPDATE dab_oauth2_provider_oauth2accesstoken SET last_used = now() WHERE id = $1',
      [ids[0]],
    );
    const finished = await run('--finish', '--yes', '--json');
    expect([finished.code, JSON.parse(finished.stdout)]).toMatchObject([
      0,
      {
        tokens: [
          { old: 1, waitsFor: null },
          { old: 2, waitsFor: 'new_unused' },
        ],
        revocation: { revoked: 1 },
      },
    ]);
    const left = await controller.database.query('SELECT id FROM main_oauth2accesstoken WHERE id IN (1, 2)');
    expect(left).toEqual([{ id: 2 }]);
    rmSync(folder, { recursive: true, force: true });
    await controller.close();
    await gateway.close();
  },
);
