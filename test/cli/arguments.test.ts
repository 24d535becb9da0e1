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
    ['an unknown flag', ['tokens', 'list', '--usr', 'bo'], /no flag --usr/, /--user/],
    ['an unknown command', ['tokens', 'lst'], /no command "tokens lst"/, /tokenctl tokens list/],
    ['an unknown topic', ['tokns'], /no command "tokns"/, /tokenctl tokens/],
    ['a flag without its value', ['tokens', 'list', '--user'], /--user expects a value/, /--help/],
    [
      'an argument too many',
      ['tokens', 'list', 'bo'],
      /tokens list takes no argument, and there is: bo/,
      /--help/,
    ],
    ['an argument too many for one', ['context', 'use', 'a', 'b'], /Unexpected argument: b/, /--help/],
    ['a missing argument', ['settings', 'basic-auth'], /Missing 1 required arg/, /--help/],
    ['a wrong choice', ['tokens', 'audit', '--fail-on', 'huge'], /low, medium, high, critical/, /--help/],
    [
      'a wrong date',
      ['tokens', 'list', '--created-before', '2026-02-30'],
      /--created-before: .* no moment/,
      undefined,
    ],
    ['a wrong age', ['tokens', 'list', '--unused-for', '90'], /--unused-for: .* not an age/, undefined],
    ['a wrong id', ['tokens', 'list', '--id', '1e3'], /--id: .* not a whole number/, undefined],
    ['a change without a terminal', ['tokens', 'revoke', '--all'], /no terminal/, /--dry-run.*--yes/],
    [
      'a revocation of nothing in particular',
      ['tokens', 'revoke', '--yes'],
      /No tokens are selected/,
      /criterion/,
    ],
    ['everything and something', ['tokens', 'revoke', '--yes', '--all', '--user', 'x'], /beside/, undefined],
    ['no context', ['tokens', 'list'], /No context is chosen/, /context add/],
    ['an unknown context', ['tokens', 'list', '--context', 'x'], /no context "x"/, /none yet/],
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

  test('nobody listens', async () => {
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
