import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../support/real-tables.ts';
import { tokenctl } from './program.ts';

const NEWEST = REAL_PEERS.filter((peer: Peer) => peer === 'gateway-newest');

describeEach(NEWEST)('commands that name sessions, at %s with a cache that does not answer', (peer) => {
  let real: RealTables;
  let folder: string;
  beforeAll(async () => {
    real = await loadRealTables(peer);
    folder = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
    const [database, redis] = [join(folder, 'database'), join(folder, 'redis')];
    writeFileSync(database, `${real.url}\n`, { mode: 0o600 });
    writeFileSync(redis, 'redis://127.0.0.1:1\n', { mode: 0o600 });
    const sources = `database: { file: "${database}" }, cache: { redis: { file: "${redis}" } }`;
    configure(folder, `contexts:\n  db: { ${sources} }\n`);
  });
  afterAll(async () => {
    await real.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (...args: string[]) => tokenctl([...args, '--context', 'db'], { env: { HOME: folder } });

  const COMMANDS = [
    ['context', 'check'],
    ['sessions', 'list'],
    ['sessions', 'expire', '--user', 'erin', '--dry-run'],
    ['users', 'show', 'erin'],
    ['users', 'offboard', 'erin', '--dry-run'],
    ['incident', 'investigate', '--user', 'erin', '--since', '30d'],
    ['incident', 'lockdown', '--user', 'alice', '--deactivate', '--yes'],
    ['incident', 'lockdown', '--user', 'dave', '--dry-run'],
    ['incident', 'status'],
    ['incident', 'report'],
    ['incident', 'lift', '--dry-run'],
    ['incident', 'lift', '--accept-sessions', '--yes'],
    ['users', 'offboard', 'erin', '--yes'],
    // Its users are deactivated by now: a gateway refuses their sessions, and what is in the cache is still not known.
    ['users', 'offboard', 'erin', '--dry-run'],
    ['tokens', 'revoke', '--user', 'dave', '--with-sessions', '--yes'],
  ];
  const isShort = ([topic = '', command = '', ...args]: readonly string[]) =>
    command === 'lift' ||
    (/^(?:context check|sessions list|users (?:show|offboard)|incident (?:lockdown|status)|tokens revoke)$/.test(
      `${topic} ${command}`,
    ) &&
      !args.includes('--dry-run'));
  // Each command in the long tests, one of each kind before each commit.
  test.each(inject('longTests') ? COMMANDS : COMMANDS.filter(isShort))(
    '%s %s says what was not read, and does not succeed',
    async (...args) => {
      const [topic, command] = args;
      const { incidents = [] } =
        command === 'report' || command === 'lift'
          ? JSON.parse((await run('incident', 'status', '--json')).stdout)
          : {};
      const found = await run(...args, ...incidents.slice(0, 1).map(({ id }: { id: string }) => id));
      const printed = found.stdout + found.stderr;
      expect([topic, command, found.code, printed]).toEqual([
        ...[topic, command, 5],
        expect.stringMatching(
          /Not (?:read|checked): (?:.*\. )?The session cache at redis:\/\/127\.0\.0\.1:1\/0 cannot be read/,
        ),
      ]);
    },
  );
});
