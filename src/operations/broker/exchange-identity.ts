import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { BrokerRule, TokenOrigin } from '../../domain/broker/rules.ts';
import { fingerprintOf } from '../../domain/leases.ts';
import { requireRestCreates } from '../../domain/token-request.ts';
import { type Change, isRefusal } from '../journal/operation-run.ts';
import { readLeases, requireLease } from '../journal/recorded-leases.ts';
import { endLeases } from '../leases/end-leases.ts';
import { requireNotLockedDown } from '../leases/locked-down.ts';
import { type LimitedToken, makeLimitedToken, requireWithinLifetime } from '../leases/make-limited-token.ts';
import { type Admission, BrokerRefusal, type IdentityStore, type IdentityUse } from '../ports/broker.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { requireRights } from '../scope/visibility.ts';
import { stoppedRules } from './stopped-rules.ts';

/** A verified identity, and the rule that it matches. */
export interface IdentityExchange extends Change {
  readonly rule: BrokerRule;
  readonly origin: TokenOrigin;
  readonly identity: Pick<IdentityUse, 'id' | 'rememberMs'>;
  readonly scope: 'read' | 'write';
  readonly store: IdentityStore;
}

const REFUSED: Readonly<Record<Exclude<Admission, 'admitted'>, string>> = {
  used: 'This identity was used before',
  live: 'As many tokens of this rule live as may',
  hourly: 'As many tokens of this rule were made within an hour as may',
};

/**
 * Exchanges an identity for a token, once. The identity is marked as used before the token is created, and
 * released only if it is certain that no token was created. The token is a lease, recorded before it is
 * created. A lockdown that begins in the meantime ends it again.
 * @throws BrokerRefusal for a used identity, a limit of the rule, and a lockdown; as {@link
 * makeLimitedToken}.
 */
export async function exchangeIdentity(exchange: IdentityExchange): Promise<LimitedToken> {
  const { rule, identity, store, scope, origin, ...rest } = exchange;
  const { lifetime, live, hourly, user } = rule;
  await requireNotStopped(exchange);
  const admission = await store.admit({
    ...{ ...identity, rule: rule.name, lifetimeMs: lifetime * 1000, live, hourly },
  });
  if (admission !== 'admitted') throw new BrokerRefusal(admission, REFUSED[admission]);
  const change: Change = rest;
  const made = await makeLimitedToken({
    ...{ ...change, why: 'broker', origin, seconds: lifetime },
    request: { scope, description: `broker ${rule.name}`, ...(user !== undefined && { user }) },
  }).catch(async (error: unknown) => {
    if (error instanceof TokenctlError && isUndone(error)) await store.withdraw(identity.id);
    throw error;
  });
  // Without the fingerprint, the token counts as live until it expires, even if it is returned earlier.
  const noted = store.made(identity.id, fingerprintOf(made.value)).catch(() => undefined);
  try {
    await Promise.all([requireNotStopped(exchange), noted]);
  } catch (error) {
    const lease = requireLease(await readLeases(change.log, change.description), made.lease ?? '');
    await endLeases({ ...change, reason: 'a lockdown began meanwhile' }, [lease]);
    throw error;
  }
  return made;
}

function isUndone(error: TokenctlError): boolean {
  return isRefusal(error) || error.code === 'audit_unavailable' || error.code === 'usage';
}

async function requireNotStopped(exchange: IdentityExchange): Promise<void> {
  const { rule, log } = exchange;
  if ((await stoppedRules(log)).has(rule.name)) throw stopped();
  try {
    await requireNotLockedDown(exchange, { owner: rule.user, what: `the rule ${rule.name}` });
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'not_approved') throw error;
    throw stopped();
  }
}

function stopped(): BrokerRefusal {
  return new BrokerRefusal('stopped', 'This rule is stopped');
}

/**
 * Refuses a rule that could never issue a token.
 * @throws TokenctlError `permission_refused`, `unsupported`, `not_found`, `usage`; as the target.
 */
export async function requireMayBroker(
  { target, description }: Pick<Change, 'target' | 'description'>,
  { name, user, lifetime }: BrokerRule,
): Promise<void> {
  const { identity, dialect, credential, capabilities } = description;
  if (credential === 'database_role') {
    requireRights(description, { what: `The rule ${name}`, purposes: ['create', 'revoke'] });
    await resolveNames(target, { users: [user ?? ''] });
  } else requireRestCreates({ user }, { username: identity.username, dialect });
  if (!capabilities.changes)
    throw new TokenctlError(
      'permission_refused',
      `The credential of the context of the rule ${name} may only read: it can make no token`,
      { hint: 'Use a context with a password, or with a token with scope write.' },
    );
  await requireWithinLifetime(target, lifetime);
}
