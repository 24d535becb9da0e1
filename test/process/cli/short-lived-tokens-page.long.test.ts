import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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
import { argumentsOf, commandsOf } from './documented-pages.ts';
import { temporaryFolder, tokenctl } from './program.ts';

const PASSWORD = 'long enough for it';

/**
 * A service on PostgreSQL with the users that the page names, each with a token that never expires; a home with both contexts, the
 * store and the job of the page; and programs that answer for awx, ansible-playbook and the report.
 */
async function place() {
  const url = await serviceDatabase();
  const service = await startTestService({ database: { url: new Secret(url) } });
  onTestFinished(() => service.close());
  const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  const made: Record<string, { readonly id: number; readonly token: string }> = {};
  for (const username of ['alice', 'robot', 'ci-deploy', 'terraform']) {
    const email = `${username}@example.org`;
    await admin.post('/api/v2/users/', { username, email, password: PASSWORD });
    const own = new Client(service.url, basic(username, PASSWORD));
    const { json } = await own.post('/api/v2/tokens/', { scope: 'write' });
    made[username] = { id: json.id, token: String(json.token) };
  }
  const operator = await admin.post('/api/v2/tokens/', { scope: 'write' });
  const folder = temporaryFolder();
  const programs = join(folder, 'bin');
  const stored = join(folder, 'tokens');
  for (const each of [programs, stored]) mkdirSync(each, { mode: 0o700 });
  for (const name of ['awx', 'ansible-playbook', 'inventory-report.sh']) {
    writeFileSync(join(programs, name), '#!/bin/sh\ntest -n "$CONTROLLER_OAUTH_TOKEN"\n');
    chmodSync(join(programs, name), 0o755);
  }
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('token', operator.json.token);
  write('database', url);
  write('smtp', 'smtp://127.0.0.1:9');
  write(
    'tokenctl.yaml',
    `currentContext: production
contexts:
  production: { url: "${service.url}", databaseContext: production-db, token: { file: token } }
  production-db: { database: { file: database } }
ownerNotices: { server: { file: smtp }, from: tokenctl@example.org, allowPlain: true }
stores:
  files: { kind: file, file: "${stored}/{consumer}" }
jobs:
  rotate-tokens:
    job: rotation
    contexts: [production-db]
    dryRun: false
    parameters:
      consumers:
        deploy: { user: ci-deploy, scope: write, every: 4h, lifetime: 6h, overlap: 2h, store: files }
`,
  );
  const env = {
    ...{ HOME: folder, TOKENCTL_CONFIG: join(folder, 'tokenctl.yaml') },
    PATH: `${programs}:${process.env['PATH']}`,
  };
  const ids: Record<string, string> = {
    './inventory-report.sh': join(programs, 'inventory-report.sh'),
    './report.token': join(folder, 'report.token'),
  };
  const store = (text: string) => writeFileSync(join(stored, 'deploy'), text, { mode: 0o600 });
  return { made, ids, store, run: (args: readonly string[]) => tokenctl(args, { env }) };
}

test('the page of short-lived tokens does what it says, command by command as written', async () => {
  const commands = commandsOf('short-lived-tokens').filter(({ command }) => command !== 'jobs start');
  expect(commands.length).toBeGreaterThan(20);
  let at = await place();
  for (const { command, says } of commands) {
    if (command.includes('--adopt')) {
      at = await place();
      const { id, token } = at.made['ci-deploy'] ?? { id: 0, token: '' };
      at.store(token);
      at.ids['4711'] = String(id);
    }
    if (command === 'tokens leases') {
      // The service stores the end of a token itself; a controller would have made a lease.
      at = await place();
      await at.run(['tokens', 'sunset', '--yes']);
      at.ids['4711'] = String(at.made['alice']?.id);
    }
    const { code, stdout, stderr } = await at.run(argumentsOf(command, at.ids));
    expect({ command, code, stderr: code === says ? '' : stderr }).toEqual({
      command,
      code: says,
      stderr: '',
    });
    const sunset = /as (sunset-[0-9a-f]{8})/.exec(stdout)?.[1];
    if (sunset !== undefined) {
      at.ids['sunset-1a2b3c4d'] = sunset;
      at.ids['4711'] = String(at.made['alice']?.id);
    }
    if (command.startsWith('tokens create')) {
      expect(readFileSync(at.ids['./report.token'] ?? '', 'utf8')).toMatch(/^\w{30}$/m);
    }
  }
});
