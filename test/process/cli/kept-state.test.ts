import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, startTestService } from '@tokenctl/service/testing/service.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { temporaryFolder, tokenctl } from './program.ts';

/** Made by scripts/keep-state.ts, with the program of each version. */
const KEPT = join(import.meta.dirname, '../../fixtures/state');
const contentOf = (version: string, name: string) => gunzipSync(readFileSync(join(KEPT, version, name)));

describe.each(readdirSync(KEPT))('the state of %s', (version) => {
  let service: RunningService;
  beforeAll(async () => {
    const url = await createDatabase(inject('postgresUrl'));
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    // What begins with a backslash is for psql.
    await client.query(
      contentOf(version, 'service.sql.gz')
        .toString('utf8')
        .replaceAll(/^\\.*$/gm, ''),
    );
    await client.end();
    service = await startTestService({ database: { url: new Secret(url) } });
  });
  afterAll(() => service?.close());

  /** A home with the files, and the context in which they were made, at the service's address of now. */
  function place() {
    const folder = temporaryFolder();
    cpSync(join(KEPT, version), folder, { recursive: true });
    writeFileSync(join(folder, 'ledger.sqlite'), contentOf(version, 'ledger.sqlite.gz'), { mode: 0o600 });
    writeFileSync(join(folder, 'admin'), ADMIN.password, { mode: 0o600 });
    writeFileSync(
      join(folder, 'tokenctl.yaml'),
      `currentContext: kept
contexts:
  kept: { url: "${service.url}", username: admin, password: { file: admin } }
auditLog: { file: "${join(folder, 'audit.jsonl')}" }
jobs:
  audit: { job: token-audit }
scheduler:
  ledger: { file: "${join(folder, 'ledger.sqlite')}" }
`,
      { mode: 0o600 },
    );
    const env = { HOME: folder, TOKENCTL_CONFIG: join(folder, 'tokenctl.yaml') };
    const run = (...args: string[]) =>
      tokenctl(
        args.map((arg) => (arg.startsWith('./') ? join(folder, arg) : arg)),
        { env },
      );
    const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);
    return { folder, run, json, has: (name: string) => readdirSync(folder).includes(name) };
  }

  test('its audit log is verified, also by its checkpoint, and its runs and incidents are listed', async () => {
    const { run, json } = place();
    const { entries } = await json('log', 'verify');
    expect(entries).toBeGreaterThan(10);
    const verified = await run(
      'log',
      'verify',
      '--checkpoint',
      './checkpoint',
      '--key',
      './audit.jsonl.key.pub',
    );
    expect([verified.code, verified.stderr]).toEqual([0, '']);
    const runs: { operation: string; reason: string }[] = await json('log', 'list');
    expect(runs.map(({ operation, reason }) => [operation, reason])).toEqual(
      expect.arrayContaining([
        ['tokens.revoke', 'laptop lost'],
        ['incident.lockdown', 'token stolen'],
      ]),
    );
    expect((await run('log', 'report')).stdout).toContain('laptop lost');
  });

  test('its database is migrated, an open incident is lifted, and the chain goes on', async () => {
    const { run, json } = place();
    const tokens: { user: { username: string } }[] = await json('tokens', 'list', '--user', 'bob');
    expect(tokens).toHaveLength(2);
    expect((await json('tokens', 'audit', '--baseline', './baseline')).known).toBeGreaterThan(5);
    // Version 0.1.0 knows a controller by its address alone, which is another one here.
    if (version !== '0.1.0') {
      const { incidents } = await json('incident', 'status', '--all');
      expect(incidents).toMatchObject([{ reason: 'token stolen' }]);
      const lifted = await run('incident', 'lift', incidents[0].id, '--yes', '--reason', 'over');
      expect([lifted.code, lifted.stderr]).toEqual([0, '']);
    }
    expect((await run('log', 'verify', '--checkpoint', './checkpoint')).code).toBe(0);
  });

  test('its ledger is migrated, with the runs of its jobs', async () => {
    const { json } = place();
    expect(await json('jobs', 'history')).toMatchObject([{ job: 'audit@kept', state: 'completed' }]);
  });

  test('its snapshots and plans are read, and those of a newer version refused', async ({ skip }) => {
    const { folder, run, json, has } = place();
    if (!has('plan.json')) skip();
    expect((await json('tokens', 'diff', './snapshot.json')).changes).toEqual(expect.any(Array));
    expect((await run('plan', 'show', './plan.json')).stdout).toContain('bob');
    const revoked = await run('tokens', 'revoke', '--plan', './plan.json', '--dry-run');
    expect(revoked.stdout).toContain('2 tokens');
    for (const name of ['plan.json', 'snapshot.json', 'baseline']) {
      const newer = readFileSync(join(folder, name), 'utf8').replace(/("version": ?|baseline )1/, '$12');
      writeFileSync(join(folder, name), newer);
    }
    for (const args of [
      ['plan', 'show', './plan.json'],
      ['tokens', 'diff', './snapshot.json'],
      ['tokens', 'audit', '--baseline', './baseline'],
    ]) {
      const { code, stderr } = await run(...args);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/not a \w+ of this version of tokenctl/)]);
    }
  });
});
