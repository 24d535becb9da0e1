import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import {
  ADMIN,
  basic,
  Client,
  serviceDatabase,
  startTestService,
} from '@tokenctl/service/testing/service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, tokenctl } from './program.ts';

/** Two services on PostgreSQL, and a home with a context over REST of the first, and of the databases of both. */
async function place() {
  const [url, otherUrl] = [await serviceDatabase(), await serviceDatabase()];
  const [service, other] = [
    await startTestService({ database: { url: new Secret(url) } }),
    await startTestService({ database: { url: new Secret(otherUrl) } }),
  ];
  const close = async () => {
    for (const each of [service, other].splice(0)) await each.close();
  };
  let isUp = true;
  const down = async () => {
    if (isUp) await close();
    isUp = false;
  };
  onTestFinished(down);
  const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  const { token } = (await admin.post('/api/v2/tokens/', { scope: 'write' })).json;
  const folder = temporaryFolder();
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('token', String(token));
  write('database', url);
  write('other', otherUrl);
  const config = join(folder, 'tokenctl.yaml');
  write('tokenctl.yaml', `# ours\ncontexts:\n  live: { url: "${service.url}", token: { file: token } }\n`);
  const env = { HOME: folder, TOKENCTL_CONFIG: config };
  const run = (...args: readonly string[]) => tokenctl(['context', ...args], { env });
  return { run, down, folder, text: () => readFileSync(config, 'utf8') };
}

test('context link names the database of the same controller, and refuses another one', async () => {
  const { run, down, folder, text } = await place();
  const added = await run('add', 'live-db', '--database-file', join(folder, 'database'));
  expect(added.stdout).toContain(
    'If this is the database of "live", link them: tokenctl context link live live-db',
  );
  await run('add', 'other-db', '--database-file', join(folder, 'other'));
  expect((await run('check', 'live')).stdout).toContain('sessions require a database context');

  const before = text();
  const refused = await run('link', 'live', 'other-db');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('are two different controllers'),
  ]);
  for (const [names, why] of [
    [['live-db', 'live'], '"live-db" is a context for a database'],
    [['live', 'live'], '"live" is a context for the REST API'],
    [['live', 'nothing'], 'There is no context "nothing"'],
  ] as const) {
    const wrong = await run('link', ...names);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(why)]);
  }
  expect(text()).toBe(before);

  const linked = await run('link', 'live', 'live-db', '--json');
  expect([linked.code, JSON.parse(linked.stdout)]).toEqual([
    0,
    expect.objectContaining({ name: 'live', databaseContext: 'live-db', changed: true }),
  ]);
  expect(text()).toContain('# ours');
  expect((await run('show', 'live')).stdout).toMatch(/Database: +live-db/);
  expect((await run('check', 'live')).stdout).toContain('sessions require the context live-db');
  const written = text();
  const again = await run('link', 'live', 'live-db');
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Nothing was changed.')]);
  await down();
  expect(await run('link', 'live', 'live-db')).toMatchObject({ code: 7 });
  expect(text()).toBe(written);
});
