import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { estate } from './estate.ts';

// More than one page of the service's lists.
const TOKENS = 210;
const { home, url } = estate({ users: 60, tokens: TOKENS });

interface TokenJson {
  readonly id: number;
  readonly user: { readonly username: string };
  readonly application: { readonly id: number } | null;
  readonly description: string;
  readonly scope: string;
  readonly expires: string;
  readonly lastUsedOn?: string | null;
}

function withoutTokens({ accessTokens: _, ...user }: { accessTokens?: number }): object {
  return user;
}

describe('tokens list', () => {
  test('prints one JSON array, a token a line', async () => {
    const { stdout, stderr, code } = await home().run(['tokens', 'list', '--json']);
    expect([code, stderr]).toEqual([0, '']);
    const tokens = JSON.parse(stdout) as TokenJson[];
    expect(tokens).toHaveLength(TOKENS);
    expect(stdout.trimEnd().split('\n')).toHaveLength(TOKENS + 2);
    expect(tokens[0]).toEqual({
      id: expect.any(Number),
      user: { id: expect.any(Number), username: expect.any(String) },
      application: null,
      scope: expect.any(String),
      description: expect.any(String),
      created: expect.stringMatching(/Z$/),
      expires: expect.stringMatching(/Z$/),
      hasRefreshToken: false,
      fingerprint: null,
    });
  });

  test('narrows by what is given, and an empty array is an array', async () => {
    const { run } = home();
    const write = JSON.parse(
      (await run(['tokens', 'list', '--user', 'backup', '--scope', 'write', '--json'])).stdout,
    ) as TokenJson[];
    expect(write.length).toBeGreaterThan(0);
    expect(write.every(({ user, scope }) => user.username === 'backup' && scope.includes('write'))).toBe(
      true,
    );
    expect((await run(['tokens', 'list', '--created-before', '1990-01-01', '--json'])).stdout).toBe('[]\n');
    expect(await run(['tokens', 'list', '--created-before', '1990-01-01'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No tokens.\n',
    });
  });

  test('prints a table for people, without colors or cut cells where it is no terminal', async () => {
    const { stdout } = await home().run(['tokens', 'list']);
    const [heading, ...rows] = stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^ID +USER +APPLICATION +SCOPE +CREATED +EXPIRES/);
    expect(rows).toHaveLength(TOKENS);
    expect(stdout).toMatch(/never \(\d{4}\)/);
    expect(stdout).not.toContain('…');
    expect(stdout).not.toContain('\u001b');
  });

  test('prints CSV for programs', async () => {
    const { stdout } = await home().run(['tokens', 'list', '--csv']);
    const [heading, first] = stdout.split('\n');
    expect(heading).toBe(
      'id,user,application,scope,created,expires,ends_by,last_used,refresh_token,fingerprint,description',
    );
    expect(first).toMatch(
      /^\d+,[^,]+,[^,]*,(read|write|read write),\d{4}-\d\d-\d\dT[\d:]+Z,\d{4}-\d\d-\d\dT[\d:]+Z,stored,/,
    );
  });

  test('selects by patterns, negations, expiry and finding, and counts', async () => {
    const { run } = home();
    const list = async (...args: string[]) =>
      JSON.parse((await run(['tokens', 'list', '--json', ...args])).stdout) as TokenJson[];
    const ci = await list('--user', 'ci-*', '--not-user', 'ci-lint');
    expect(new Set(ci.map(({ user }) => user.username))).toEqual(new Set(['ci-deploy']));
    const all = await list();
    const names = new Set(all.map(({ user }) => user.username));
    const counts = JSON.parse((await run(['tokens', 'list', '--count-by', 'user', '--json'])).stdout) as {
      name: string;
      tokens: number;
    }[];
    expect(counts).toHaveLength(names.size);
    expect(counts.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(TOKENS);
    expect(counts.map(({ tokens }) => tokens)).toEqual(
      counts.map(({ tokens }) => tokens).sort((a, b) => b - a),
    );
    const endless = all.filter(({ expires }) => Date.parse(expires) > Date.now() + 36_525 * 86_400_000);
    expect(await list('--never-expires')).toEqual(endless);
    expect(await list('--finding', 'never-expires')).toEqual(endless);
    const purposes = new Map<string, number>();
    const live = all.filter(({ expires }) => Date.parse(expires) > Date.now());
    const purpose = ({ user, application, description }: TokenJson) =>
      JSON.stringify([user, application, description]);
    for (const token of live) purposes.set(purpose(token), (purposes.get(purpose(token)) ?? 0) + 1);
    expect(await list('--finding', 'duplicate-purpose')).toEqual(
      live.filter((token) => token.description !== '' && (purposes.get(purpose(token)) ?? 0) > 1),
    );
    const left = await list('--owner-inactive');
    expect(left.length).toBeGreaterThan(0);
    expect(await list('--finding', 'owner-inactive', '--finding', 'expired-present')).toEqual(
      all.filter((token) => left.some(({ id }) => id === token.id) || !live.includes(token)),
    );
  });

  test('the plan of a revocation says which users a pattern matches', { tags: ['long'] }, async () => {
    const { run } = home();
    const args = ['tokens', 'revoke', '--user', 'ci-*', '--not-user', 'ci-lint', '--dry-run', '--json'];
    const { plan } = JSON.parse((await run(args)).stdout) as {
      plan: { selection: string; byUser: readonly { name: string }[] };
    };
    expect(plan.selection).toBe('tokens of ci-* without ci-lint (1 user: ci-deploy)');
    expect(plan.byUser.map(({ name }) => name)).toEqual(['ci-deploy']);
    const unknown = await run(['tokens', 'revoke', '--user', 'ci-*', '--not-user', 'ci-lnt', '--yes']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('Did you mean "ci-lint"?')]);
  });

  test('sorts, limits, and shows the columns that are asked for', { tags: ['long'] }, async () => {
    const { run, folder } = home();
    const sorted = await run([
      'tokens',
      'list',
      '--sort',
      'created:desc',
      '--limit',
      '3',
      '--columns',
      'created,id',
    ]);
    const [heading, ...rows] = sorted.stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^CREATED +ID$/);
    expect(rows).toHaveLength(3);
    expect(rows.map((row) => row.slice(0, 20))).toEqual(
      rows
        .map((row) => row.slice(0, 20))
        .toSorted()
        .reverse(),
    );
    expect(sorted.stderr).toBe('Only the first 3 are listed. There are more.\n');
    const snapshot = join(folder, 'snapshot.json');
    expect((await run(['tokens', 'snapshot', snapshot])).code).toBe(0);
    expect((await run(['tokens', 'diff', snapshot])).stdout).toMatch(
      /^No changes from .+ \(every token\)\.\n/,
    );
    expect(await run(['tokens', 'list', '--columns', 'creatd'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean "created"?'),
    });
    expect(await run(['tokens', 'list', '--sort', 'created:down'])).toMatchObject({ code: 2 });
  });

  test('shows the day of the last use, which the REST API only selects by', { tags: ['long'] }, async () => {
    const { run } = home();
    const csv = await run(['tokens', 'list', '--user', 'backup', '--columns', 'id,last_used', '--csv']);
    const [, ...rows] = csv.stdout.trimEnd().split('\n');
    expect(rows.length).toBeGreaterThan(5);
    for (const row of rows) expect(row).toMatch(/^\d+,(never|\d{4}-\d\d-\d\d)$/);
    const unused = JSON.parse(
      (await run(['tokens', 'list', '--user', 'backup', '--unused-for', '90d', '--json'])).stdout,
    ) as TokenJson[];
    const old = rows.filter((row) => {
      const day = row.split(',')[1] ?? '';
      return day !== 'never' && Date.parse(day) < Date.now() - 91 * 86_400_000;
    });
    const ids = new Set(unused.map(({ id }) => id));
    expect(old.length).toBeGreaterThan(0);
    for (const row of old) expect(ids).toContain(Number(row.split(',')[0]));
    const last = await run(['tokens', 'list', '--user', 'backup', '--sort', 'last_used:desc', '--json']);
    const days = (JSON.parse(last.stdout) as TokenJson[]).map(({ lastUsedOn }) => lastUsedOn ?? '');
    expect(days).toEqual(days.toSorted().reverse());
    expect(await run(['tokens', 'list', '--last-used', '--limit', '1'])).toMatchObject({ code: 0 });
  });

  test('users, applications and single tokens are shown with what they have', async () => {
    const { run } = home();
    const json = async (...args: string[]) => JSON.parse((await run([...args, '--json'])).stdout);
    const tokens = (await json('tokens', 'list')) as TokenJson[];
    const ofBackup = tokens.filter(({ user }) => user.username === 'backup');
    const users = await json('users', 'list', '--tokens');
    expect(users.find(({ username }: { username: string }) => username === 'backup')).toMatchObject({
      isActive: true,
      accessTokens: ofBackup.length,
    });
    const left = await json('users', 'list', '--inactive');
    expect(left.length).toBeGreaterThan(0);
    expect(left.every(({ isActive }: { isActive: boolean }) => !isActive)).toBe(true);
    expect(left).toEqual(users.filter(({ isActive }: { isActive: boolean }) => !isActive).map(withoutTokens));
    expect((await run(['users', 'list', '--user', 'ci-*'])).stdout).toMatch(/^ID +USER +STATE/);
    const first = await run(['users', 'list', '--limit', '1', '--json']);
    expect(JSON.parse(first.stdout)).toEqual([withoutTokens(users[0])]);
    expect(first.stderr).toBe('Only the first one is listed. There are more.\n');
    expect(await json('users', 'show', 'backup')).toMatchObject({
      user: { username: 'backup', isActive: true },
      accessTokens: { total: ofBackup.length },
      refreshTokens: null,
      sessions: null,
    });
    expect(await run(['users', 'show', 'backap'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "backup"?'),
    });
    const applications = await json('applications', 'list', '--tokens');
    const issued = applications.reduce(
      (sum: number, each: { accessTokens: number }) => sum + each.accessTokens,
      0,
    );
    expect(issued).toBe(tokens.filter(({ application }) => application !== null).length);
    const endless = tokens.find(({ expires }) => Date.parse(expires) > Date.now() + 36_525 * 86_400_000);
    const shown = await json('tokens', 'show', String(endless?.id));
    expect(shown).toMatchObject({ token: { id: endless?.id }, owner: { username: endless?.user.username } });
    expect(shown.findings.map(({ rule }: { rule: string }) => rule)).toContain('never-expires');
    expect(shown.token.lastUsedOn === null || /^\d{4}-\d\d-\d\d$/.test(shown.token.lastUsedOn)).toBe(true);
    expect(await run(['tokens', 'show', '999999'])).toMatchObject({ code: 2 });
    expect((await run(['whoami'])).stdout).toMatch(/^admin \(superuser\), with a password\n/);
  });

  test('a user that does not exist is an error, not an empty list', async () => {
    const { code, stderr } = await home().run(['tokens', 'list', '--user', 'nobody-here']);
    expect(code).toBe(2);
    expect(stderr).toContain('nobody-here');
  });
});

describe('tokens rotate', () => {
  const create = (folder: string) => join(folder, 'old.token');
  async function rotatable(scope: 'read' | 'write') {
    const made = home();
    const old = create(made.folder);
    const flags = ['--scope', scope, '--description', 'nightly', '--output', old, '--yes', '--json'];
    const { token } = JSON.parse((await made.run(['tokens', 'create', ...flags])).stdout);
    return { ...made, old, id: String(token.id), output: join(made.folder, 'new.token') };
  }

  test('replaces a token by one of the same scope and description, tried before the old one is revoked', async () => {
    const { run, id, output } = await rotatable('read');
    const rotate = ['tokens', 'rotate', id, '--output', output];
    expect((await run([...rotate, '--dry-run'])).stdout).toContain(`2. Revoke token ${id}.`);
    expect(existsSync(output)).toBe(false);
    const done = await run([...rotate, '--yes', '--json']);
    expect([done.code, done.stderr]).toEqual([0, expect.any(String)]);
    const { token, tried, revocation } = JSON.parse(done.stdout);
    expect([token.scope, token.description, tried]).toEqual(['read', 'nightly', 'accepted']);
    expect(revocation).toMatchObject({ revoked: 1, verified: true });
    expect(done.stdout + done.stderr).not.toContain(readFileSync(output, 'utf8').trim());
    const listed = JSON.parse(
      (await run(['tokens', 'list', '--user', 'admin', '--json'])).stdout,
    ) as TokenJson[];
    const ids = listed.map((each) => each.id);
    expect([ids.includes(token.id), ids.includes(Number(id))]).toEqual([true, false]);
    expect((await run([...rotate.slice(0, 3), '--output', `${output}.2`, '--yes'])).code).toBe(2);
  });

  test('replaces the token that the context uses, and says how to use the new one', async () => {
    const { run, old, id, output } = await rotatable('write');
    await run(['context', 'add', 'own', '--url', url(), '--token-file', old]);
    const done = await run(['tokens', 'rotate', id, '--output', output, '--yes', '--context', 'own']);
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout).toContain(`tokenctl context add own --replace --url ${url()} --token-file ${output}`);
    expect((await run(['whoami', '--context', 'own'])).code).toBe(4);
    await run(['context', 'add', 'own', '--replace', '--url', url(), '--token-file', output]);
    expect((await run(['whoami', '--context', 'own'])).code).toBe(0);
  });

  test('refuses a token of another user, or of an application, and waits at most a day', async () => {
    const { run, folder, id } = await rotatable('read');
    const output = join(folder, 'never.token');
    const tokens = JSON.parse((await run(['tokens', 'list', '--json'])).stdout) as TokenJson[];
    const foreign = tokens.find(({ user }) => user.username !== 'admin')?.id;
    for (const [code, ...args] of [
      [4, String(foreign)],
      [2, id, '--grace', '2d'],
      [2, '999999'],
    ] as const) {
      expect((await run(['tokens', 'rotate', ...args, '--output', output, '--yes'])).code).toBe(code);
    }
    expect(existsSync(output)).toBe(false);
  });

  test('an interrupted grace time leaves both tokens', { tags: ['long'] }, async () => {
    const { start, run, id, output } = await rotatable('read');
    const waiting = start(['tokens', 'rotate', id, '--output', output, '--grace', '1h', '--yes']);
    await waiting.says(/Ctrl-C leaves it valid/);
    waiting.kill('SIGINT');
    expect(await waiting.ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining(`revoke --id ${id}`),
    });
    const { stdout } = await run(['tokens', 'list', '--user', 'admin', '--json']);
    expect((JSON.parse(stdout) as TokenJson[]).map((each) => each.id)).toContain(Number(id));
    expect(statSync(output).size).toBeGreaterThan(20);
  });
});

