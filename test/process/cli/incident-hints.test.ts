import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { failureOf } from '../../../src/cli/errors/failure.ts';
import { hintForPaths } from '../../../src/cli/incident/incident-text.ts';
import {
  changeToJson,
  multiContextFailure,
  outcomeTable,
  problemOf,
} from '../../../src/cli/multi-context/context-outcomes.ts';
import { closedPath, openPath, uncheckedPath } from '../../../src/domain/access.ts';

const closed = closedPath('access_tokens', 'Read again.');
const unchecked = uncheckedPath('sessions', 'Not listed.');
const active = openPath('users', '1 is active.');
const left = openPath('access_tokens', '1 is left.');

const rest = { credential: 'token' } as const;

test('what the same command would find again is not left to the same command', () => {
  const named = { ...rest, databaseContext: 'prod-db' };
  expect(hintForPaths([closed, unchecked], { description: named })).toBe(
    'Run the same command with --context prod-db, or follow the instructions under "Access paths".',
  );
  expect(hintForPaths([closed, unchecked], { description: rest })).toContain('a database context');
  expect(hintForPaths([active], { description: rest, staysActive: true })).toContain('a database context');
});

test('in a database, an access path that cannot be checked yet names the time to wait for', () => {
  const description = { credential: 'database_role' } as const;
  const later = { ...unchecked, until: '2026-11-22T07:00:00.000Z' };
  expect(hintForPaths([later], { description })).toBe(
    'Run the same command again after 2026-11-22T07:00Z, or follow the instructions under "Access paths".',
  );
  expect(hintForPaths([unchecked], { description })).toBe('Follow the instructions under "Access paths".');
});

test('what the same command may close is left to it', () => {
  expect(hintForPaths([closed], { description: rest })).toBeUndefined();
  expect(hintForPaths([left, unchecked], { description: rest })).toBeUndefined();
  expect(hintForPaths([active], { description: rest })).toBeUndefined();
});

test('several contexts are told to run it again only where that may finish the work', () => {
  const partly = (hint: string) => new TokenctlError('partly_done', 'Not checked: sessions', { hint });
  const stuck = partly('Run the same command with --context prod-db, or follow the instructions.');
  const open = partly('Run the same command again to finish.');
  const hint = (...errors: TokenctlError[]) =>
    multiContextFailure(new Map(errors.map((error, index) => [`s${index}`, error])), {
      contexts: errors.map((_, index) => `s${index}`),
      changes: true,
    })?.hint;
  expect(hint(stuck, stuck)).toBeUndefined();
  expect(hint(stuck, open)).toMatch(/^Run the same command again/);
  expect(
    hint(stuck, new TokenctlError('target_unreachable', 'Gone', { hint: 'Check the address.' })),
  ).toMatch(/^Run the same command again/);
});

describe('a token that another context of the change revoked', () => {
  const refused = new TokenctlError('credentials_refused', 'The controller does not accept the token.');
  const rest = { context: 'rest', error: refused, credentialRevokedBy: 'db' };

  test('is no problem of its context, which says so', async () => {
    expect(problemOf(rest)).toBeUndefined();
    expect(problemOf({ context: 'rest', error: refused })).toBe(refused);
    expect(changeToJson(rest)).toEqual({
      state: 'credentials_refused',
      credentialRevokedBy: 'db',
      message: expect.stringMatching(/^The token of context rest is revoked: .* of context db\./),
    });
    const rows: unknown[] = [];
    for await (const row of outcomeTable([rest]).rows) rows.push(row);
    expect(rows).toEqual([expect.objectContaining({ state: 'token revoked: see db' })]);
  });

  test('hides no other problem', () => {
    const gone = new TokenctlError('target_unreachable', 'Gone');
    expect(problemOf({ ...rest, error: gone })).toBe(gone);
    expect(changeToJson({ ...rest, error: gone })).toMatchObject({ state: 'target_unreachable' });
  });

  test('is not refused again by running the same command', () => {
    const run = { contexts: ['rest', 'db'], changes: true };
    expect(multiContextFailure(new Map([['rest', refused]]), run)?.hint).toBeUndefined();
  });
});

test('a bug in one of several contexts is a bug, which the others do not hide', () => {
  const errors = new Map<string, unknown>([
    ['s1', new TypeError('secret')],
    ['s2', new TokenctlError('interrupted', 'Interrupted')],
  ]);
  const failure = failureOf(multiContextFailure(errors, { contexts: ['s1', 's2', 's3'], changes: true }));
  expect(failure).toMatchObject({ exit: 1, code: 'bug', details: { contexts: ['s1', 's2'] } });
  expect(failure.message).toMatch(
    /^Not completed in 2 of 3 contexts:\n {2}s1: Bug in tokenctl: unexpected TypeError/,
  );
  expect(JSON.stringify(failure)).not.toContain('secret');
});
