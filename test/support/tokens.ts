import type { Token } from '../../src/domain/token.ts';

/** A personal access token of alice for a year, used yesterday. */
export function token(other: Partial<Token> = {}): Token {
  return {
    id: 1,
    user: { id: 2, username: 'alice' },
    application: null,
    scope: 'read',
    description: '',
    created: new Date('2026-06-01T00:00:00Z'),
    expires: new Date('2027-06-01T00:00:00Z'),
    lastUsed: new Date('2026-11-19T00:00:00Z'),
    hasRefreshToken: false,
    fingerprint: null,
    ...other,
  };
}
