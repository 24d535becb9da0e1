import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder, tokenctl } from './program.ts';
import { typedInto } from './terminal.ts';

const URL_FLAG = ['--url', 'https://controller.example'];

/** A home of its own, with a token file in it. */
function home() {
  const folder = temporaryFolder();
  const token = join(folder, 'admin.token');
  writeFileSync(token, 's3cr3t\n', { mode: 0o600 });
  return {
    folder,
    token,
    config: join(folder, '.config/tokenctl/tokenctl.yaml'),
    run: (args: readonly string[], options: { input?: string; env?: Record<string, string> } = {}) =>
      tokenctl(['context', ...args], { ...options, env: { HOME: folder, ...options.env } }),
  };
}

describe('context add', () => {
  test('refers to a token file, and the first context becomes the current one', async () => {
    const { run, token, config } = home();
    const added = await run(['add', 'live', ...URL_FLAG, '--token-file', token, '--json']);
    expect(added).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(added.stdout)).toEqual({
      name: 'live',
      current: true,
      kind: 'rest',
      url: 'https://controller.example',
      credential: { kind: 'token', file: token },
      verifyTls: true,
      file: config,
    });
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect(readFileSync(config, 'utf8')).not.toContain('s3cr3t');
  });

  test('names the context of the same database, which must exist', async () => {
    const { run, token, folder } = home();
    const named = [...URL_FLAG, '--token-file', token, '--database-context', 'live-db'];
    const early = await run(['add', 'live', ...named]);
    expect(early.code).toBe(2);
    expect(early.stderr).toContain('--database-context: "live-db" does not exist.');
    expect(early.stderr).toContain('tokenctl context add live-db --database-file FILE');
    const url = join(folder, 'db.url');
    writeFileSync(url, 'postgres://awx@127.0.0.1/awx\n', { mode: 0o600 });
    await run(['add', 'live-db', '--database-file', url]);
    const added = await run(['add', 'live', ...named, '--json']);
    expect([added.code, JSON.parse(added.stdout).databaseContext]).toEqual([0, 'live-db']);
    const wrong = await run(['add', 'lab', ...URL_FLAG, '--token-file', token, '--database-context', 'live']);
    expect(wrong.stderr).toContain('"live" is not a database context');
  });

  test('keeps a password from stdin in a file of its own', async () => {
    const { run, folder, config } = home();
    const added = await run(['add', 'lab', ...URL_FLAG, '--username', 'admin', '--password-stdin'], {
      input: 'pa55\n',
    });
    expect(added.code).toBe(0);
    const secret = join(folder, '.config/tokenctl/secrets/lab.password');
    expect(readFileSync(secret, 'utf8')).toBe('pa55\n');
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect(readFileSync(config, 'utf8') + added.stdout + added.stderr).not.toContain('pa55');
  });

  test('takes no name from stdin, where the credential comes from', async () => {
    const { run } = home();
    const { code, stdout, stderr } = await run(['add', ...URL_FLAG, '--token-stdin'], { input: 's3cr3t\n' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Missing argument NAME');
    expect(stderr).not.toContain('s3cr3t');
  });

  test.runIf(process.platform === 'linux' && existsSync('/usr/bin/script'))(
    'does not show a credential typed for --token-stdin',
    async () => {
      const { folder } = home();
      const typed = await typedInto(['context', 'add', 'lab', ...URL_FLAG, '--token-stdin'], {
        home: folder,
        question: 'Token for lab: ',
        answer: 't0psecret',
      });
      expect(typed.code).toBe(0);
      expect(typed.screen).toContain('Added context "lab"');
      expect(typed.screen).not.toContain('t0psecret');
      expect(readFileSync(join(folder, '.config/tokenctl/secrets/lab.token'), 'utf8')).toBe('t0psecret\n');
    },
  );

  test('keeps the comments of the file', async () => {
    const { run, token, config } = home();
    await run(['add', 'live', ...URL_FLAG, '--token-file', token]);
    writeFileSync(config, `# mine\n${readFileSync(config, 'utf8')}`);
    expect((await run(['add', 'lab', ...URL_FLAG, '--token-file', token])).code).toBe(0);
    expect(readFileSync(config, 'utf8')).toMatch(/^# mine\n/);
  });

  test('does not replace a context, nor its secret, unless told to', async () => {
    const { run, folder } = home();
    const add = ['add', 'lab', ...URL_FLAG, '--token-stdin'];
    await run(add, { input: 'first' });
    const again = await run(add, { input: 'second' });
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('--replace') });
    const secret = join(folder, '.config/tokenctl/secrets/lab.token');
    expect(readFileSync(secret, 'utf8')).toBe('first\n');
    expect((await run([...add, '--replace'], { input: 'second' })).code).toBe(0);
    expect(readFileSync(secret, 'utf8')).toBe('second\n');
  });

  test.each([
    ['no credential', [], /no terminal to prompt/],
    ['two credentials', ['--token-env', 'T', '--password-env', 'P'], /Several credentials given/],
    ['a password of nobody', ['--password-env', 'P'], /--username/],
    [
      'an authority file that is not there',
      ['--token-env', 'T', '--ca-file', '/nowhere.pem'],
      /--ca-file, \/nowhere\.pem, does not exist/,
    ],
    ['a port that is none', ['--url', 'https://x.example:99999', '--token-env', 'T'], /1 to 65535/],
    ['a token file that is not there', ['--token-file', '/nowhere'], /does not exist/],
    [
      'a URL with a password in it',
      ['--url', 'https://a:pa55@x.example', '--token-env', 'T'],
      /must not contain/,
    ],
  ])('refuses %s, and leaves no file behind', async (_name, flags, message) => {
    const { run, config } = home();
    const { code, stderr } = await run([
      'add',
      'lab',
      ...(flags.includes('--url') ? [] : URL_FLAG),
      ...flags,
    ]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(existsSync(config)).toBe(false);
  });

  test('refuses a secret file that others may read', async () => {
    const { run, token } = home();
    chmodSync(token, 0o644);
    const { code, stderr } = await run(['add', 'lab', ...URL_FLAG, '--token-file', token]);
    expect(code).toBe(2);
    expect(stderr).toContain(`chmod 600 '${token}'`);
  });

  test.each(['environment', '../x', '.hidden', 'a b'])('refuses the name %s', async (name) => {
    const { run } = home();
    expect((await run(['add', name, ...URL_FLAG, '--token-env', 'T'])).code).toBe(2);
  });
});

describe('context use and list', () => {
  test('choose and show the current context', async () => {
    const { run } = home();
    for (const name of ['live', 'lab']) await run(['add', name, ...URL_FLAG, '--token-env', 'T']);
    expect(await run(['use', 'lab'])).toMatchObject({ code: 0, stdout: 'The current context is "lab".\n' });
    const listed = JSON.parse((await run(['list', '--json'])).stdout) as { name: string; current: boolean }[];
    expect(listed.map(({ name, current }) => [name, current])).toEqual([
      ['live', false],
      ['lab', true],
    ]);
    expect((await run(['list'])).stdout).toMatch(/^CURRENT +NAME.*\n +live .*\n\* +lab /);
  });

  test('say when the environment chooses another one', async () => {
    const { run } = home();
    await run(['add', 'lab', ...URL_FLAG, '--token-env', 'T']);
    const { stdout } = await run(['use', 'lab'], { env: { CONTROLLER_HOST: 'https://other.example' } });
    expect(stdout).toContain('an environment variable selects "environment"');
  });

  test('an unknown one is refused with the nearest', async () => {
    const { run } = home();
    await run(['add', 'production', ...URL_FLAG, '--token-env', 'T']);
    const { code, stderr } = await run(['use', 'prodution']);
    expect(code).toBe(2);
    expect(stderr).toContain('Did you mean "production"?');
  });
});

describe('context show, current, rename and remove', () => {
  const lab = ['add', 'lab', ...URL_FLAG, '--token-stdin'];

  test('show what is configured, and which one is current', async () => {
    const { run, token } = home();
    expect(await run(['current'])).toMatchObject({ code: 2, stderr: expect.stringContaining('No context') });
    await run(['add', 'live', ...URL_FLAG, '--token-file', token, '--group', 'prod']);
    await run(lab, { input: 's3cr3t' });
    expect(await run(['current'])).toMatchObject({ code: 0, stdout: 'live\n' });
    const shown = await run(['show', 'live']);
    expect(shown.stdout).toContain('Context "live", the current one');
    expect(shown.stdout).toContain('prod');
    const other = JSON.parse((await run(['show', 'lab', '--json'])).stdout);
    expect(other).toMatchObject({ name: 'lab', current: false, groups: [], jobs: [] });
    expect((await run(['show', 'lab'])).stdout).not.toContain('current');
    expect(await run(['show', 'lob'])).toMatchObject({ code: 2, stderr: expect.stringContaining('"lab"') });
  });

  test('rename a context wherever it is named', async () => {
    const { run, token, config } = home();
    await run(['add', 'live', ...URL_FLAG, '--token-file', token, '--group', 'prod']);
    await run(lab, { input: 's3cr3t' });
    const more = '# ours\njobs:\n  nightly: { job: token-audit, schedule: "0 3 * * *", contexts: [live] }\n';
    writeFileSync(config, readFileSync(config, 'utf8') + more);
    expect(await run(['rename', 'live', 'lab'])).toMatchObject({ code: 2 });
    expect(await run(['rename', 'live', 'east'])).toMatchObject({ code: 0, stderr: '' });
    const text = readFileSync(config, 'utf8');
    expect(text).not.toContain('live');
    expect(text).toContain('# ours');
    expect(JSON.parse((await run(['show', '--json'])).stdout)).toMatchObject({
      name: 'east',
      current: true,
      groups: ['prod'],
      jobs: ['nightly'],
    });
    const used = await run(['remove', 'east']);
    expect([used.code, used.stderr]).toEqual([2, expect.stringContaining('the job "nightly"')]);
    expect(readFileSync(config, 'utf8')).toBe(text);
  });

  test('rename the database of one component of a platform', async () => {
    const { run, token, config } = home();
    await run(['add', 'aap', ...URL_FLAG, '--token-file', token]);
    await run(['add', 'live-db', '--database', 'postgres://localhost/live']);
    const text = readFileSync(config, 'utf8');
    const named = text.replace(
      '  aap:\n',
      '  aap:\n    databaseContext: { gateway: live-db, controller: live-db }\n',
    );
    writeFileSync(config, named);
    expect(await run(['rename', 'live-db', 'east-db'])).toMatchObject({ code: 0, stderr: '' });
    expect((await run(['show', 'aap'])).stdout).toContain('east-db (gateway), east-db (controller)');
    const used = await run(['remove', 'east-db']);
    expect([used.code, used.stderr]).toEqual([
      2,
      expect.stringContaining('the context "aap" (databaseContext)'),
    ]);
  });

  test('remove a context with the credential that was stored for it, and no other file', async () => {
    const { run, token, folder, config } = home();
    await run(['add', 'live', ...URL_FLAG, '--token-file', token, '--group', 'prod']);
    await run(lab, { input: 's3cr3t' });
    const stored = join(folder, '.config/tokenctl/secrets/lab.token');
    const kept = await run(['remove', 'lab', '--keep-credential', '--json']);
    expect([JSON.parse(kept.stdout).deletedCredential, existsSync(stored)]).toEqual([null, true]);
    await run([...lab, '--replace'], { input: 's3cr3t' });
    expect(JSON.parse((await run(['remove', 'lab', '--json'])).stdout)).toEqual({
      revoked: [],
      left: [],
      name: 'lab',
      file: config,
      groups: [],
      wasCurrent: false,
      deletedCredential: stored,
    });
    expect(existsSync(stored)).toBe(false);
    const last = await run(['remove', 'live']);
    expect(last.stdout).toContain('No context is current now');
    expect(existsSync(token)).toBe(true);
    expect(await run(['list'])).toMatchObject({ code: 0, stdout: '' });
  });
});

describe('a credential that others on the way can read', () => {
  const warnings = (stderr: string) => stderr.match(/Warning: The credential of the context/g)?.length ?? 0;
  const list = (folder: string, env: Readonly<Record<string, string>> = {}) =>
    tokenctl(['tokens', 'list'], { env: { HOME: folder, ...env } });

  test.each([
    ['over plain HTTP', ['--url', 'http://controller.invalid']],
    ['without verifying the certificate', ['--url', 'https://controller.invalid', '--no-verify-ssl']],
  ])('%s is sent only if the context allows it', async (how, flags) => {
    const { run, token, folder, config } = home();
    const refused = await run(['add', 'live', ...flags, '--token-file', token]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`would send its credential to controller.invalid ${how}`);
    expect(refused.stderr).toContain('--insecure');
    const added = await run(['add', 'live', ...flags, '--token-file', token, '--insecure']);
    expect(added).toMatchObject({ code: 0, stderr: '' });
    const listed = await list(folder);
    expect([listed.code, warnings(listed.stderr)]).toEqual([7, 1]);
    writeFileSync(config, readFileSync(config, 'utf8').replace(/ *insecure: true\n/, ''));
    const unsaid = await list(folder);
    expect([unsaid.code, warnings(unsaid.stderr)]).toEqual([2, 0]);
    expect(unsaid.stderr).toContain('"insecure: true"');
  });

  test('is sent by the variables of the awx CLI only with CONTROLLER_VERIFY_SSL=false', async () => {
    const { folder } = home();
    const env = { CONTROLLER_HOST: 'http://controller.invalid', CONTROLLER_OAUTH_TOKEN: 's3cr3t' };
    const refused = await list(folder, env);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('CONTROLLER_VERIFY_SSL=false');
    const allowed = await list(folder, { ...env, CONTROLLER_VERIFY_SSL: 'false' });
    expect([allowed.code, warnings(allowed.stderr)]).toEqual([7, 1]);
  });

  test.each(['http://127.0.0.1:1', 'http://localhost:1'])('to %s needs nothing', async (address) => {
    const { folder } = home();
    const listed = await list(folder, { CONTROLLER_HOST: address, CONTROLLER_OAUTH_TOKEN: 's3cr3t' });
    expect([listed.code, warnings(listed.stderr)]).toEqual([7, 0]);
  });
});
