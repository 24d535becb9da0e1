import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../support/real-tables.ts';
import { RecordedGateway } from '../../support/recorded-gateway.ts';
import { tokenctl } from './program.ts';

const NEWEST = REAL_PEERS.filter((peer: Peer) => peer === 'gateway-newest');

describeEach(NEWEST)('the commands at %s', (peer) => {
  let real: RealTables;
  let gateway: RecordedGateway;
  let folder: string;
  beforeAll(async () => {
    real = await loadRealTables(peer);
    gateway = await RecordedGateway.start(real);
    folder = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
    const { database, token } = { database: join(folder, 'database'), token: join(folder, 'token') };
    writeFileSync(database, `${real.url}\n`, { mode: 0o600 });
    const admin = real.filling.tokens.find(({ user }) => user === 'admin')?.token ?? '';
    writeFileSync(token, `${admin}\n`, { mode: 0o600 });
    configure(
      folder,
      `contexts:\n  db: { database: { file: "${database}" } }\n  rest: { url: "${gateway.address}", token: { file: "${token}" } }\n`,
    );
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await real.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (context: string, ...args: string[]) =>
    tokenctl([...args, '--context', context], { env: { HOME: folder } });

  test.each(['db', 'rest'])('investigate, save and print what was done: %s', async (context) => {
    const file = join(folder, `${context}.json`);
    const done = await run(
      context,
      'incident',
      'investigate',
      '--user',
      'erin',
      '--since',
      '30d',
      '--out',
      file,
    );
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(/^Investigated user erin at /);
    expect(done.stdout).toContain('Remaining access: 4.');
    expect(done.stdout).toContain(`Run: tokenctl tokens revoke --context ${context} --id 13`);
    expect(done.stdout).toContain('The activity stream of a gateway does not record: logins');
    const json = await run(context, 'incident', 'investigate', '--user', 'erin', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ target: { dialect: 'gateway' } });
  });

  test.each(['db', 'rest'])('clean nothing, and say what does: %s', async (context) => {
    const file = join(folder, `${context}.json`);
    const refused = await run(context, 'incident', 'clean', '--from', file, '--dry-run');
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('a platform gateway');
    expect(refused.stderr).toContain(`tokenctl incident investigate --context ${context}`);
    const { items } = JSON.parse(readFileSync(file, 'utf8'));
    const left = items.filter(({ state }: { state: string }) => state === 'there' || state === 'unknown');
    expect(left.length).toBeGreaterThan(3);
    // What the refusal refers to: each item has a command, a request or what to do by hand.
    for (const { id, remedy } of left) {
      expect([id, remedy?.kind]).toEqual([id, expect.stringMatching(/^(command|call|manual)$/)]);
      if (remedy.kind === 'command') expect(remedy.text).toContain(` --context ${context} `);
      if (remedy.kind === 'call')
        expect(remedy.text).toMatch(/^(DELETE|PATCH|POST|PUT) \/api\/gateway\/v1\//);
    }
  });

  test('say how the gateway stands to those that were tried', async () => {
    const { stdout } = await run('rest', 'whoami');
    expect(stdout).toContain(
      'Tested:   with three layouts of gateways; this gateway does not report its version',
    );
    const { stdout: json } = await run('db', 'context', 'check', '--json');
    expect(JSON.parse(json)).toMatchObject({
      compatibility: {
        standing: 'unknown',
        effects: { orphaned_refresh: { outcome: 'refused', isKnown: true } },
      },
    });
  });

  test('recognize the work of tokenctl without an incident, if the audit log can be read', async () => {
    expect((await run('db', 'tokens', 'revoke', '--user', 'bob', '--yes')).code).toBe(0);
    const investigate = ['incident', 'investigate', '--user', 'bob'];
    const { stdout } = await run('db', ...investigate);
    expect(stdout).toContain("Without an actor, and considered tokenctl's own work: 4 entries about access.");
    expect(stdout).not.toContain('delete o_auth2_access_token');
    writeFileSync(join(folder, '.local/state/tokenctl/audit.jsonl'), 'no entry\n');
    const unread = await run('db', ...investigate);
    expect(unread).toMatchObject({ code: 0, stderr: '' });
    expect(unread.stdout).toContain('delete o_auth2_access_token');
    expect(unread.stdout).not.toContain("tokenctl's own work");
  });
});
