import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { databaseEstate } from './database-estate.ts';

const { home, addUser, addRole, database, service, url } = databaseEstate();

/** The JSON that a run printed. */
function parsed(run: { readonly stdout: string }) {
  return JSON.parse(run.stdout);
}

/** What is left of a user's: access tokens, live refresh tokens, sessions. */
async function left(name: string): Promise<readonly number[]> {
  const [row] = await database().query<{ access: number; refresh: number; sessions: number }>(
    `SELECT (SELECT count(*) FROM main_oauth2accesstoken t WHERE t.user_id = u.id) AS access,
       (SELECT count(*) FROM oauth2_provider_refreshtoken r WHERE r.user_id = u.id AND r.revoked IS NULL) AS refresh,
       (SELECT count(*) FROM main_usersessionmembership m WHERE m.user_id = u.id) AS sessions
     FROM auth_user u WHERE u.username = $1`,
    [name],
  );
  return row === undefined ? [] : [row.access, row.refresh, row.sessions];
}

describe('lists', () => {
  test('access tokens with their last use and fingerprint', async () => {
    const user = await addUser();
    const { run } = home();
    const listed = parsed(await run(['tokens', 'list', '--user', user.name, '--json']));
    expect(listed).toEqual([
      expect.objectContaining({
        id: user.personal.id,
        application: null,
        fingerprint: user.personal.fingerprint,
      }),
      expect.objectContaining({
        id: user.issued.id,
        hasRefreshToken: true,
        lastUsed: expect.stringMatching(/Z$/),
      }),
    ]);
    expect((await run(['tokens', 'list', '--user', user.name])).stdout).toMatch(/LAST_USED/);
    const csv = (await run(['tokens', 'list', '--user', user.name, '--csv'])).stdout;
    expect(csv).toMatch(new RegExp(`${user.personal.fingerprint},$`, 'm'));
  });

  test('snapshots of tokens, and what changed since', async () => {
    const user = await addUser();
    const { run, folder } = home();
    const [early, late] = [join(folder, 'early.json'), join(folder, 'late.json')];
    const of = ['--user', user.name];
    expect(parsed(await run(['tokens', 'snapshot', early, ...of, '--json']))).toMatchObject({
      ...{ output: early, selection: `tokens of ${user.name}`, tokens: 2, notSeen: null },
    });
    expect(statSync(early).mode & 0o777).toBe(0o600);
    expect((await run(['tokens', 'snapshot', early, ...of])).code).toBe(2);
    const { stdout: same } = await run(['tokens', 'diff', early, ...of]);
    expect(same).toMatch(/^No changes from .+ \(tokens of /);
    expect((await run(['tokens', 'revoke', '--id', String(user.personal.id), '--yes'])).code).toBe(0);
    await database().query(`UPDATE main_oauth2accesstoken SET scope = 'read' WHERE id = $1`, [
      user.issued.id,
    ]);
    expect((await run(['tokens', 'snapshot', late, ...of])).code).toBe(0);
    await database().query(`UPDATE main_oauth2accesstoken SET scope = 'write' WHERE id = $1`, [
      user.issued.id,
    ]);
    const changed = parsed(await run(['tokens', 'diff', early, late, '--json']));
    expect(changed).toMatchObject({
      tellsUse: true,
      changes: [{ change: 'gone', token: { id: user.personal.id } }],
    });
    const { stdout: now } = await run(['tokens', 'diff', late, ...of]);
    expect(now).toContain(`Gained write access: 1 token of ${user.name} (1).`);
    for (const [wrong, why] of [
      [[late, early], 'in the wrong order'],
      [[late], `of different selections: tokens of ${user.name}, and every token`],
      [[join(folder, 'none.json')], 'does not exist'],
    ] as const) {
      const refused = await run(['tokens', 'diff', ...wrong]);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(why)]);
    }
  });

  test('refresh tokens, by state', async () => {
    const user = await addUser();
    const { run } = home();
    const listed = parsed(await run(['refresh-tokens', 'list', '--user', user.name, '--json']));
    expect(listed.map((token: { state: string }) => token.state)).toEqual(['live', 'orphaned', 'revoked']);
    expect(listed[0]).toEqual({
      id: user.beside.id,
      user: { id: expect.any(Number), username: user.name },
      application: { id: expect.any(Number), name: 'chatops' },
      state: 'live',
      created: expect.stringMatching(/Z$/),
      expires: expect.stringMatching(/Z$/),
      revoked: null,
      accessTokenId: user.issued.id,
      fingerprint: user.beside.fingerprint,
    });
    const states = ['--state', 'orphaned', '--state', 'revoked'];
    const some = await run(['refresh-tokens', 'list', '--user', user.name, ...states, '--csv']);
    const [heading, ...rows] = some.stdout.trimEnd().split('\n');
    expect(heading).toBe('id,user,application,state,created,expires,revoked,access_token,fingerprint');
    expect(rows).toHaveLength(2);
    const none = await run(['refresh-tokens', 'list', '--application', 'chatops', '--user', 'admin']);
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'No refresh tokens.\n' });
    expect((await run(['refresh-tokens', 'list', '--user', 'nobody-here'])).code).toBe(2);
  });

  test('sessions, without their keys', async () => {
    const user = await addUser();
    const { run } = home();
    const listed = parsed(await run(['sessions', 'list', '--user', user.name, '--json']));
    expect(listed).toEqual([
      {
        user: { id: expect.any(Number), username: user.name },
        created: expect.stringMatching(/Z$/),
        expires: expect.stringMatching(/Z$/),
        fingerprint: expect.stringMatching(/^[0-9a-f]{12}$/),
      },
    ]);
    expect((await run(['sessions', 'list', '--user', user.name])).stdout).toMatch(/^USER +CREATED +EXPIRES/);
    expect((await run(['sessions', 'list', '--user', 'admin'])).stderr).toBe('No sessions.\n');
  });
});

