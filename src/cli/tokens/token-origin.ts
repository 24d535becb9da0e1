import type { Runtime } from '../../app/runtime.ts';
import { isTokenOf } from '../../domain/leased-token.ts';
import { DAY } from '../../domain/policy/rule.ts';
import type { Token } from '../../domain/token.ts';
import { leasesByToken } from '../../operations/journal/recorded-leases.ts';
import { tellOfDueLeases } from '../leases/lease-text.ts';

/**
 * Where tokens come from: of an `application`; of a `broker`, a `rotation` or a `program` that `exec` runs, each with a lease; of a
 * `person`, with an end within a year of their making. `permanent` are those of persons without such an end, stored somewhere.
 */
type TokenOriginName = 'application' | 'broker' | 'rotation' | 'program' | 'person' | 'permanent';

const YEAR = 365 * DAY;

/** Tells where tokens come from; only the log is read for that. */
export async function originsOfTokens(runtime: Runtime): Promise<(token: Token) => TokenOriginName> {
  const leases = leasesByToken(await tellOfDueLeases(runtime), await runtime.description());
  return (token) => {
    if (token.application !== null) return 'application';
    const own = (leases.get(token.id) ?? []).filter((lease) => isTokenOf(lease, token));
    for (const { why } of own) {
      if (why === 'broker' || why === 'rotation') return why;
      if (why === 'exec') return 'program';
    }
    const lifetime = token.expires.getTime() - token.created.getTime();
    return own.length > 0 || lifetime < YEAR ? 'person' : 'permanent';
  };
}
