import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, basic, Client } from '@tokenctl/service/testing/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import { Platform } from '../../support/platform.ts';
import { temporaryFolder, tokenctl } from './program.ts';
import { typedInto } from './terminal.ts';

let platform: Platform;

beforeAll(async () => {
  platform = await Platform.start();
});
afterAll(() => platform[Symbol.asyncDispose]());

/** Makes a token of the administrator in each of the components, as an upgrade leaves them. */
async function makeTokens(description: string): Promise<void> {
  const asAdmin = basic(ADMIN.username, ADMIN.password);
  for (const [url, path] of [
    [platform.gateway.url, '/api/gateway/v1/tokens/'],
    [platform.controller.url, '/api/v2/tokens/'],
  ] as const) {
    const made = await new Client(url, asAdmin).post(path, { scope: 'write', description });
    expect(made.status).toBe(201);
  }
}

/** Makes that many tokens of the administrator on the controller. */
async function fillController(count: number): Promise<void> {
  await platform.controller.database.execute(
    `INSERT INTO main_oauth2accesstoken (token, user_id, scope, description, created, modified, expires)
     SELECT gen_random_uuid()::text, u.id, 'write', '', now() - interval '1 year', now(), now() - interval '1 day'
     FROM auth_user u, generate_series(1, $1::int) WHERE u.username = $2`,
    [count, ADMIN.username],
  );
}

/** A home with a context of the platform, and one of its controller alone. */
function home() {
  const folder = temporaryFolder();
  const password = join(folder, 'admin.password');
  writeFileSync(password, ADMIN.password, { mode: 0o600 });
  const context = (more: string) =>
    `{ url: "${platform.url}", username: admin, password: { file: "${password}" }${more} }`;
  configure(
    folder,
    `currentContext: aap\ncontexts:\n  aap: ${context('')}\n  old: ${context(', component: controller')}\n`,
  );
  const append = (more: string) => appendFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), more);
  const run = (...args: string[]) => tokenctl(args, { env: { HOME: folder } });
  return {
    folder,
    configure: append,
    run,
    json: async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout),
  };
}

const rowsOf = (rows: readonly Record<string, unknown>[], description: string) =>
  rows.filter((row) => row['description'] === description).map((row) => row['context']);

test('the tokens of the gateway and of the controller behind it are listed, each with its place', async () => {
  await makeTokens('both');
  const { json } = home();
  expect(rowsOf(await json('tokens', 'list'), 'both')).toEqual(['aap/gateway', 'aap/controller']);
  const old = await json('tokens', 'list', '--context', 'old');
  expect(rowsOf(old, 'both')).toEqual([undefined]);
  // As printed commands name them.
  expect(rowsOf(await json('tokens', 'list', '--context', 'aap/controller'), 'both')).toEqual([undefined]);
  expect(rowsOf(await json('tokens', 'list', '--context', 'aap/gateway,old'), 'both')).toEqual([
    'aap/gateway',
    'old',
  ]);
  expect(await home().run('tokens', 'list', '--context', 'old/gateway')).toMatchObject({ code: 2 });
  const check = await home().run('context', 'check');
  expect(check).toMatchObject({ code: 0 });
  expect(check.stdout).toMatch(
    /== aap\/gateway ==[\s\S]*gateway .* at [\s\S]*== aap\/controller ==[\s\S]*controller .*\/api\/controller/,
  );
});

test('a revocation plans both, asks once, and leaves neither', async () => {
  await makeTokens('swept');
  const { folder, json } = home();
  const { screen, code } = await typedInto(['tokens', 'revoke', '--user', 'admin'], {
    home: folder,
    question: 'to apply all plans in 2 contexts',
    answer: 'no',
  });
  expect(code).toBe(2);
  const [, sum = ''] = /Type (\d+) to apply all plans/.exec(screen) ?? [];
  const before = await json('tokens', 'list');
  expect(Number(sum)).toBe(before.length);
  const { contexts } = await json('tokens', 'revoke', '--user', 'admin', '--yes');
  expect(contexts.map((each: { context: string }) => each.context)).toEqual([
    'aap/gateway',
    'aap/controller',
  ]);
  expect(await json('tokens', 'list')).toEqual([]);
  const log = readFileSync(join(folder, '.local/state/tokenctl/audit.jsonl'), 'utf8').trim().split('\n');
  const targets = new Set(log.map((line) => JSON.parse(line).target.address));
  expect([...targets].sort()).toEqual([platform.url, `${platform.url}/api/controller`]);
});