describe('tokens create', () => {
  test('puts the value into a new file and nowhere else, and it works as a credential', async () => {
    const { folder, run } = home();
    const output = join(folder, 'made.token');
    const made = await run(['tokens', 'create', '--scope', 'write', '--output', output, '--yes', '--json']);
    expect(made.code).toBe(0);
    const value = readFileSync(output, 'utf8').trim();
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect(value).toMatch(/^\S{20,}$/);
    const log = readFileSync(join(folder, '.local/state/tokenctl/audit.jsonl'), 'utf8');
    expect(made.stdout + made.stderr + log).not.toContain(value);
    await run(['context', 'add', 'by-token', '--url', url(), '--token-file', output]);
    const check = await run(['context', 'check', 'by-token', '--json']);
    expect(JSON.parse(check.stdout)).toMatchObject({ credential: 'token', identity: { username: 'admin' } });
  });

  test('takes no lifetime over REST, which would ignore it', async () => {
    const { folder, run } = home();
    const output = join(folder, 'short.token');
    const args = ['tokens', 'create', '--scope', 'read', '--expires', '90d', '--output', output, '--yes'];
    expect(await run(args)).toMatchObject({ code: 4, stderr: expect.stringContaining('token-lifetime') });
    expect(existsSync(output)).toBe(false);
  });

  test('ends it at the time that the service stores', async () => {
    const { folder, run } = home();
    const create = [
      'tokens',
      'create',
      '--scope',
      'read',
      '--for',
      '6h',
      '--output',
      join(folder, 'x.token'),
    ];
    const dry = JSON.parse((await run([...create, '--dry-run', '--json'])).stdout);
    expect(dry.end).toEqual({ seconds: 21_600, by: 'stored' });
    const { token, end } = JSON.parse((await run([...create, '--yes', '--json'])).stdout);
    expect(end).toEqual({ until: token.expires, lease: null });
    expect(Math.abs(Date.parse(end.until) - Date.parse(token.created) - 6 * 3_600_000)).toBeLessThan(5000);
    expect((await run(['tokens', 'leases', '--json'])).stdout).toBe('[]\n');
  });

  test('has a lease that is listed, extended, ended, and told by context check', async () => {
    const { folder, run } = home();
    const create = ['tokens', 'create', '--scope', 'read', '--yes', '--json', '--output', join(folder, 'x')];
    const { token } = JSON.parse((await run(create)).stdout);
    const id = String(token.id);
    const sunset = ['tokens', 'sunset', '--id', id, '--max-lifetime', '1d', '--yes', '--json'];
    const lease = `${JSON.parse((await run(sunset)).stdout).sunset}-${id}`;
    const listed = JSON.parse((await run(['tokens', 'list', '--id', id, '--json'])).stdout);
    expect(listed).toMatchObject([{ expires: token.expires, lease: { id: lease } }]);
    expect((await run(['tokens', 'leases'])).stdout).toContain(lease);
    const check = JSON.parse((await run(['context', 'check', '--json'])).stdout);
    expect(check.leases).toMatchObject({ open: 1, overdue: 0, ends: false });
    const extended = await run(['tokens', 'leases', '--extend', lease, '--for', '8h', '--json']);
    expect([extended.code, JSON.parse(extended.stdout).leases[0].token.id]).toEqual([0, token.id]);
    expect(await run(['tokens', 'leases', '--due', '--yes'])).toMatchObject({ code: 0 });
    const ended = await run(['tokens', 'leases', '--end', lease, '--yes', '--json']);
    expect([ended.code, JSON.parse(ended.stdout).ended]).toMatchObject([
      0,
      [{ token: token.id, how: 'revoked' }],
    ]);
    expect((await run(['tokens', 'list', '--id', id, '--json'])).stdout).toBe('[]\n');
    expect((await run(['tokens', 'leases', '--end', lease, '--yes'])).stdout).toContain(
      'This lease is not open',
    );
  });

  test('is given an end by a sunset, which is taken back for owners by a pattern', async () => {
    const { run } = home();
    const sunset = JSON.parse(
      (await run(['tokens', 'sunset', '--max-lifetime', '1d', '--yes', '--json'])).stdout,
    );
    expect(sunset.recorded).toBeGreaterThan(0);
    const undo = ['tokens', 'sunset', '--undo', sunset.sunset, '--user', '*', '--dry-run', '--json'];
    expect(JSON.parse((await run(undo)).stdout).tokens.length).toBe(sunset.recorded);
  });

  test('overwrites nothing, and then creates nothing', async () => {
    const { folder, run } = home();
    const before = (await run(['tokens', 'list', '--user', 'admin', '--json'])).stdout;
    const { code, stderr } = await run([
      'tokens',
      'create',
      '--scope',
      'read',
      '--output',
      join(folder, 'admin.password'),
      '--yes',
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('already exists')]);
    const dryRun = ['tokens', 'create', '--scope', 'read', '--dry-run', '--output'];
    for (const taken of [join(folder, 'admin.password'), join(folder, 'nowhere', 'x')]) {
      expect((await run([...dryRun, taken])).code).toBe(2);
    }
    expect((await run([...dryRun, join(folder, 'free')])).code).toBe(0);
    expect(existsSync(join(folder, 'free'))).toBe(false);
    expect((await run(['tokens', 'list', '--user', 'admin', '--json'])).stdout).toBe(before);
  });
});

