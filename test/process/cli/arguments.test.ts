import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder, tokenctl } from './program.ts';

/** What the program says without and with --json: the exit code has to be the same. */
async function bothWays(args: readonly string[], env: Record<string, string> = {}) {
  const [text, json] = await Promise.all([tokenctl(args, { env }), tokenctl([...args, '--json'], { env })]);
  const { error } = JSON.parse(json.stdout) as {
    error: { code: string; message: string; hint?: string; details?: Record<string, unknown> };
  };
  return { text, json, error };
}

describe('what cannot be meant ends with 2, and says what might be', () => {
  test.each([
    ['an unknown flag', ['tokens', 'list', '--usr', 'bo'], /Unknown flag --usr/, /--user/],
    ['an unknown command', ['tokens', 'lst'], /Unknown command "tokens lst"/, /tokenctl tokens list/],
    ['an unknown topic', ['tokns'], /Unknown command "tokns"/, /tokenctl tokens/],
    ['a flag without its value', ['tokens', 'list', '--user'], /--user expects a value/, /--help/],
    [
      'an argument too many',
      ['tokens', 'list', 'bo'],
      /tokens list takes no arguments, but 1 was given/,
      /--help/,
    ],
    [
      'an argument too many for one',
      ['context', 'use', 'a', 'b'],
      /Too many arguments: expected NAME/,
      /--help/,
    ],
    [
      'a missing argument',
      ['settings', 'basic-auth'],
      /Missing argument STATE: one of on, off, status/,
      /--help/,
    ],
    [
      'a missing incident',
      ['incident', 'report'],
      /Missing argument INCIDENT\./,
      /`incident status --all` lists all incidents/,
    ],
    [
      'a wrong choice',
      ['tokens', 'audit', '--fail-on', 'huge'],
      /Invalid value for --fail-on: expected one of low, medium, high, critical/,
      /--help/,
    ],
    [
      'a wrong choice of an argument',
      ['settings', 'basic-auth', 'x'],
      /expected one of on, off, status/,
      /--help/,
    ],
    [
      'flags that are missing',
      ['tokens', 'create', '--yes'],
      /^(Error: )?--scope is required; --output is required\.$/m,
      /--help/,
    ],
    [
      'a flag given twice',
      ['context', 'add', 'x', '--url', 'a', '--url', 'b'],
      /--url .*only be specified once/,
      /--help/,
    ],
    [
      'a plan that does not exist, before the missing terminal',
      ['tokens', 'revoke', '--plan', '/nowhere/plan.json'],
      /The file of --plan, \/nowhere\/plan\.json, does not exist/,
      undefined,
    ],
    [
      'flags that exclude each other',
      ['tokens', 'audit', '--summary', '--csv'],
      /--csv and --summary cannot be used together/,
      /--help/,
    ],
    [
      'taking back the end dates of some tokens only, as if it were of those',
      ['tokens', 'sunset', '--undo', 'sunset-1', '--id', '4711'],
      /--id and --undo cannot be used together/,
      /--help/,
    ],
    [
      'a flag that needs another one',
      ['service', 'start', '--tls-cert', 'x'],
      /--tls-cert requires --tls-key/,
      /--help/,
    ],
    [
      'flags before the command',
      ['--context=s3cret', 'context', 'check'],
      /Flags must follow the command: --context(, --json)?/,
      /tokenctl context check --context/,
    ],
    [
      'revoking what exists while allowing new ones',
      ['settings', 'external-tokens', 'allow', '--revoke-existing', '--yes'],
      /--revoke-existing requires deny/,
      undefined,
    ],
    ['a port that is none', ['service', 'start', '--port', '99999'], /--port: .* 1 to 65535/, undefined],
    [
      'a cookie name that is no token',
      ['service', 'start', '--session-cookie-name', 'a b;c'],
      /not a valid cookie name/,
      undefined,
    ],
    [
      'the name of another cookie',
      ['service', 'start', '--session-cookie-name', 'csrftoken'],
      /csrftoken is the name of another cookie/,
      undefined,
    ],
    [
      'a global flag where it means nothing',
      ['service', 'start', '--config', 'none.yaml'],
      /Unknown flag --config/,
      undefined,
    ],
    [
      'a wrong date',
      ['tokens', 'list', '--created-before', '2026-02-30'],
      /--created-before: Invalid time/,
      undefined,
    ],
    ['a wrong age', ['tokens', 'list', '--unused-for', '90'], /--unused-for: Invalid age/, undefined],
    ['a wrong id', ['tokens', 'list', '--id', '1e3'], /--id: Invalid number .* whole number/, undefined],
    [
      'a misspelt runbook',
      ['incident', 'step', 'inc-1a2b3c4d', '--step', '1', '--runbook', 'stoln-token'],
      /Invalid value for --runbook: expected one of stolen-token, .*controller-down/,
      /^Did you mean stolen-token\?$/,
    ],
    [
      'a misspelt choice of an argument',
      ['incident', 'runbook', 'leaving-employe'],
      /Invalid value for the argument/,
      /^Did you mean leaving-employee\?$/,
    ],
    [
      'what is near to no choice',
      ['tokens', 'list', '--scope', 'everything'],
      /Invalid value for --scope: expected one of read, write/,
      /--help/,
    ],
    [
      'a misspelt rule, before the missing context',
      ['tokens', 'revoke', '--finding', 'nver-used'],
      /No rule named "nver-used"; did you mean "never-used"\?/,
      /never-used/,
    ],
    [
      'a revocation of nothing in particular',
      ['tokens', 'revoke', '--yes'],
      /No tokens are selected/,
      /--user, .*or select all with --all/,
    ],
    [
      'everything and something',
      ['tokens', 'revoke', '--yes', '--all', '--user', 'x'],
      /Both all tokens and another criterion/,
      undefined,
    ],
    ['no context', ['tokens', 'list'], /No context is selected/, /context add/],
    ['an unknown context', ['tokens', 'list', '--context', 'x'], /no context "x"/, undefined],
    [
      'a context that every object has',
      ['tokens', 'list', '--context', 'constructor'],
      /no context/,
      undefined,
    ],
    [
      'a configuration file that is not there',
      ['tokens', 'list', '--config', '/nowhere.yaml'],
      /does not exist/,
      undefined,
    ],
  ])('%s', async (_name, args, message, hint) => {
    const { text, json, error } = await bothWays(args);
    expect([text.code, json.code]).toEqual([2, 2]);
    expect(text.stdout).toBe('');
    expect(text.stderr).toMatch(/^Error: /);
    expect(text.stderr).toMatch(message);
    expect(json.stderr).toBe('');
    expect(error.message).toMatch(message);
    if (hint !== undefined) expect(error.hint).toMatch(hint);
    expect(Object.keys(error).every((key) => ['code', 'message', 'hint', 'details'].includes(key))).toBe(
      true,
    );
  });
});