describe('tokens revoke', () => {
  test('takes refresh tokens along, those without an access token too, and says all numbers', async () => {
    const user = await addUser();
    const { run } = home();
    const revoke = ['tokens', 'revoke', '--user', user.name];
    const dry = await run([...revoke, '--with-sessions', '--dry-run']);
    expect(dry.code).toBe(0);
    expect(dry.stdout).toMatch(/^Would revoke 2 access tokens and 2 refresh tokens, and end 1 session: /);
    expect(dry.stdout).toMatch(
      /^Access tokens: +2\nRefresh tokens: +2: 1 of these access tokens, 1 orphaned\nSessions: +1$/m,
    );
    expect(await left(user.name)).toEqual([2, 2, 1]);
    const { plan } = parsed(await run([...revoke, '--dry-run', '--json']));
    expect(plan).toMatchObject({
      tokenIds: [user.personal.id, user.issued.id],
      reach: { refreshTokens: true, sessions: false },
      refreshTokensBeside: 1,
      refreshTokenIds: [user.orphaned.id],
      sessions: null,
    });
    const done = await run([...revoke, '--yes']);
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(
      /^Revoked 2 of 2 access tokens in .*\nRevoked 2 of 2 refresh tokens\.\nVerified: /m,
    );
    expect(done.stdout).toMatch(/none of 2 access tokens and 2 refresh tokens is listed/);
    expect(await left(user.name)).toEqual([0, 0, 1]);
    const again = await run([...revoke, '--yes', '--json']);
    expect(again.code).toBe(0);
    expect(parsed(again)).toMatchObject({ dryRun: false, plan: { tokenIds: [], refreshTokenIds: [] } });
  });

  test('names no ids of a plan of more than ten thousand tokens', { tags: ['long'] }, async () => {
    const user = await addUser();
    await database().execute(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
       SELECT encode(sha256(($1 || n)::bytea), 'hex'), now() + interval '1 day', 'read',
         (SELECT id FROM auth_user WHERE username = $1) FROM generate_series(1, 10000) n`,
      [user.name],
    );
    const { run } = home();
    const revoke = ['tokens', 'revoke', '--user', user.name];
    expect(parsed(await run([...revoke, '--dry-run', '--json'])).plan).toMatchObject({
      accessTokens: 10_002,
      refreshTokens: 2,
      tokenIds: null,
      owners: null,
      refreshTokenIds: null,
      refreshTokenOwners: null,
      byUser: [{ name: user.name, count: 10_002 }],
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await run([...revoke, '--yes'])).code).toBe(0);
    expect(await left(user.name)).toEqual([0, 0, 1]);
  });

  test('ends sessions as well where it is told to', { tags: ['long'] }, async () => {
    const user = await addUser();
    const { run } = home();
    const done = await run(['tokens', 'revoke', '--user', user.name, '--with-sessions', '--yes', '--json']);
    expect(done.code).toBe(0);
    expect(parsed(done)).toMatchObject({
      planned: 2,
      revoked: 2,
      refreshTokens: { planned: 2, revoked: 2, failed: [], stillAlive: [] },
      sessions: { planned: 1, ended: 1, stillAlive: 0 },
      verified: true,
    });
    expect(await left(user.name)).toEqual([0, 0, 0]);
  });

  test('leaves refresh tokens alive with --access-only, says so, and finds them later', {
    tags: ['long'],
  }, async () => {
    const user = await addUser();
    const { run } = home();
    const done = await run(['tokens', 'revoke', '--user', user.name, '--access-only', '--yes']);
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^Revoked 2 of 2 tokens/m);
    expect(done.stdout).toMatch(/Still open:\n +OPEN +Refresh tokens/);
    expect(await left(user.name)).toEqual([0, 2, 1]);
    const rest = await run(['tokens', 'revoke', '--user', user.name, '--yes']);
    expect(rest.code).toBe(0);
    expect(rest.stdout).toMatch(
      /^Revoked 2 of 2 refresh tokens in .*\nVerified: none of 2 refresh tokens is listed any more\.$/m,
    );
    expect(rest.stdout).not.toMatch(/0 (of 0 )?access tokens/);
    expect(await left(user.name)).toEqual([0, 0, 1]);
  });

  test('over REST there are no sessions to end', async () => {
    const env = {
      CONTROLLER_HOST: service(),
      CONTROLLER_USERNAME: 'admin',
      CONTROLLER_PASSWORD: 'correct horse',
    };
    const revoke = ['tokens', 'revoke', '--all', '--with-sessions', '--yes'];
    for (const args of [revoke, ['sessions', 'list'], ['refresh-tokens', 'list']]) {
      const { code, stderr } = await home().run(args, { env });
      expect([code, stderr]).toEqual([4, expect.stringMatching(/^Error: .*(sessions|refresh tokens)/i)]);
    }
  });
});

describe('sessions expire', () => {
  test('plans, ends and verifies, of the users that are named', async () => {
    const [user, other] = [await addUser(), await addUser()];
    const { run } = home();
    const expire = ['sessions', 'expire', '--user', user.name];
    const dry = await run([...expire, '--dry-run', '--json']);
    expect(parsed(dry)).toMatchObject({
      dryRun: true,
      plan: { sessions: { count: 1 }, byUser: [{ name: user.name, count: 1 }] },
    });
    expect((await run([...expire, '--dry-run'])).stdout).toMatch(/^Would end 1 session: .*\n(.*\n)*Dry run/);
    const done = await run([...expire, '--yes']);
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^Ended 1 of 1 session in .*\nVerified: /m);
    expect((await left(user.name))[2]).toBe(0);
    expect((await left(other.name))[2]).toBe(1);
    expect((await run([...expire, '--yes'])).stdout).toMatch(/^No sessions to end/);
  });

  test('takes nothing for everything', async () => {
    const { run } = home();
    const { code, stderr } = await run(['sessions', 'expire', '--yes']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/No sessions are selected.*\n.*--all/)]);
    expect((await run(['sessions', 'expire', '--all'])).stderr).toMatch(/without a terminal/);
    expect((await run(['sessions', 'expire', '--all', '--user', 'x', '--yes'])).code).toBe(2);
  });
});

describe('tokens cleanup', () => {
  test('deletes what is over, and keeps what was revoked lately', { tags: ['long'] }, async () => {
    const user = await addUser();
    await database().execute(
      `UPDATE main_oauth2accesstoken SET expires = now() - interval '1 hour' WHERE id = $1`,
      [user.personal.id],
    );
    await database().execute(
      `UPDATE oauth2_provider_refreshtoken SET created = now() - interval '1 hour' WHERE id = $1`,
      [user.orphaned.id],
    );
    const { run } = home();
    const dry = parsed(await run(['tokens', 'cleanup', '--dry-run', '--keep-revoked-for', '50d', '--json']));
    expect(dry.dryRun).toBe(true);
    expect(dry.plan.counts.revokedRefreshTokens).toBe(0);
    const limited = parsed(await run(['tokens', 'cleanup', '--dry-run', '--limit', '1', '--json']));
    expect(limited.plan).toMatchObject({ total: 1, limited: true });
    const shown = await run(['tokens', 'cleanup', '--dry-run']);
    expect(shown.stdout).toMatch(/^Would delete \d+ rows\.\n.*\n\n(.*\n)* +\d+ {2}orphaned refresh tokens\n/);
    const done = await run(['tokens', 'cleanup', '--yes']);
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^Deleted (\d+) of \1 rows/m);
    const refresh = parsed(await run(['refresh-tokens', 'list', '--user', user.name, '--json']));
    expect(refresh.map(({ id }: { id: number }) => id)).toEqual([user.beside.id]);
    const access = parsed(await run(['tokens', 'list', '--user', user.name, '--json']));
    expect(access.map(({ id }: { id: number }) => id)).toEqual([user.issued.id]);
    expect((await run(['tokens', 'cleanup', '--yes'])).stdout).toMatch(/^Nothing to clean up\./);
  });
});

describe('tokens create', () => {
  test('makes a token of the user that is named, and it works', async () => {
    const user = await addUser();
    const { folder, run } = home();
    const output = join(folder, 'robot.token');
    const create = ['tokens', 'create', '--scope', 'read', '--output', output, '--yes'];
    expect(await run(create)).toMatchObject({ code: 2, stderr: expect.stringContaining('--user') });
    const made = await run([...create, '--user', user.name, '--json']);
    expect(made.code).toBe(0);
    expect(parsed(made).token).toMatchObject({ user: { username: user.name }, scope: 'read' });
    const value = readFileSync(output, 'utf8').trim();
    expect(made.stdout + made.stderr).not.toContain(value);
    const me = await fetch(`${service()}/api/v2/me/`, { headers: { authorization: `Bearer ${value}` } });
    expect(me.status).toBe(200);
    const rotated = join(folder, 'rotated.token');
    const rotate = [
      'tokens',
      'rotate',
      String(parsed(made).token.id),
      '--output',
      rotated,
      '--expires',
      '90d',
    ];
    const done = parsed(await run([...rotate, '--yes', '--json']));
    expect(done).toMatchObject({ tried: 'read_again', revocation: { revoked: 1, verified: true } });
    expect(Date.parse(done.token.expires) - Date.parse(done.token.created)).toBe(90 * 86_400_000);
    const statusOf = async (path: string) => {
      const authorization = `Bearer ${readFileSync(path, 'utf8').trim()}`;
      return (await fetch(`${service()}/api/v2/me/`, { headers: { authorization } })).status;
    };
    expect([await statusOf(rotated), await statusOf(output)]).toEqual([200, 401]);
    const other = join(folder, 'other.token');
    const nobody = await run([
      'tokens',
      'create',
      '--scope',
      'read',
      '--output',
      other,
      '--yes',
      '--user',
      'nobody',
    ]);
    expect(nobody).toMatchObject({ code: 2, stderr: expect.stringContaining('nobody') });
    expect(existsSync(other)).toBe(false);
  });
});

describe('settings', () => {
  test('are written in the table, and hold at once for the service', async () => {
    const { run } = home();
    const off = await run(['settings', 'basic-auth', 'off', '--yes', '--json']);
    expect(parsed(off)).toEqual({
      setting: 'AUTH_BASIC_ENABLED',
      enabled: false,
      changed: true,
      dryRun: false,
      holds: 'at_once',
      rescueToken: null,
    });
    const on = await run(['settings', 'basic-auth', 'on', '--yes']);
    expect(on.stdout).toMatch(/\nBasic authentication is on now\.\n$/);
  });

  test('token-lifetime changes what is given, and keeps the rest', { tags: ['long'] }, async () => {
    const { run } = home();
    const before = parsed(await run(['settings', 'token-lifetime', '--json']));
    const set = ['settings', 'token-lifetime', '--access', '90d', '--code', '300'];
    const dry = await run([...set, '--dry-run']);
    expect(dry.stdout).toMatch(/^Would set at .*:\n {2}Access tokens live: +90 days \(7776000 s\) /);
    expect(await run(set)).toMatchObject({ code: 2, stderr: expect.stringContaining('without a terminal') });
    const done = parsed(await run([...set, '--yes', '--json']));
    expect(done).toMatchObject({
      changed: true,
      lifetimes: {
        ...before.lifetimes,
        ACCESS_TOKEN_EXPIRE_SECONDS: 7_776_000,
        AUTHORIZATION_CODE_EXPIRE_SECONDS: 300,
      },
    });
    const [row] = await database().query<{ value: object }>(
      "SELECT value FROM conf_setting WHERE key = 'OAUTH2_PROVIDER'",
    );
    expect(row?.value).toEqual(done.lifetimes);
    expect((await run([...set, '--yes'])).stdout).toMatch(/Already set\. Nothing was changed\.\n$/);
  });
});

describe('the way to the database', () => {
  test('context check says what is there, as whom, and how it travels', async () => {
    const { run } = home();
    const checked = parsed(await run(['context', 'check', '--json']));
    expect(checked).toMatchObject({
      context: 'db',
      dialect: 'service',
      version: null,
      credential: 'database_role',
      transport: 'plain',
      missingRights: [],
    });
    const { stdout } = await run(['context', 'check']);
    expect(stdout).toMatch(
      /Target: {3}the tables of tokenctl's own service at postgresql:\/\/127\.0\.0\.1:\d+\/test_/,
    );
    expect(stdout).toMatch(/Can do: .*revoke refresh tokens, end sessions, clean up/);
    // A role of a database is no user of the controller.
    expect(stdout).not.toMatch(/Cannot|GRANT|superuser/);
  });

  test('--database-file works there without a context', async () => {
    const { folder, run } = home();
    const file = join(folder, 'controller.database');
    const checked = parsed(await run(['context', 'check', '--database-file', file, '--json']));
    expect(checked.context).toBe('database');
    const both = await run(['tokens', 'list', '--database-file', file, '--context', 'db']);
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be used together') });
    expect((await run(['context', 'check', 'db', '--database-file', file])).code).toBe(2);
    writeFileSync(join(folder, 'open.database'), url(), { mode: 0o644 });
    const open = await run(['tokens', 'list', '--database-file', join(folder, 'open.database')]);
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') });
  });

  test('TOKENCTL_DATABASE names it, and beside CONTROLLER_HOST is too much', async () => {
    const { run } = home('postgres://nobody@127.0.0.1:1/none');
    const env = { TOKENCTL_DATABASE: url() };
    expect(parsed(await run(['context', 'check', '--json'], { env })).context).toBe('environment');
    const both = { ...env, CONTROLLER_HOST: service() };
    for (const json of [[], ['--json']]) {
      const { code, stdout, stderr } = await run(['tokens', 'list', ...json], { env: both });
      expect(code).toBe(2);
      expect(stdout + stderr).toMatch(/selects two controllers: CONTROLLER_HOST and TOKENCTL_DATABASE/);
    }
  });

  test.each([
    ['a wrong password', (wrong: URL) => Object.assign(wrong, { password: 'wr0ng-pa55' }), 4],
    [
      'a port where nobody listens',
      (wrong: URL) => Object.assign(wrong, { port: '1', password: 'wr0ng-pa55' }),
      7,
    ],
    [
      'a host that does not exist',
      (wrong: URL) => Object.assign(wrong, { host: 'db.invalid', password: 'wr0ng-pa55' }),
      7,
    ],
    ['a database that does not exist', (wrong: URL) => Object.assign(wrong, { pathname: '/nowhere' }), 7],
  ])('%s has its exit code, and the password is not printed', async (_name, change, exit) => {
    const wrong = change(new URL(url()));
    const { run } = home(wrong.href);
    const env = { TOKENCTL_DEBUG: '1' };
    for (const args of [
      ['tokens', 'list'],
      ['tokens', 'list', '--json'],
      ['context', 'check'],
    ]) {
      const { code, stdout, stderr } = await run(args, { env });
      expect(code).toBe(exit);
      expect(stdout + stderr).not.toContain(decodeURIComponent(wrong.password));
    }
  });

  test('a database of something else is refused', async () => {
    const other = new URL(url());
    other.pathname = '/postgres';
    const { code, stderr } = await home(other.href).run(['tokens', 'list']);
    expect([code, stderr]).toEqual([4, expect.stringMatching(/it has none of their tables/)]);
  });

  test('a role that may only read lists, and is told what it lacks', { tags: ['long'] }, async () => {
    const user = await addUser();
    const reader = home(await addRole(['GRANT SELECT ON ALL TABLES IN SCHEMA public TO ROLE']));
    expect(parsed(await reader.run(['tokens', 'list', '--user', user.name, '--json']))).toHaveLength(2);
    const { stdout, code } = await reader.run(['context', 'check']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/To revoke tokens, this role needs:\n( {2}GRANT .* TO role_\w+;\n)+/);
    expect(stdout).toMatch(/Cannot: .*revoke access tokens/);
    for (const json of [[], ['--json']]) {
      const refused = await reader.run(['tokens', 'revoke', '--user', user.name, '--yes', ...json]);
      expect(refused.code).toBe(4);
      expect(refused.stdout + refused.stderr).toMatch(/main_oauth2accesstoken/);
    }
    expect(await left(user.name)).toEqual([2, 2, 1]);
  });
});

describe('the audit log in a database', () => {
  test('holds what was done, and names its place without the password', async () => {
    const user = await addUser();
    const { folder, run } = home();
    const env = { TOKENCTL_AUDIT_DATABASE: url() };
    const done = await run(['tokens', 'revoke', '--user', user.name, '--yes', '--json'], { env });
    expect(done.code).toBe(0);
    const entries = parsed(await run(['log', 'list', '--raw', '--json', '--run', parsed(done).run], { env }));
    expect(entries.length).toBeGreaterThan(3);
    const verified = await run(['log', 'verify'], { env });
    expect(verified).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^Checked: each entry follows from the previous one, from entry 1 to \d+, in the database with its URL in \$TOKENCTL_AUDIT_DATABASE\.\nNot checked: /,
      ),
    });
    expect(parsed(await run(['log', 'verify', '--json'], { env }))).toMatchObject({
      database: 'with its URL in $TOKENCTL_AUDIT_DATABASE',
      head: { hash: expect.any(String) },
    });
    expect(existsSync(join(folder, '.local/state/tokenctl/audit.jsonl'))).toBe(false);
    const inFile = await run(['log', 'list', '--raw', '--log-file', join(folder, 'none.jsonl'), '--json'], {
      env,
    });
    expect(inFile.stdout).toBe('[]\n');
  });

  test('that cannot be reached lets nothing be changed', async () => {
    const user = await addUser();
    const { run } = home();
    const gone = new URL(url());
    gone.port = '1';
    const env = { TOKENCTL_AUDIT_DATABASE: gone.href, TOKENCTL_DEBUG: '1' };
    for (const json of [[], ['--json']]) {
      const { code, stdout, stderr } = await run(
        ['tokens', 'revoke', '--user', user.name, '--yes', ...json],
        { env },
      );
      expect(code).toBe(6);
      expect(stdout + stderr).toMatch(/audit log .*TOKENCTL_AUDIT_DATABASE/);
      expect(stdout + stderr).not.toContain(decodeURIComponent(gone.password));
    }
    expect(await left(user.name)).toEqual([2, 2, 1]);
  });
});

describe('context add', () => {
  test('keeps a database as a reference or without a password', async () => {
    const { folder, run } = home();
    const file = join(folder, 'controller.database');
    const added = await run(['context', 'add', 'other', '--database-file', file, '--json']);
    expect(added.code).toBe(0);
    expect(parsed(added)).toEqual({
      name: 'other',
      current: false,
      kind: 'database',
      database: { file },
      file: join(folder, '.config/tokenctl/tokenctl.yaml'),
    });
    const plain = 'postgres://reader@db.example/awx';
    expect((await run(['context', 'add', 'plain', '--database', plain])).code).toBe(0);
    expect((await run(['context', 'add', 'env', '--database-env', 'DB'])).code).toBe(0);
    const listed = await run(['context', 'list', '--json']);
    expect(parsed(listed).map(({ kind, database: where }: Record<string, unknown>) => [kind, where])).toEqual(
      [
        ['database', { file }],
        ['database', { file }],
        ['database', plain],
        ['database', { env: 'DB' }],
      ],
    );
    expect((await run(['context', 'list'])).stdout).toMatch(/database +URL in \$DB/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['nothing', [], /No address given.*\n.*--url.*--database-file/],
    ['a URL beside it', ['--url', 'https://x', '--database-env', 'D'], /cannot be used together/],
    ['two databases', ['--database', 'service=x', '--database-env', 'D'], /cannot be used together/],
    [
      'a credential',
      ['--database-env', 'D', '--token-env', 'T'],
      /--token-env cannot be used with a database/,
    ],
    ['a user name', ['--database-env', 'D', '--username', 'u'], /username requires a url/],
    ['a password in it', ['--database', 'postgres://u:s3cretpw@h/d'], /must not contain a password/],
    ['a file that is not there', ['--database-file', '/nowhere'], /does not exist/],
  ])('refuses %s', async (_name, flags, message) => {
    const { code, stderr } = await home().run(['context', 'add', 'new', ...flags]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('s3cretpw');
  });
});

test('a change over REST and in the database of one controller says that it revoked the token of the REST context', async () => {
  const { folder, run } = home();
  const made = await fetch(`${service()}/api/v2/users/1/personal_tokens/`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('admin:correct horse')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ scope: 'write' }),
  });
  const { token } = (await made.json()) as { token: string };
  const file = join(folder, 'rest.token');
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  const added = await run(['context', 'add', 'rest', '--url', service(), '--token-file', file]);
  expect(added.code).toBe(0);
  const revoke = ['tokens', 'revoke', '--user', 'admin', '--all-contexts', '--yes'];
  const revoked = await run([...revoke, '--json']);
  expect(revoked.code).toBe(0);
  const { contexts } = parsed(revoked);
  const rest = contexts.find(({ context }: { context: string }) => context === 'rest');
  expect(rest).toMatchObject({ credentialRevokedBy: 'db' });
  // The REST context may have been first, and kept its own token.
  expect(['done', 'credentials_refused']).toContain(rest.state);
  expect(rest.error).toBeUndefined();
  const again = await run(revoke);
  expect(again.code).toBe(5);
  expect(again.stderr).toContain('does not accept the token');
  expect(again.stderr).not.toContain('Run the same command again');
});

test('an organization and a team select the tokens of their users, over REST as in the database', async () => {
  const [member, administrator, other] = [await addUser(), await addUser(), await addUser()];
  const admin = `Basic ${btoa('admin:correct horse')}`;
  const post = async (path: string, body: object, authorization = admin) => {
    const answer = await fetch(`${service()}/api/v2/${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? {} : await answer.json();
  };
  const idOf = async ({ name }: { name: string }) =>
    (await database().query<{ id: number }>('SELECT id FROM auth_user WHERE username = $1', [name]))[0]?.id;
  const organization = (await post('organizations/', { name: 'Eng' })).id;
  await post(`organizations/${organization}/users/`, { id: await idOf(member) });
  await post(`organizations/${organization}/admins/`, { id: await idOf(administrator) });
  const team = (await post('teams/', { name: 'Ops', organization })).id;
  await post(`teams/${team}/users/`, { id: await idOf(other) });

  const { folder, run } = home();
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'correct horse\n', { mode: 0o600 });
  const viewer = join(folder, 'viewer');
  writeFileSync(viewer, 'a password of nobody else\n', { mode: 0o600 });
  await post(`organizations/${organization}/users/`, {
    username: 'viewer',
    password: 'a password of nobody else',
  });
  const add = (name: string, user: string, file: string) =>
    run(['context', 'add', name, '--url', service(), '--username', user, '--password-file', file]);
  expect((await add('rest', 'admin', secret)).code).toBe(0);
  expect((await add('part', 'viewer', viewer)).code).toBe(0);

  const owners = async (context: string, ...flags: string[]) => {
    const listed = await run(['tokens', 'list', '--context', context, ...flags, '--json']);
    expect(listed.stderr).toBe('');
    const tokens: { user: { username: string } }[] = parsed(listed);
    return [...new Set(tokens.map(({ user }) => user.username))].sort();
  };
  for (const context of ['rest', 'db']) {
    expect(await owners(context, '--organization', 'Eng')).toEqual([member.name, administrator.name].sort());
    expect(await owners(context, '--team', 'Eng/Ops')).toEqual([other.name]);
    expect(await owners(context, '--team', 'Ops', '--organization', 'Eng')).toEqual([]);
    const counted = await run([
      ...['tokens', 'list', '--context', context, '--count-by', 'organization', '--json'],
      ...[member, administrator, other].flatMap(({ name }) => ['--user', name]),
    ]);
    expect(parsed(counted)).toEqual([
      { name: 'Eng', tokens: 4 },
      { name: null, tokens: 2 },
    ]);
    const dry = await run(['tokens', 'revoke', '--context', context, '--team', 'Ops', '--dry-run', '--json']);
    expect(parsed(dry).plan).toMatchObject({
      selection: `tokens of members and administrators of the team Eng/Ops (1 user: ${other.name})`,
      accessTokens: 2,
    });
    const wrong = await run(['tokens', 'revoke', '--context', context, '--organization', 'Engg', '--yes']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean "Eng"?')]);
  }
  // Some of the tokens may be hidden, and who is of the organization as well.
  const refused = await run(['tokens', 'revoke', '--context', 'part', '--organization', 'Eng', '--yes']);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain('Revoking by organization or team requires an account that can see all');
  const seen = await run(['tokens', 'list', '--context', 'part', '--organization', 'Eng']);
  expect(seen.stderr).toContain('Not all tokens are included');
  expect(await left(other.name)).toEqual([2, 2, 1]);
  expect((await run(['tokens', 'revoke', '--organization', 'Eng', '--yes'])).code).toBe(0);
  expect([await left(member.name), await left(administrator.name), await left(other.name)]).toEqual([
    [0, 0, 1],
    [0, 0, 1],
    [2, 2, 1],
  ]);
  const hidden = await addRole([
    'GRANT SELECT ON ALL TABLES IN SCHEMA public TO ROLE',
    'REVOKE SELECT ON service_team_role FROM ROLE',
  ]);
  const untold = await home(hidden).run(['tokens', 'list', '--team', 'Ops']);
  expect([untold.code, untold.stderr]).toEqual([
    4,
    expect.stringContaining('is not allowed to read who belongs to which team'),
  ]);
});

test('over REST, the linked database tells what that API does not list; without an answer, all goes on', async () => {
  const user = await addUser();
  const { folder, run } = home();
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'correct horse\n', { mode: 0o600 });
  const add = (name: string, database: string) =>
    run([
      ...['context', 'add', name, '--url', service(), '--username', 'admin', '--password-file', secret],
      ...['--database-context', database],
    ]);
  const gone = join(folder, 'gone.database');
  writeFileSync(gone, 'postgres://nobody@127.0.0.1:1/none\n', { mode: 0o600 });
  expect((await run(['context', 'add', 'gone', '--database-file', gone])).code).toBe(0);
  expect((await add('rest', 'db')).code).toBe(0);
  expect((await add('alone', 'gone')).code).toBe(0);

  const show = async (context: string) => await run(['users', 'show', user.name, '--context', context]);
  expect((await show('rest')).stdout).toMatch(
    /Refresh tokens: +1 live, 1 orphaned \(read in the database context db\)\n *Sessions: +1 \(read in the database context db\)/,
  );
  expect(await show('alone')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Refresh tokens: +not read in the database context gone: .*127\.0\.0\.1:1/),
  });
  const shown = parsed(await run(['users', 'show', user.name, '--context', 'rest', '--json']));
  expect(shown).toMatchObject({
    refreshTokens: { live: 1, expired: 0, orphaned: 1 },
    sessions: 1,
    database: { context: 'db', problem: null },
  });

  const paths = async (context: string, ...flags: string[]) => {
    const done = await run(['tokens', 'revoke', '--context', context, '--json', ...flags]);
    expect([done.code, done.stderr]).toEqual([0, expect.any(String)]);
    const { accessPaths, plan } = parsed(done);
    const found: { path: string; state: string; count?: number; how: string }[] =
      accessPaths ?? plan.accessPaths;
    return Object.fromEntries(found.map(({ path, state, count }) => [path, [state, count]]));
  };
  const ofUser = ['--user', user.name];
  const sessions = await run([
    'tokens',
    'revoke',
    '--context',
    'rest',
    ...ofUser,
    '--with-sessions',
    '--yes',
  ]);
  expect([sessions.code, sessions.stderr]).toEqual([4, expect.stringContaining('Use --context db')]);
  const one = ['--id', String(user.personal.id), '--dry-run'];
  expect(await paths('rest', ...one)).toMatchObject({
    refresh_tokens: ['closed', undefined],
    sessions: ['open', 1],
  });
  expect(await paths('rest', ...ofUser, '--dry-run')).toMatchObject({
    refresh_tokens: ['open', 2],
    authorization_codes: ['closed', undefined],
    sessions: ['open', 1],
  });
  expect(await paths('alone', ...ofUser, '--yes')).toMatchObject({
    refresh_tokens: ['not_checked', 1],
    sessions: ['not_checked', undefined],
  });
  expect(await left(user.name)).toEqual([0, 2, 1]);
  const text = await run(['tokens', 'revoke', '--context', 'rest', ...ofUser, '--dry-run']);
  expect(text.stdout).toContain('Nothing to revoke');
  expect(text.stdout).toContain(`\`tokenctl tokens revoke --context db --user ${user.name}\``);
});
