import { limitText } from '../domain/claims.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { Selector } from '../domain/selector.ts';
import type { TargetDescription } from './ports/target.ts';

/** Who the caller is, and what the account sees. */
export type Viewer = Pick<TargetDescription, 'identity' | 'visibility' | 'credential'>;

const ANOTHER_ACCOUNT = "Use a superuser's account, or a database context.";

/**
 * Why the account does not see the whole selection, as a sentence without a full stop; null if it does. An account
 * always sees its own tokens, whatever else it sees.
 */
export function unseenPart(viewer: Viewer, { users }: Pick<Selector, 'users'>): string | null {
  const isOwn = users?.every((name) => name === viewer.identity.username);
  return isOwn === true && viewer.identity.id !== null ? null : limitText(viewer);
}

/**
 * Refuses what cannot be verified by an account that sees only part.
 *
 * @param what The refused operation, as the beginning of a sentence: `A lockdown`.
 * @throws TokenctlError `permission_refused`
 */
export function requireFullView(viewer: Viewer, what: string): void {
  const limit = limitText(viewer);
  if (limit === null) return;
  throw new TokenctlError(
    'permission_refused',
    `${what} needs an account that sees all tokens and users: ${limit}`,
    {
      hint: ANOTHER_ACCOUNT,
      details: { visibility: viewer.visibility },
    },
  );
}

/**
 * Refuses a change of what is not the caller's own by a system auditor, who sees everything and may change nothing of
 * other users.
 *
 * @throws TokenctlError `permission_refused`
 */
export function requireMayChange({ identity, credential }: Viewer): void {
  if (credential === 'database_role' || identity.isSuperuser || !identity.isSystemAuditor) return;
  throw new TokenctlError(
    'permission_refused',
    `${identity.username} is a system auditor, which may change nothing but its own tokens`,
    { hint: ANOTHER_ACCOUNT },
  );
}
