import { expect, test } from 'vitest';
import { questionFor } from '../../../src/cli/revocation/revocation-plan.ts';
import { isNothing } from '../../../src/domain/plan.ts';

test.each([
  [{ accessTokens: 12, refreshTokens: 0, authorizationCodes: 0, sessions: 0 }, '12', 'revoke 12 tokens'],
  [
    { accessTokens: 12, refreshTokens: 7, authorizationCodes: 0, sessions: 0 },
    '12',
    'revoke 12 access tokens and 7 refresh tokens',
  ],
  [
    { accessTokens: 1, refreshTokens: 0, authorizationCodes: 0, sessions: 3 },
    '1',
    'revoke 1 token, and end 3 sessions',
  ],
  [
    { accessTokens: 0, refreshTokens: 7, authorizationCodes: 0, sessions: 3 },
    '7',
    'revoke 7 refresh tokens, and end 3 sessions',
  ],
  [{ accessTokens: 0, refreshTokens: 0, authorizationCodes: 0, sessions: 3 }, '3', 'end 3 sessions'],
  [
    { accessTokens: 1, refreshTokens: 2, authorizationCodes: 1, sessions: 3 },
    '1',
    'revoke 1 access token and 2 refresh tokens, delete 1 authorization code, and end 3 sessions',
  ],
])('%j is confirmed by the first number that is not 0', (amounts, type, act) => {
  expect(questionFor(amounts)).toEqual({ type, act, tokens: amounts.accessTokens });
  expect(isNothing(amounts)).toBe(false);
});

test('nothing at all is nothing to confirm', () => {
  expect(isNothing({ accessTokens: 0, refreshTokens: 0, authorizationCodes: 0, sessions: 0 })).toBe(true);
});