describe('tokens revoke', () => {
  test('a dry run shows the plan on stdout, changes nothing and records nothing', async () => {
    const { run } = home();
    const { stdout, code } = await run(['tokens', 'revoke', '--user', 'backup', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Would revoke \d+ tokens: .*backup/);
    expect(stdout).toMatch(/Dry run\. Nothing was changed\.\n$/);
    expect((await run(['log', 'list'])).stderr).toMatch(/^No runs in the audit log \/.*audit\.jsonl\.\n$/);
    const json = JSON.parse(
      (await run(['tokens', 'revoke', '--user', 'backup', '--dry-run', '--json'])).stdout,
    );
    expect(json).toMatchObject({
      dryRun: true,
      plan: { tokenIds: expect.any(Array), digest: expect.any(String) },
    });
  });

  test('refuses more than --at-most', async () => {
    const { stderr, code } = await home().run(['tokens', 'revoke', '--all', '--at-most', '3', '--yes']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/at most 3/);
  });

  test('revokes, verifies, records, and finds nothing left the second time', async () => {
    const { run } = home();
    const command = [
      'tokens',
      'revoke',
      '--user',
      'monitoring',
      '--yes',
      '--json',
      '--reason',
      'leaver',
      '--ticket',
      'T-1',
    ];
    const first = await run(command);
    expect(first.code).toBe(0);
    const report = JSON.parse(first.stdout) as { planned: number; revoked: number; run: string };
    expect(report.revoked).toBe(report.planned);
    expect(report).toMatchObject({
      unchanged: 0,
      failed: [],
      notTried: 0,
      stillAlive: [],
      verified: true,
      interrupted: false,
    });
    expect(JSON.parse((await run(['tokens', 'list', '--user', 'monitoring', '--json'])).stdout)).toEqual([]);
    const log = JSON.parse((await run(['log', 'list', '--raw', '--run', report.run, '--json'])).stdout) as {
      data: object;
    }[];
    expect(log[0]?.data).toMatchObject({ reason: 'leaver', ticket: 'T-1' });
    expect(JSON.parse((await run(['log', 'verify', '--json'])).stdout)).toMatchObject({
      entries: log.length,
      tornBytes: 0,
    });
    const second = await run(command);
    expect(second.code).toBe(0);
    expect(JSON.parse(second.stdout)).toMatchObject({ dryRun: false, plan: { tokenIds: [] } });
  });

  test('no log, no act', async () => {
    const { folder, run } = home();
    chmodSync(folder, 0o777);
    const args = [
      'tokens',
      'revoke',
      '--user',
      'chatops',
      '--yes',
      '--log-file',
      join(folder, 'audit.jsonl'),
    ];
    const before = (await run(['tokens', 'list', '--user', 'chatops', '--json'])).stdout;
    expect((await run(args)).code).toBe(6);
    expect((await run([...args, '--json'])).code).toBe(6);
    expect((await run(['tokens', 'list', '--user', 'chatops', '--json'])).stdout).toBe(before);
  });
});