describe('a secret on the command line is not repeated', () => {
  const url = 'postgres://u:s3cretpw@h/db';

  test.each([
    ['in a flag that excludes another', ['service', 'start', '--data', 'x', '--database', url]],
    ['in a flag that others exclude', ['service', 'start', '--database', url, '--database-file', 'x']],
    ['in a flag that takes no secret', ['service', 'start', '--database', url]],
    ['in a mistyped flag', ['service', 'start', `--databse=${url}`]],
    ['in a mistyped short flag', ['tokens', 'list', '-ps3cretpw']],
    ['in place of a choice', ['service', 'start', '--log-level', 's3cretpw\nto be one of: s3cretpw']],
    ['as a choice', ['settings', 'basic-auth', 's3cretpw']],
    ['as an argument too many', ['service', 'start', url]],
    ['as a second argument', ['context', 'use', 'lab', 's3cretpw']],
    ['after a command that does not exist', ['context', 'ad', 's3cretpw']],
    ['after a topic that does not exist', ['contxt', 's3cretpw']],
    ['in a short flag before the command', ['-ps3cretpw', 'tokens', 'list']],
    ['before the command', [`--password=${url}`, 'tokens', 'list']],
  ])('%s', async (_name, args) => {
    const { text, json } = await bothWays(args, { TOKENCTL_DEBUG: '1' });
    expect([text.code, json.code]).toEqual([2, 2]);
    expect(text.stderr + json.stdout + json.stderr).not.toContain('s3cretpw');
  });
});

describe('a controller that cannot be reached ends with 7', () => {
  const credentials = { CONTROLLER_OAUTH_TOKEN: 'tokentokentoken' };

  test('no such name', async () => {
    const env = { CONTROLLER_HOST: 'https://controller.invalid', ...credentials };
    const { text, json, error } = await bothWays(['tokens', 'list'], env);
    expect([text.code, json.code]).toEqual([7, 7]);
    expect(error.code).toBe('target_unreachable');
    expect(text.stderr).toContain('controller.invalid');
    expect(text.stderr + json.stdout).not.toContain('tokentokentoken');
  });

  test('no one listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await new Promise((resolve) => server.close(resolve));
    const env = { CONTROLLER_HOST: `http://127.0.0.1:${port}`, ...credentials };
    const { text, json } = await bothWays(['context', 'check'], env);
    expect([text.code, json.code]).toEqual([7, 7]);
    expect(text.stderr).toContain(`127.0.0.1:${port}`);
  });
});

