import { expect, test } from 'vitest';
import { compareTokens, type SnapshotToken } from '../../../src/domain/token-diff.ts';

const DAY = 86_400_000;

function token(id: number, more: Partial<SnapshotToken> = {}): SnapshotToken {
  return {
    id,
    user: { id: 1, username: 'alice' },
    application: null,
    scope: 'read',
    description: '',
    created: '2026-01-01T00:00:00.000Z',
    expires: '3026-01-01T00:00:00.000Z',
    lastUsed: null,
    ...more,
  };
}

const side = (at: string, ...tokens: SnapshotToken[]) => ({ at: new Date(at), tokens });
const changes = (...sides: readonly [ReturnType<typeof side>, ReturnType<typeof side>]) =>
  compareTokens(...sides, 90 * DAY).map(({ change, token: { id } }) => `${change} ${id}`);

test('tells what is new, gone, widened and used for the first time', () => {
  const before = side('2026-02-01T00:00:00Z', token(1), token(2), token(3), token(4));
  const after = side(
    '2026-03-01T00:00:00Z',
    token(1),
    token(3, { scope: 'read write' }),
    token(4, { lastUsed: '2026-02-10T00:00:00.000Z' }),
    token(5),
  );
  expect(changes(before, after)).toEqual(['widened 3', 'newly_used 4', 'new 5', 'gone 2']);
  expect(changes(after, after)).toEqual([]);
});

test('counts idleness to the time of each snapshot, for an unused token from its creation', () => {
  const used = { lastUsed: '2026-01-20T00:00:00.000Z' };
  const tokens = [token(1), token(2, used), token(3, { lastUsed: '2026-04-01T00:00:00.000Z' })];
  const at = (day: string) => side(`2026-${day}T00:00:00Z`, ...tokens);
  expect(changes(at('02-01'), at('03-31'))).toEqual([]);
  expect(changes(at('02-01'), at('04-02'))).toEqual(['newly_idle 1']);
  expect(changes(at('02-01'), at('04-20'))).toEqual(['newly_idle 1', 'newly_idle 2']);
  // It was told before.
  expect(changes(at('04-02'), at('04-20'))).toEqual(['newly_idle 2']);
});

test('takes an id with another time of creation for another token, and says nothing of a use that is not told', () => {
  const { lastUsed: _, ...untold } = token(1);
  const before = side('2026-02-01T00:00:00Z', untold, token(2));
  const again = token(2, { created: '2026-02-10T00:00:00.000Z' });
  expect(changes(before, side('2026-12-01T00:00:00Z', { ...untold, lastUsed: null }, again))).toEqual([
    'new 2',
    'gone 2',
  ]);
});
