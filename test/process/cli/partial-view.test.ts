import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DOCUMENTED_GRANTS as documented, SERVICE_GRANTS } from '../../support/documented-grants.ts';
import { configure } from '../../support/drafts.ts';
import { databaseEstate } from './database-estate.ts';
import { type Run, temporaryFolder, tokenctl } from './program.ts';

const db = databaseEstate();
const CLAIMS = /locked down|verified|nothing to (?:revoke|clean up)|has ended|no findings/i;

/** Makes a user of the service, as its superuser. */
async function addUser(user: object): Promise<void> {
  const answer = await fetch(`${db.service()}/api/v2/users/`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('admin:correct horse')}`, 'content-type': 'application/json' },
    body: JSON.stringify(user),
  });
  expect(answer.status).toBe(201);
}

/** A home whose context is the service with this credential; `secret` goes into a file that the credential names. */
function homeWith(secret: string, credential: (file: string) => string): string {
  const folder = temporaryFolder();
  const file = join(folder, 'secret');
  writeFileSync(file, secret, { mode: 0o600 });
  configure(
    folder,
    `currentContext: test\ncontexts:\n  test: { url: "${db.service()}", ${credential(file)} }\n`,
  );
  return folder;
}

/** A home with the password of a user, which is the name and `pw-long`. */
function homeOf(username: string): string {
  return homeWith(`${username}pw-long\n`, (file) => `username: ${username}, password: { file: "${file}" }`);
}

describe('a normal user over REST', () => {
  beforeAll(() => addUser({ username: 'norma', password: 'normapw-long' }));

  /** Runs a command in a home of its own. */
  function run(...args: readonly string[]): Promise<Run> {
    return tokenctl(args, { env: { HOME: homeOf('norma') } });
  }

  const LIMIT = 'Not all tokens are included: norma can see only their own tokens.';
  const part = { kind: 'part', tokens: 'their own tokens' };

  test.each([
    ['users', 'users'],
    ['applications', 'applications'],
  ])('%s list says that not all %s are included', async (topic, what) => {
    const { stderr } = await run(topic, 'list');
    expect(stderr).toContain(`Not all ${what} are included: norma can see only `);
  });

  test.each([
    ['tokens', 'list'],
    ['tokens', 'notices'],
    ['tokens', 'audit', '--summary'],
    ['incident', 'timeline', '--user', 'norma'],
    ['tokens', 'find', '--leaked', import.meta.filename],
    ['tokens', 'cleanup', '--dry-run'],
  ])('%s %s says what is left out', async (...args) => {
    const { stdout, stderr } = await run(...args);
    expect(`${stdout}${stderr}`).toContain(LIMIT);
  });

  test('a snapshot is incomplete, and what it lacks is not called gone', async () => {
    const folder = homeOf('norma');
    const own = (...args: string[]) => tokenctl(args, { env: { HOME: folder } });
    const [mine, all] = [join(folder, 'mine.json'), join(folder, 'all.json')];
    const saved = await own('tokens', 'snapshot', mine);
    expect([saved.code, saved.stderr]).toEqual([5, expect.stringContaining('The snapshot is incomplete')]);
    const snapshot = JSON.parse(readFileSync(mine, 'utf8'));
    const [at, time] = ['2025-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'];
    const other = { id: 99, user: { id: 1, username: 'admin' }, application: null, scope: 'write' };
    const tokens = [{ ...other, description: '', created: time, expires: time }];
    writeFileSync(all, JSON.stringify({ ...snapshot, at, notSeen: null, tokens }));
    const { code, stdout } = await own('tokens', 'diff', all, mine);
    expect([code, stdout]).toEqual([
      5,
      expect.stringContaining('Listed before, but not now: 1 token of admin'),
    ]);
    expect(stdout).not.toMatch(/Gone/);
  });

  test('a clean-up that finds nothing is not complete', { tags: ['long'] }, async () => {
    const { code, stdout } = await run('tokens', 'cleanup', '--yes');
    expect(code).toBe(5);
    expect(stdout).toContain('Nothing visible to clean up.');
    expect(stdout).not.toMatch(CLAIMS);
    expect((await run('cleanup_tokens')).code).toBe(4);
  });

  test('the JSON of reports has what the account sees', { tags: ['long'] }, async () => {
    const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);
    expect(await json('tokens', 'audit')).toMatchObject({ visibility: part });
    expect(await json('tokens', 'audit', '--summary')).toMatchObject({ visibility: part });
    expect(await json('tokens', 'audit', '--group-by', 'user')).toMatchObject({ visibility: part });
    expect(await json('incident', 'timeline', '--user', 'norma')).toMatchObject({ visibility: part });
    expect(await json('tokens', 'find', '--leaked', import.meta.filename)).toMatchObject({
      visibility: part,
    });
    expect(await json('tokens', 'cleanup', '--dry-run')).toMatchObject({
      plan: { notSeen: 'norma can see only their own tokens' },
    });
  });

  test('written reports say it themselves', { tags: ['long'] }, async () => {
    for (const format of ['html', 'sarif']) {
      expect((await run('tokens', 'audit', '--format', format)).stdout).toContain(LIMIT);
    }
  });
});

describe('an organization administrator whose token has half an hour left', { tags: ['long'] }, () => {
  /** Makes the administrator, with a token in the file of the context's credential. */
  async function administrator() {
    const post = async (path: string, credentials: string, body: object) => {
      const answer = await fetch(`${db.service()}/api/v2/${path}`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(credentials)}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(answer.ok, path).toBe(true);
      return answer.status === 204 ? {} : answer.json();
    };
    const admin = 'admin:correct horse';
    const { id: organization } = await post('organizations/', admin, { name: 'North' });
    const { id: user } = await post('users/', admin, { username: 'nora', password: 'norapw-long' });
    await post(`organizations/${organization}/admins/`, admin, { id: user });
    const own = await post(`users/${user}/personal_tokens/`, 'nora:norapw-long', { scope: 'write' });
    await post(`users/${user}/personal_tokens/`, 'nora:norapw-long', { scope: 'read' });
    await db
      .database()
      .execute("UPDATE main_oauth2accesstoken SET expires = now() + interval '30 minutes' WHERE id = $1", [
        own.id,
      ]);
    const folder = homeWith(own.token, (file) => `token: { file: "${file}" }`);
    return { id: own.id, run: (...args: readonly string[]) => tokenctl(args, { env: { HOME: folder } }) };
  }

  test('is told so by context check, and before a change', async () => {
    const { id, run } = await administrator();
    const { stdout } = await run('context', 'check');
    expect(stdout).toContain('nora (organization administrator of North), with a token');
    expect(stdout).not.toContain('Sees:     all tokens');
    expect(stdout).toMatch(new RegExp(`^  Expires:  .+\\(token ${id}\\)$`, 'm'));
    const warning = /The token of this context expires in (?:29|30) minutes\./;
    expect(stdout).toMatch(warning);
    expect(JSON.parse((await run('context', 'check', '--json')).stdout).ownToken.ids).toEqual([id]);
    const revoked = await run('tokens', 'revoke', '--user', 'nora', '--yes');
    expect(revoked.stderr).toMatch(warning);
  });
});

describe('a role that row-level security shows part of the rows', () => {
  /** A role that may read and revoke, and sees the tokens of one user. */
  async function filteredRole(user: string): Promise<string> {
    const grants = [...(documented.get('Reading') ?? []), ...SERVICE_GRANTS];
    const url = await db.addRole([...grants, ...(documented.get('Revoking tokens') ?? [])]);
    const policy = `only_${user.replaceAll('-', '_')}`;
    onTestFinished(async () => {
      await db.database().execute(`DROP POLICY ${policy} ON main_oauth2accesstoken`);
      await db.database().execute('ALTER TABLE main_oauth2accesstoken DISABLE ROW LEVEL SECURITY');
    });
    await db
      .database()
      .execute(
        `CREATE POLICY ${policy} ON main_oauth2accesstoken TO ${new URL(url).username} USING (user_id = (SELECT id FROM auth_user WHERE username = '${user}'))`,
      );
    await db.database().execute('ALTER TABLE main_oauth2accesstoken ENABLE ROW LEVEL SECURITY');
    return url;
  }

  test('is told so, and gets no all-clear for what it cannot see', async () => {
    const [seen, hidden] = [await db.addUser(), await db.addUser()];
    const { run } = db.home(await filteredRole(seen.name));
    const check = await run(['context', 'check']);
    expect(check.stdout).toMatch(/Sees: .*row-level security.*main_oauth2accesstoken/);
    const list = await run(['tokens', 'list']);
    expect(list.stdout).not.toContain(hidden.name);
    expect(list.stderr).toContain('row-level security');
    for (const command of [
      ['tokens', 'revoke', '--user', hidden.name, '--access-only', '--yes'],
      ['incident', 'lockdown', '--user', hidden.name, '--yes'],
      ['users', 'offboard', hidden.name, '--yes'],
    ]) {
      const { code, stdout } = await run(command);
      expect([command.join(' '), code]).toEqual([command.join(' '), 4]);
      expect(stdout).not.toMatch(CLAIMS);
    }
    const audit = JSON.parse((await run(['tokens', 'audit', '--json'])).stdout);
    expect(audit.visibility).toMatchObject({ kind: 'part' });
  });

  test('can revoke what it sees, without a verification of the whole', async () => {
    const user = await db.addUser();
    const { run } = db.home(await filteredRole(user.name));
    const { code, stdout } = await run(['tokens', 'revoke', '--user', user.name, '--yes']);
    expect(stdout).toContain('Not verified: ');
    expect(code).toBe(5);
  });
});

describe('a system auditor over REST', () => {
  beforeAll(() => addUser({ username: 'audra', password: 'audrapw-long', is_system_auditor: true }));

  test.each([
    ['incident', 'lockdown', '--user'],
    ['users', 'offboard'],
    ['tokens', 'revoke', '--user'],
  ])('gets the plan of a dry run of %s %s, and that it is refused otherwise', async (...command) => {
    const user = await db.addUser();
    const folder = homeOf('audra');
    const run = (flag: string) => tokenctl([...command, user.name, flag], { env: { HOME: folder } });
    const { code, stdout, stderr } = await run('--dry-run');
    expect(stdout).toContain('Dry run. Nothing was changed.');
    expect(stderr).toContain('Without --dry-run, this would be refused: audra is a system auditor');
    expect(code).toBe(4);
    const real = await run('--yes');
    expect(real).toMatchObject({ code: 4, stdout: '' });
    expect(real.stderr).toContain('audra is a system auditor');
  });
});

test('a role that may only read gets the plan of a revocation, and that it is refused otherwise', async () => {
  const user = await db.addUser();
  const reader = db.home(await db.addRole([...(documented.get('Reading') ?? []), ...SERVICE_GRANTS]));
  const run = (flag: string) => reader.run(['tokens', 'revoke', '--user', user.name, flag]);
  const { code, stdout, stderr } = await run('--dry-run');
  expect(stdout).toContain('Dry run. Nothing was changed.');
  expect(stderr).toContain(
    'Without --dry-run, this would be refused: A revocation requires permissions that the role',
  );
  expect(code).toBe(4);
  expect((await run('--yes')).code).toBe(4);
});
