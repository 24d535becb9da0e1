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
import { requireRestCreates } from '../../../src/domain/token-request.ts';

const rest = { dialect: 'controller', context: 'production' } as const;
const both = { ...rest, databaseContext: 'production-db' };

function users(...names: string[]): RemedySelection {
  return selectionOf({ users: names }, names);
}

/** Users `u0`, `u1` and so on. */
function many(number: number): RemedySelection {
  return users(...Array.from({ length: number }, (_, index) => `u${index}`));
}

function commandsIn(remedy: string): string[] {
  return [...remedy.matchAll(/`([^`]*)`/g)].map(([, command = '']) => command);
}

function namesIn(command: string): string[] {
  return [...command.matchAll(/--user (\S+)/g)].map(([, name = '']) => name);
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

  test('names no management command at the service, which has none', () => {
    const own = { ...rest, dialect: 'service' } as const;
    const every = selectionOf({ all: true }, []);
    const single = selectionOf({ ids: [5] }, ['bob']);
    for (const selection of [users('bob'), users(''), users(), every, single, many(300)]) {
      const remedies = [refreshTokensRemedy, sessionsRemedy].map((remedy) => remedy(selection, own));
      expect(remedies.join()).not.toMatch(/-manage|on the server/);
      for (const remedy of remedies) expect(remedy).toMatch(/^Add a database context/);
    }
    expect(sessionsRemedy(users('bob'), own)).toContain('`sessions expire`');
    const asked = () => requireRestCreates({ user: 'bob' }, { username: 'admin', dialect: 'service' });
    expect(asked).toThrow(
      expect.objectContaining({ hint: 'Authenticate as bob, or use a database context.' }) as Error,
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
    for (const selection of [users(), users(''), users('bob', ''), many(201)]) {
      expect(refreshTokensRemedy(selection, rest)).toMatch(/^Use a database context: /);
    }
    for (const selection of [users(''), users('bob', ''), many(201)]) {
      expect(sessionsRemedy(selection, rest)).toMatch(/^Use a database context: /);
    }
    expect(sessionsRemedy(users(), rest)).not.toContain('expire_sessions');
  });

  test('of many names is several commands, and of too many names the same command elsewhere', () => {
    const [first = '', second = '', ...others] = commandsIn(refreshTokensRemedy(many(21), both));
    expect(others).toEqual([]);
    expect(namesIn(first)).toHaveLength(20);
    expect(namesIn(second)).toEqual(['u20']);
    const commands = commandsIn(sessionsRemedy(many(200), both)).flatMap(namesIn);
    expect(commands).toEqual(many(200).names);
    expect(commandsIn(refreshTokensRemedy(many(200), rest))).toHaveLength(1);
    expect(refreshTokensRemedy(many(201), both)).toBe('Run the same command with `--context production-db`.');
    expect(authorizationCodesRemedy(many(201), both)).toBe(
      'Run the same command with `--context production-db`.',
    );
    expect(sessionsRemedy(many(201), both)).toContain('201 users');
  });

  test('has no placeholder, whatever is selected', () => {
    const owners = many(201).names;
    const applications = selectionOf({ applications: owners }, owners);
    const selections = [
      users(),
      users(''),
      many(21),
      many(201),
      applications,
      selectionOf({ ids: [5] }, owners),
    ];
    for (const selection of selections) {
      for (const place of [rest, both, { ...rest, dialect: 'gateway' } as const]) {
        for (const remedy of [
          refreshTokensRemedy,
          authorizationCodesRemedy,
          sessionsRemedy,
          passwordsRemedy,
        ]) {
          expect(remedy(selection, place)).not.toMatch(/\bNAME\b/);
        }
      }
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
