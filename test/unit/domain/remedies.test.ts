import { describe, expect, test } from 'vitest';
import {
  authorizationCodesRemedy,
  passwordsRemedy,
  type RemedySelection,
  refreshTokensRemedy,
  selectionOf,
  sessionsRemedy,
  shellWord,
} from '../../../src/domain/remedies.ts';

const rest = { dialect: 'controller', context: 'production' } as const;
const both = { ...rest, databaseContext: 'production-db' };

function users(...names: string[]): RemedySelection {
  return selectionOf({ users: names }, names);
}

describe('a remedy does no more than the selection', () => {
  test('names the user, never everybody', () => {
    expect(refreshTokensRemedy(users('bob'), rest)).toBe(
      'Run `awx-manage revoke_oauth2_tokens --user bob --all` on the server.',
    );
    expect(sessionsRemedy(users('bob'), rest)).toBe(
      'Run `awx-manage expire_sessions --user bob` on the server.',
    );
  });

  test('names the configured database context', () => {
    const command = '`tokenctl tokens revoke --context production-db --user bob --user carol`';
    expect(refreshTokensRemedy(users('bob', 'carol'), both)).toBe(`Run ${command}.`);
    expect(authorizationCodesRemedy(users('bob', 'carol'), both)).toBe(`Delete them with ${command}.`);
    expect(sessionsRemedy(users('bob'), both)).toBe(
      'Run `tokenctl sessions expire --context production-db --user bob`.',
    );
  });

  test('takes one user after the other where a management command takes one', () => {
    expect(refreshTokensRemedy(users('bob', "o'neil x"), rest)).toBe(
      "Run `for name in bob 'o'\\''neil x'; do awx-manage revoke_oauth2_tokens --user=\"$name\" --all; done` on the server.",
    );
  });

  test('never leaves the name out, with which a management command would act on all users', () => {
    expect(refreshTokensRemedy(users(), rest)).toContain('--user NAME');
    expect(sessionsRemedy(users(), rest)).not.toContain('expire_sessions');
    for (const selection of [users(''), users(...Array.from({ length: 21 }, (_, n) => `u${n}`))]) {
      expect(refreshTokensRemedy(selection, rest)).toContain('--user NAME');
      expect(sessionsRemedy(selection, rest)).toContain('--user NAME');
    }
  });

  test('of sessions whose owners were not read has no placeholder', () => {
    const application = selectionOf({ applications: ['CI'] }, []);
    for (const place of [rest, both]) expect(sessionsRemedy(application, place)).not.toContain('NAME');
    expect(sessionsRemedy(application, both)).toContain('`tokenctl sessions list --context production-db`');
  });

  test('of everything covers everything', () => {
    const all = selectionOf({ all: true }, []);
    expect(refreshTokensRemedy(all, rest)).toBe('Run `awx-manage revoke_oauth2_tokens --all` on the server.');
    expect(refreshTokensRemedy(all, both)).toBe(
      'Run `tokenctl tokens revoke --context production-db --all`.',
    );
  });

  test('of an application or of single tokens runs no command for all users', () => {
    const selections = [selectionOf({ applications: ['CI'] }, ['bob']), selectionOf({ ids: [5] }, ['bob'])];
    for (const selection of selections) {
      expect(refreshTokensRemedy(selection, rest)).not.toContain('revoke_oauth2_tokens');
      expect(sessionsRemedy(selection, rest)).toBe(
        'Run `awx-manage expire_sessions --user bob` on the server.',
      );
    }
  });

  test('says of a switch that it is for all users', () => {
    expect(passwordsRemedy(users('bob'), rest)).toContain('turns it off for all users');
  });
});

test.each([
  ['bob', 'bob'],
  ['a b', "'a b'"],
  ["it's", "'it'\\''s'"],
  ['$(id)', "'$(id)'"],
  ['a\u001b[1m', "$'a\\x1b[1m'"],
])('%j is quoted for a shell', (text, word) => {
  expect(shellWord(text)).toBe(word);
});
