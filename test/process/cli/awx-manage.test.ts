import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { databaseEstate } from './database-estate.ts';

const { home, addUser, addRole, database, service } = databaseEstate();

const NO_USER = 'CommandError: A user with that username does not exist.\n';

/** How many access tokens, live refresh tokens and sessions there are. */
async function counts(): Promise<readonly number[]> {
  const [row] = await database().query<{ access: number; refresh: number; sessions: number }>(
    `SELECT (SELECT count(*) FROM main_oauth2accesstoken) AS access,
       (SELECT count(*) FROM oauth2_provider_refreshtoken WHERE revoked IS NULL) AS refresh,
       (SELECT count(*) FROM django_session) AS sessions`,
  );
  return row === undefined ? [] : [row.access, row.refresh, row.sessions];
}

describe('revoke_oauth2_tokens', () => {
  test("revokes a user's access tokens, a line each, and leaves refresh tokens alive", async () => {
    const [user, other] = [await addUser(), await addUser()];
    const before = await counts();
    const { code, stdout, stderr } = await home().run(['revoke_oauth2_tokens', '--user', user.name]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(
      `revoked OAuth2AccessToken ${user.personal.fingerprint}\nrevoked OAuth2AccessToken ${user.issued.fingerprint}\n`,
    );
    expect(await counts()).toEqual([(before[0] ?? 0) - 2, before[1], before[2]]);
    expect(other.personal.id).toBeGreaterThan(0);
  });

  test.each(['--all', '--revoke_refresh'])('revokes refresh tokens as well with %s', async (flag) => {
    const user = await addUser();
    const { run } = home();
    const { code, stdout, stderr } = await run(['revoke_oauth2_tokens', '--user', user.name, flag]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trimEnd().split('\n').sort()).toEqual(
      [
        `revoked OAuth2AccessToken ${user.personal.fingerprint}`,
        `revoked RefreshToken ${user.beside.fingerprint}`,
        `revoked RefreshToken ${user.orphaned.fingerprint}`,
      ].sort(),
    );
    expect(await run(['revoke_oauth2_tokens', '--user', user.name, flag])).toMatchObject({
      code: 0,
      stdout: '',
    });
  });

  test('without a user means all of them', async () => {
    for (const _ of [1, 2]) await addUser();
    const [access = 0, refresh] = await counts();
    const { code, stdout } = await home().run(['revoke_oauth2_tokens']);
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(access);
    expect((await counts()).slice(0, 2)).toEqual([0, refresh]);
    const all = await home().run(['revoke_oauth2_tokens', '--all', '--json']);
    expect(JSON.parse(all.stdout)).toMatchObject({
      planned: 0,
      refreshTokens: { revoked: refresh },
      verified: true,
    });
    expect((await counts()).slice(0, 2)).toEqual([0, 0]);
  });

  test('an unknown user is what the management command says of it, with its exit code', async () => {
    const { run } = home();
    expect(await run(['revoke_oauth2_tokens', '--user', 'nobody-here'])).toEqual({
      code: 1,
      stdout: '',
      stderr: NO_USER,
    });
    const json = await run(['revoke_oauth2_tokens', '--user', 'nobody-here', '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual({
      error: { code: 'not_found', message: 'A user with that username does not exist.' },
    });
  });

  test('an unknown flag ends it with 2, as there', async () => {
    expect((await home().run(['revoke_oauth2_tokens', '--everything'])).code).toBe(2);
  });

  test.each([
    ['revoke_oauth2_tokens', /^Would revoke 2 tokens/],
    ['expire_sessions', /^Would end/],
    ['create_oauth2_token', /^Would create a token with scope write for/],
    ['cleanup_tokens', /^(Would delete|Nothing to)/],
  ] as const)('%s only shows what it would do with --dry-run', async (command, text) => {
    const user = await addUser();
    const before = await counts();
    const who = command === 'cleanup_tokens' ? [] : ['--user', user.name];
    const { code, stdout } = await home().run([command, ...who, '--dry-run']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(text)]);
    expect(stdout).toContain('Nothing was changed');
    expect(await counts()).toEqual(before);
  });

  test('create_oauth2_token is refused with --dry-run as without', async () => {
    const { run } = home();
    for (const more of [[], ['--dry-run']]) {
      expect(await run(['create_oauth2_token', '--user', 'nobody-here', ...more])).toEqual({
        code: 1,
        stdout: '',
        stderr: 'CommandError: The user does not exist.\n',
      });
    }
  });

  test('changes nothing without an audit log', async () => {
    const user = await addUser();
    const before = await counts();
    const args = ['revoke_oauth2_tokens', '--user', user.name, '--log-file', '/proc/audit.jsonl'];
    expect(await home().run(args)).toMatchObject({ code: 6, stdout: '' });
    expect(await counts()).toEqual(before);
  });

  test('says which rights are missing', async () => {
    const user = await addUser();
    const reader = home(await addRole(['GRANT SELECT ON ALL TABLES IN SCHEMA public TO ROLE']));
    const { code, stderr } = await reader.run(['revoke_oauth2_tokens', '--user', user.name]);
    expect([code, stderr]).toEqual([4, expect.stringMatching(/GRANT/)]);
  });

  test('over REST revokes access tokens, and refuses to speak of refresh tokens', {
    tags: ['long'],
  }, async () => {
    const env = {
      CONTROLLER_HOST: service(),
      CONTROLLER_USERNAME: 'admin',
      CONTROLLER_PASSWORD: 'correct horse',
    };
    const user = await addUser();
    const { run } = home();
    const all = await run(['revoke_oauth2_tokens', '--user', user.name, '--all'], { env });
    expect(all).toMatchObject({ code: 4, stdout: '' });
    const bare = await run(['revoke_oauth2_tokens', '--user', user.name], { env });
    expect(bare).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^(revoked OAuth2AccessToken \d+\n){2}$/),
    });
  });
});