describe('a variable of the environment', () => {
  test('that names a secret is missed by its name', async () => {
    const { stderr, code } = await tokenctl(['tokens', 'list'], {
      env: { CONTROLLER_HOST: 'https://x.invalid' },
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/no credential.*\n.*CONTROLLER_OAUTH_TOKEN/);
  });

  test('TOKENCTL_CONFIG names the file, and what is wrong in it is told with its line', async () => {
    const config = join(temporaryFolder(), 'mine.yaml');
    writeFileSync(config, 'contexts: {}\ncurrentcontext: x\n');
    const { stderr, code } = await tokenctl(['context', 'list'], { env: { TOKENCTL_CONFIG: config } });
    expect(code).toBe(2);
    expect(stderr).toMatch(/mine\.yaml:2: currentcontext: .*"currentContext"/);
  });
});

describe('help', () => {
  test.each([
    [[]],
    [['--help']],
    [['tokens']],
    [['tokens', 'revoke', '--help']],
    [['help', 'tokens', 'list']],
  ])('%j is no error', async (args) => {
    const { stdout, stderr, code } = await tokenctl(args);
    expect(code).toBe(0);
    expect(stdout).toContain('USAGE');
    expect(stderr).toBe('');
  });

  test('--version is the version', async () => {
    expect(await tokenctl(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^tokenctl\/\d/),
    });
  });
});

describe('a file that is missing or broken is reported before a controller is asked', () => {
  // Nothing listens there: a command that asks it ends with 7.
  const env = { CONTROLLER_HOST: 'http://127.0.0.1:9', CONTROLLER_USERNAME: 'x', CONTROLLER_PASSWORD: 'x' };
  const files = () => {
    const folder = temporaryFolder();
    const broken = join(folder, 'broken');
    writeFileSync(broken, '{"format": "other"', { mode: 0o600 });
    return { missing: join(folder, 'missing'), broken };
  };

  test.each([
    ['incident', 'clean', '--from'],
    ['incident', 'report', 'inc-1a2b3c4d', '--from'],
    ['incident', 'lockdown', '--plan'],
    ['tokens', 'revoke', '--plan'],
    ['tokens', 'revoke', '--finding', 'never-used', '--policy'],
    ['tokens', 'find', '--leaked'],
    ['tokens', 'audit', '--baseline'],
    ['tokens', 'audit', '--policy'],
    ['tokens', 'notices', '--webhook-file'],
    ['plan', 'show'],
    ['plan', 'approve'],
  ])('%s %s %s %s', async (...args) => {
    const { missing, broken } = files();
    // Any file can be searched for tokens.
    for (const file of args.at(-1) === '--leaked' ? [missing] : [missing, broken]) {
      const { code, stderr } = await tokenctl([...args, file], { env });
      expect([code, stderr.includes(file) || stderr.includes('webhook')], stderr).toEqual([2, true]);
    }
  });

  test.each([
    ['tokens', 'revoke', '--all'],
    ['tokens', 'find', '--revoke', '--leaked', process.execPath],
    ['incident', 'lockdown', '--all'],
    ['incident', 'clean', '--incident', 'inc-1a2b3c4d'],
    ['incident', 'lift', 'inc-1a2b3c4d'],
    ['users', 'offboard', 'alice'],
    ['settings', 'basic-auth', 'off'],
    ['applications', 'delete', 'x'],
  ])('and before that, whether it can ask for confirmation: %s %s', async (...args) => {
    const { code, stderr } = await tokenctl(args, { env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/without a terminal\.\n.*--dry-run.*--yes/)]);
  });

  test('a new file that exists', async () => {
    const { broken } = files();
    for (const command of [
      ['tokens', 'create', '--scope', 'read'],
      ['tokens', 'rotate', '17'],
    ]) {
      const args = [...command, '--output', broken];
      expect(await tokenctl(args, { env })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('already exists'),
      });
    }
  });

  test('incident investigate --out', async () => {
    const { missing, broken } = files();
    for (const file of [broken, join(missing, 'new')]) {
      const args = ['incident', 'investigate', '--user', 'alice', '--out', file];
      expect(await tokenctl(args, { env })).toMatchObject({ code: 2, stderr: expect.stringContaining(file) });
    }
  });
});
