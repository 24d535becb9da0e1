import { describe, expect, test } from 'vitest';
import { managementArguments } from '../../../src/cli/flags/management-options.ts';
import { databaseEstate } from './database-estate.ts';

const { home } = databaseEstate();

describe('the arguments of a replaced management command', () => {
  test.each([
    ['create_oauth2_token --us alice --verb 2', 'create_oauth2_token --user alice --verbosity 2'],
    ['revoke_oauth2_tokens --a --us=bob --no', 'revoke_oauth2_tokens --all --user=bob --no-color'],
    ['cleanup_tokens -v0', 'cleanup_tokens --verbosity=0'],
    ['cleanup_tokens -v 2', 'cleanup_tokens --verbosity 2'],
    ['cleanup_tokens --he', 'cleanup_tokens --help'],
    ['create_oauth2_token --user a --user=b', 'create_oauth2_token --user=b'],
    ['create_oauth2_token --user', 'create_oauth2_token --user'],
    ['create_oauth2_token --user --us', 'create_oauth2_token --user --us'],
    // Flags of tokenctl are not shortened, and other commands are left alone.
    ['revoke_oauth2_tokens --reaso x', 'revoke_oauth2_tokens --reaso x'],
    ['revoke_oauth2_tokens -- --us', 'revoke_oauth2_tokens -- --us'],
    ['tokens list --us alice', 'tokens list --us alice'],
    ['', ''],
  ])('%s', (typed, read) => {
    expect(managementArguments(typed.split(' ')).join(' ')).toBe(read);
  });

  test.each([
    ['cleanup_tokens --s x', '--settings or --skip-checks'],
    ['cleanup_tokens --v 1', '--version or --verbosity'],
  ])('%s is ambiguous', (typed, choice) => {
    expect(() => managementArguments(typed.split(' '))).toThrow(choice);
  });
});

describe('the options that Django gives to every command', () => {
  test.each([
    [['cleanup_tokens', '-v', '5'], 2, '', /--verbosity/],
    [['cleanup_tokens', '-v'], 2, '', /--verbosity/],
    [['cleanup_tokens', '--s', 'x'], 2, '', /^Error: Ambiguous flag --s: --settings or --skip-checks\./],
    [['cleanup_tokens', '--traceback=1'], 2, '', /./],
    [['cleanup_tokens', '--version'], 0, /^\d+\.\d+\.\d+\S*\n$/, ''],
    [['expire_sessions', '--no-c', '--force-color'], 1, '', /^CommandError: .* can't be used together\.\n$/],
    [['create_oauth2_token', '--us', 'nosuch'], 1, '', 'CommandError: The user does not exist.\n'],
    [['create_oauth2_token', '--us', 'nosuch', '--trace'], 1, '', /^CommandError: .*\n(?:.*\n)* {4}at /],
    [['create_oauth2_token', '-h'], 0, /USAGE/, ''],
    [['cleanup_tokens', '--no-color', '--force-color', '-v', '0'], 0, '', ''],
    [
      ['cleanup_tokens', '--skip', '--settings', 'x.y', '--pyth', '/tmp', '--verbosity=3'],
      0,
      '',
      /^Expired OAuth 2 Access Tokens deleted: \d+\nExpired OAuth 2 Refresh Tokens deleted: \d+\n$/,
    ],
  ] as const)('%j ends as the management command does', async (args, code, stdout, stderr) => {
    const found = await home().run(args);
    expect(found.code).toBe(code);
    for (const [text, expected] of [
      [found.stdout, stdout],
      [found.stderr, stderr],
    ] as const) {
      if (typeof expected === 'string') expect(text).toBe(expected);
      else expect(text).toMatch(expected);
    }
  });
});
