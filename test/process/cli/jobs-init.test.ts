import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { describe, expect, test } from 'vitest';
import { dropInFor, SERVICE_DROP_INS } from '../../../src/cli/jobs/service-secrets.ts';
import { estate } from './estate.ts';
import { temporaryFolder, tokenctl } from './program.ts';
import { typedInto } from './terminal.ts';

const { home, url } = estate({ users: 40, tokens: 300 });
const flags = ['--rules', 'owner-inactive', '--schedule', '02:30', '--time-zone', 'Europe/Berlin'];

/** A copy of the configuration that names a missing file for the password. */
function besides(folder: string): string {
  const text = readFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), 'utf8');
  const copy = join(folder, 'copy.yaml');
  writeFileSync(copy, text.replaceAll('admin.password', 'missing.password'));
  return copy;
}

describe('jobs init', () => {
  test('writes a job that is valid, shows what it would do, and revokes nothing', async () => {
    const { run, folder } = home();
    expect((await run(['jobs', 'check'])).stdout).toMatch(
      /^No jobs in .*tokenctl\.yaml\. To create the first one: tokenctl jobs init\n/,
    );
    const done = await run(['jobs', 'init', ...flags, '--json']);
    expect([done.code, done.stderr]).toEqual([0, '']);
    const printed = JSON.parse(done.stdout);
    expect(printed).toMatchObject({ context: 'test', schedule: '30 2 * * *', dryRun: true });
    expect(printed.preview[0].summary.message).toMatch(/^Would revoke [1-9]\d* of 300 tokens$/);
    const text = readFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), 'utf8');
    expect(text).toContain('dryRun: true');
    const check = await run(['jobs', 'check']);
    expect([check.code, check.stdout]).toEqual([
      0,
      expect.stringContaining('nightly-sweep@test: valid (dry run)'),
    ]);
    const { stdout: warned } = await run(['jobs', 'check', '--config', besides(folder)]);
    expect(warned).toMatch(
      /^nightly-sweep@test: valid .*\nWarning: cannot read the credential of the context "test" here\. .*does not exist/,
    );
    const history = JSON.parse((await run(['jobs', 'history', '--json'])).stdout);
    expect(history).toMatchObject([{ job: 'nightly-sweep@test', state: 'completed' }]);
    const log = await run(['log', 'list', '--json']);
    expect(JSON.parse(log.stdout)).toEqual([]);
    const again = await run(['jobs', 'init', ...flags]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('contains jobs: nightly-sweep')]);
    expect(readFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), 'utf8')).toBe(text);
  });

  test.each([
    [['--rules', 'unused-fro'], 2, 'Did you mean "unused-for"?'],
    [['--rules', 'basic-auth-on'], 2, 'does not apply to individual tokens'],
    [['--schedule', '25:00'], 2, 'Invalid schedule'],
    [['--time-zone', 'Mars/Olympus'], 2, 'Mars/Olympus'],
    [['--context', 'tset'], 2, 'Did you mean "test"?'],
    [['--schedule', '02:30'], 2, 'No terminal to prompt at'],
  ])('%j writes nothing', async (wrong, code, message) => {
    const { run, folder } = home();
    const before = readFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), 'utf8');
    const done = await run(['jobs', 'init', ...wrong]);
    expect([done.code, done.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(readFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), 'utf8')).toBe(before);
  });

  test('writes nothing for a controller that does not answer, or without a context', async () => {
    const folder = temporaryFolder();
    const run = (args: readonly string[]) => tokenctl(args, { env: { HOME: folder } });
    const none = await run(['jobs', 'init']);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('tokenctl login')]);
    const token = join(folder, 'token');
    writeFileSync(token, 'x\n', { mode: 0o600 });
    await run(['context', 'add', 'far', '--url', 'https://127.0.0.1:1', '--token-file', token]);
    expect((await run(['jobs', 'init', ...flags])).code).toBe(7);
    expect(readFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), 'utf8')).not.toContain('jobs');
  });

  describe('on a terminal', () => {
    const questions = (webhook: string) => ({
      ...{ question: 'Controller address: ', answer: url() },
      // A wrong answer is asked for again.
      next: { question: 'Which audit rules', answer: 'owner-inactiv' },
      more: [
        { question: 'Did you mean "owner-inactive"?', answer: 'owner-inactive' },
        { question: 'Time to run', answer: '25:00' },
        { question: 'Invalid schedule', answer: '04:15' },
        { question: 'Time zone', answer: 'UTC' },
        { question: 'dry-run]: ', answer: 'live' },
        { question: 'for notices', answer: webhook },
        { question: 'User name: ', answer: ADMIN.username },
        { question: 'Password of', answer: ADMIN.password },
      ],
    });

    test('asks, logs in and writes', { tags: ['long'] }, async () => {
      const folder = temporaryFolder();
      const webhook = 'https://hooks.slack.com/services/s3cr3t';
      const { screen, code } = await typedInto(['jobs', 'init'], { home: folder, ...questions(webhook) });
      expect([code, screen]).toEqual([0, expect.stringContaining('tokenctl jobs start')]);
      expect(screen).not.toContain('s3cr3t');
      expect(screen).not.toContain(ADMIN.password);
      const text = readFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), 'utf8');
      expect(text).toContain('dryRun: false');
      expect(text).toContain('kind: slack');
      expect(text).not.toContain('s3cr3t');
      expect((await tokenctl(['jobs', 'check'], { env: { HOME: folder } })).code).toBe(0);
    });

    test('leaves nothing after Ctrl-C', async () => {
      const folder = temporaryFolder();
      const { code } = await typedInto(['jobs', 'init'], { home: folder, ...questions('\u0003') });
      expect([code, existsSync(join(folder, '.config'))]).toEqual([130, false]);
    });
  });
});

test('each unit of the package that gets a credential has the drop-in', () => {
  const folder = join(import.meta.dirname, '../../../deploy/systemd');
  const units = readdirSync(folder).filter((unit) =>
    readFileSync(join(folder, unit), 'utf8').includes('LoadCredential='),
  );
  expect(SERVICE_DROP_INS).toEqual(
    units.toSorted().map((unit) => `/etc/systemd/system/${unit}.d/secrets.conf`),
  );
});

test('the service gets a credential only from the folder of the machine', () => {
  const context = { name: 'live', url: 'https://controller.example', verifyTls: true, insecure: false };
  const inFolder = dropInFor({ ...context, token: { file: '/etc/tokenctl/secrets/live.token' } });
  expect(inFolder).toMatchObject({
    setting: ['token'],
    reference: { file: '$CREDENTIALS_DIRECTORY/live.token' },
  });
  expect(inFolder.text(['notices.url']).split('\n').slice(1)).toEqual([
    '[Service]',
    'LoadCredential=',
    'LoadCredential=live.token:/etc/tokenctl/secrets/live.token',
    'LoadCredential=notices.url:/etc/tokenctl/secrets/notices.url',
    '',
  ]);
  for (const token of [{ file: '/root/live.token' }, { env: 'TOKEN' }]) {
    expect(() => dropInFor({ ...context, token })).toThrow(/is not in \/etc\/tokenctl\/secrets/);
  }
});