describe('create_oauth2_token', () => {
  test('prints the fingerprint, and keeps the value in a new file', async () => {
    const user = await addUser();
    const { folder, run } = home();
    const output = join(folder, 'robot.token');
    const made = await run(['create_oauth2_token', '--user', user.name, '--output', output]);
    expect(made.code).toBe(0);
    const value = readFileSync(output, 'utf8').trim();
    expect(statSync(output).mode & 0o777).toBe(0o600);
    const [row] = await database().query<{ fingerprint: string; scope: string }>(
      "SELECT left(token, 12) AS fingerprint, scope FROM main_oauth2accesstoken WHERE token = encode(sha256($1::bytea), 'hex')",
      [value],
    );
    expect(row?.scope).toBe('write');
    expect(made.stdout).toBe(`${row?.fingerprint}\n`);
    expect(made.stderr).toBe(`The token is in ${output}, which only you can read.\n`);
    const again = await run(['create_oauth2_token', '--user', user.name, '--output', output]);
    expect(again).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('already exists') });
  });

  test.each([
    [
      'no user',
      [],
      'CommandError: Username not supplied. Usage: awx-manage create_oauth2_token --user=username.\n',
    ],
    ['an unknown user', ['--user', 'nobody-here'], 'CommandError: The user does not exist.\n'],
  ])('%s ends it with 1', async (_name, flags, stderr) => {
    const { folder, run } = home();
    const output = join(folder, 'none.token');
    const args = ['create_oauth2_token', ...flags, '--output', output];
    expect(await run(args)).toEqual({ code: 1, stdout: '', stderr });
    expect(existsSync(output)).toBe(false);
  });

  test('a user of an identity provider is denied with 1, while such users may have none', {
    tags: ['long'],
  }, async () => {
    const user = await addUser();
    await database().execute(
      `INSERT INTO social_auth_usersocialauth (provider, uid, user_id)
       SELECT 'github', username, id FROM auth_user WHERE username = $1`,
      [user.name],
    );
    const { folder, run } = home();
    const args = ['create_oauth2_token', '--user', user.name, '--output', join(folder, 'x.token')];
    const { code, stderr } = await run(args);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^CommandError: \(access_denied\) OAuth2 Tokens cannot/),
    ]);
  });
});

test('cleanup_tokens prints the two lines on stderr, and none with the verbosity 0', async () => {
  const user = await addUser();
  await database().execute(
    "UPDATE main_oauth2accesstoken SET expires = now() - interval '1 day' WHERE id = $1",
    [user.personal.id],
  );
  const { run } = home();
  const { code, stdout, stderr } = await run(['cleanup_tokens']);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(
    /^Expired OAuth 2 Access Tokens deleted: 1\nExpired OAuth 2 Refresh Tokens deleted: [1-9]\d*\n$/,
  );
  expect((await run(['cleanup_tokens'])).stderr).toBe(
    'Expired OAuth 2 Access Tokens deleted: 0\nExpired OAuth 2 Refresh Tokens deleted: 0\n',
  );
  expect(await run(['cleanup_tokens', '-v', '0'])).toEqual({ code: 0, stdout: '', stderr: '' });
  const json = await run(['cleanup_tokens', '--json']);
  expect([json.stderr, JSON.parse(json.stdout)]).toMatchObject(['', { plan: { total: 0 } }]);
});

describe('expire_sessions', () => {
  test('ends sessions without a word', async () => {
    const user = await addUser();
    await addUser();
    const sessions = (await counts())[2] ?? 0;
    const { run } = home();
    expect(await run(['expire_sessions', '--user', user.name])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await counts())[2]).toBe(sessions - 1);
    expect(await run(['expire_sessions'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await counts())[2]).toBe(0);
    expect(await run(['expire_sessions'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('an unknown user ends it with 1', { tags: ['long'] }, async () => {
    expect(await home().run(['expire_sessions', '--user', 'nobody-here'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'CommandError: The user does not exist.\n',
    });
  });
});
