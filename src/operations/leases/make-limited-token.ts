import { randomBytes } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { TokenOrigin } from '../../domain/broker/rules.ts';
import { endsByItself, type LeaseOrder, type LeaseReason } from '../../domain/leases.ts';
import type { Change } from '../journal/operation-run.ts';
import { readLeases, requireLease } from '../journal/recorded-leases.ts';
import type { CreatedToken, Target, TargetDescription, TokenRequest } from '../ports/target.ts';
import { knownSettings } from '../scope/known-settings.ts';
import { createToken, leaseEnd } from '../tokens/create-token.ts';
import { endLeases } from './end-leases.ts';

/** A token that ends earlier than the settings say. */
export interface LimitedToken extends CreatedToken {
  /** When it ends, by the controller's clock. */
  readonly until: Date;
  /** The id of its lease; null if the target stores the end. */
  readonly lease: string | null;
}

/**
 * Creates a token that ends after this many seconds. A database stores the end in the row, as does tokenctl's
 * own service for `create`; other REST APIs do not accept an end. Over REST a lease is recorded before the
 * token is created, and is closed once the target stored the end.
 * @param options.why With `exec`, `rotation` and `broker`, a lease is always recorded: the token is to end
 * before its lifetime.
 * @throws TokenctlError `usage` for a lifetime longer than the controller's: before the creation if that is
 * known, otherwise after the token is revoked again; and as {@link createToken}.
 */
export async function makeLimitedToken(
  options: Change & {
    readonly request: Omit<TokenRequest, 'lifetime'>;
    readonly seconds: number;
    readonly why: LeaseReason;
    /** With `rotation`. */
    readonly consumer?: string;
    /** With `broker`. */
    readonly origin?: TokenOrigin;
  },
): Promise<LimitedToken> {
  const { request, seconds, why, consumer, origin, ...change } = options;
  // A broker checks this when it starts, not for each token.
  if (why !== 'broker') await requireWithinLifetime(change.target, seconds);
  const isRole = change.description.credential === 'database_role';
  // A program's lease can be moved; an end stored by the service cannot.
  const isStored = isRole || (why === 'create' && storesEnds(change.description));
  const lease: LeaseOrder | undefined =
    isRole && why === 'create'
      ? undefined
      : {
          id: `lease-${randomBytes(6).toString('hex')}`,
          why,
          seconds,
          ...(consumer !== undefined && { consumer }),
          ...(origin !== undefined && { origin }),
        };
  const created = await createToken({
    ...change,
    request: isStored ? { ...request, lifetime: seconds } : request,
    lease,
  });
  const { token } = created;
  if (lease === undefined) return { ...created, until: token.expires, lease: null };
  const until = leaseEnd(token, lease);
  const { expires } = token;
  if (isStored || until.getTime() - expires.getTime() < ROUNDING_MS) {
    const isOver = why === 'create' && endsByItself({ expires: expires.toISOString() }, until.toISOString());
    return { ...created, ...(isOver ? { until: expires, lease: null } : { until, lease: lease.id }) };
  }
  const begun = requireLease(await readLeases(change.log, change.description), lease.id);
  const [ended] = await endLeases({ ...change, reason: "its lifetime exceeds the controller's limit" }, [
    begun,
  ]);
  const fate = ended?.how === null ? `, and token ${token.id} was left: ${ended.why}` : '';
  const lifetime = Math.round((token.expires.getTime() - token.created.getTime()) / 1000);
  throw tooLong(seconds, lifetime, fate);
}

/** Whether a target stores a token's requested end: a database, or tokenctl's own service. */
export function storesEnds({
  credential,
  dialect,
}: Pick<TargetDescription, 'credential' | 'dialect'>): boolean {
  return credential === 'database_role' || dialect === 'service';
}

/** How much earlier than requested a stored expiry may be, in milliseconds. */
const ROUNDING_MS = 1000;

/** Refuses a lifetime longer than that of new tokens (`usage`), if this account may read the settings. */
export async function requireWithinLifetime(target: Target, seconds: number): Promise<void> {
  const { values } = await knownSettings(target);
  const lifetime = values?.OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS;
  if (lifetime !== undefined && seconds > lifetime) throw tooLong(seconds, lifetime);
}

function tooLong(seconds: number, lifetime: number, fate = ''): TokenctlError {
  return new TokenctlError(
    fate === '' ? 'usage' : 'partly_done',
    `A new token lives ${numberText(lifetime)} s here, less than the requested ${numberText(seconds)} s${fate}`,
    {
      hint: 'Request a shorter time (--for, or `lifetime` of a consumer or rule), or raise ACCESS_TOKEN_EXPIRE_SECONDS with `tokenctl settings token-lifetime`.',
    },
  );
}
