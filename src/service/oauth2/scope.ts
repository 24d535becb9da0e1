import { scopeProblem } from '../resources/token-scope.ts';
import { OAuthError } from './oauth-error.ts';

/** What a client gets that asks for no scope in particular (RFC 6749 §3.3). */
const DEFAULT_SCOPE = 'read write';

/** The scopes there are. */
export const SCOPES = ['read', 'write'] as const;

/**
 * The scope that is asked for.
 *
 * @throws OAuthError `invalid_scope`
 */
export function askedScope(asked: string | undefined): string {
  if (asked === undefined) return DEFAULT_SCOPE;
  if (scopeProblem(asked) !== null) throw new OAuthError('invalid_scope');
  return asked;
}

/** Whether a scope holds all of another. */
export function covers(granted: string, asked: string): boolean {
  const words = granted.split(' ');
  return asked.split(' ').every((word) => words.includes(word));
}
