import type { Selector } from '../../domain/selector.ts';
import type { RefreshTokenSelector } from '../ports/target.ts';

/**
 * The refresh tokens, alive, that a selector of access tokens means as well: null where it has a criterion
 * that only an access token can meet, so that none are meant but those beside the selected ones.
 */
export function refreshTokensMeant(selector: Selector): RefreshTokenSelector | null {
  const { all: _all, users, applications, ...others } = selector;
  if (Object.values(others).some((value) => value !== undefined)) return null;
  return {
    states: ['live', 'orphaned'],
    ...(users !== undefined && { users }),
    ...(applications !== undefined && { applications }),
  };
}