test('the token in use goes last, when the controller has been swept with it', {
  tags: ['long'],
}, async () => {
  await fillController(300);
  const asAdmin = new Client(platform.gateway.url, basic(ADMIN.username, ADMIN.password));
  const { token } = (await asAdmin.post('/api/gateway/v1/tokens/', { scope: 'write', description: 'own' }))
    .json;
  const { folder, json, configure } = home();
  const file = join(folder, 'own.token');
  writeFileSync(file, token, { mode: 0o600 });
  configure(`  own: { url: "${platform.url}", token: { file: "${file}" } }\n`);
  const args = ['tokens', 'revoke', '--all', '--yes', '--context', 'own'];
  const { contexts } = await json(...args, '--include-own');
  expect(contexts.map((each: { error?: object }) => each.error)).toEqual([undefined, undefined]);
  expect(await json('tokens', 'list')).toEqual([]);
});

test('remedies name the database of their component', { tags: ['long'] }, async () => {
  const { configure, folder, run } = home();
  const file = join(folder, 'admin.password');
  const login = `url: "${platform.url}", username: admin, password: { file: "${file}" }`;
  const both = '{ gateway: gateway-db, controller: controller-db }';
  configure(`  named: { ${login}, databaseContext: ${both} }
  one: { ${login}, databaseContext: gateway-db }
  gateway-db: { database: "postgres://gateway.invalid/g" }
  controller-db: { database: "postgres://controller.invalid/c" }
`);
  const sessions = async (context: string) => {
    const args = ['incident', 'lockdown', '--user', 'admin', '--dry-run', '--context', context];
    return (await run(...args)).stdout.match(/sessions expire --context \S+/g) ?? [];
  };
  expect(await sessions('named')).toEqual([
    'sessions expire --context gateway-db',
    'sessions expire --context controller-db',
  ]);
  expect(await sessions('named/controller')).toEqual(['sessions expire --context controller-db']);
  // One name for both would be the wrong database for one of them.
  expect(await sessions('one')).toEqual([]);
  configure(`  wrong: { ${login}, databaseContext: { gateway: nowhere } }\n`);
  const refused = await run('tokens', 'list');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(
    'contexts.wrong.databaseContext.gateway: there is no database context named "nowhere"',
  );
});

test('a job sweeps both, and says what became of each', { tags: ['long'] }, async () => {
  await fillController(3);
  const { json, run, configure } = home();
  const job =
    'job: revocation-sweep, dryRun: false, parameters: { rules: [expired-present], keepIfYounger: 0s, stopAbovePercent: 100 }';
  configure(`jobs: { sweep: { ${job} } }\n`);
  const swept = await run('jobs', 'run', 'sweep');
  expect(swept.stdout + swept.stderr).toMatch(
    /gateway: Found nothing to revoke.*; controller: Revoked 3 of 3 tokens/,
  );
  expect(await json('tokens', 'list')).toEqual([]);
});

test('a stand-in for a management command says that it leaves the controller out', async () => {
  await makeTokens('left');
  const { json, run } = home();
  const { code, stderr } = await run('revoke_oauth2_tokens');
  expect(code).toBe(0);
  expect(stderr).toContain('tokens of the gateway');
  expect(rowsOf(await json('tokens', 'list'), 'left')).toEqual(['aap/controller']);
});

test('a rotation makes its tokens in one place, and its next run knows them', {
  tags: ['long'],
}, async () => {
  const { folder, json, run, configure } = home();
  const consumers = '{ deploy: { every: 1h, lifetime: 3h, overlap: 30m, store: files } }';
  configure(`stores: { files: { kind: file, file: "${folder}/{consumer}.token" } }
jobs: { rotate: { job: rotation, dryRun: false, parameters: { consumers: ${consumers} } } }
`);
  const made = async () => {
    const rows: { description: string; context: string }[] = await json('tokens', 'list');
    return rows.filter(({ description }) => description.startsWith('deploy')).map(({ context }) => context);
  };
  for (const _again of [1, 2]) {
    const { code, stderr } = await run('jobs', 'run', 'rotate');
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(await made()).toEqual(['aap/gateway']);
  }
  const token = readFileSync(join(folder, 'deploy.token'), 'utf8').trim();
  const me = await fetch(`${platform.url}/api/gateway/v1/me/`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(me.status).toBe(200);
  expect((await run('tokens', 'rotate', '--consumer', 'deploy', '--yes')).code).toBe(0);
  expect(await made()).toEqual(['aap/gateway', 'aap/gateway']);
});
