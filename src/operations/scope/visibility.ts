import { TokenctlError } from '@tokenctl/common/errors.ts';
import { limitText, standbyText } from '../../domain/claims.ts';
import { formatAlternatives, type Selector } from '../../domain/selector.ts';
import type { RightsPurpose, TargetDescription } from '../ports/target.ts';

/** The caller, and what the account sees. */
export type Viewer = Pick<
  TargetDescription,
  'identity' | 'visibility' | 'credential' | 'address' | 'standby'
>;

const ANOTHER_ACCOUNT = "Use a superuser's account, or a database context.";

/** How to see everything, as a sentence. */
export function fullViewHint({ credential, standby }: Pick<Viewer, 'credential' | 'standby'>): string {
  if (standby !== undefined) return "Use the primary server's context.";
  return credential === 'database_role'
    ? 'Use a role that can read all rows. `tokenctl context check` lists its missing permissions.'
    : ANOTHER_ACCOUNT;
}

/**
 * Why the account does not see the whole selection, as a sentence without a full stop; null if it does. An
 * account always sees its own tokens.
 */
export function unseenPart(viewer: Viewer, { users }: Pick<Selector, 'users'>): string | null {
  const isOwn = users?.every((name) => name === viewer.identity.username);
  return isOwn === true && viewer.identity.id !== null ? null : limitText(viewer);
}

/**
 * Refuses changes, and claims about their effect, at a standby of the database: it is read-only and shows an
 * earlier state. `what` begins the sentence: `A lockdown`. Throws `permission_refused`.
 */
export function requirePrimary(place: Pick<TargetDescription, 'address' | 'standby'>, what: string): void {
  const standby = standbyText(place);
  if (standby === null) return;
  throw new TokenctlError('permission_refused', `${what} requires the primary database: ${standby}`, {
    hint: "Use the primary server's context.",
    details: { standby: place.standby },
  });
}

/** Refuses `what` (`A lockdown`) to an account that does not see everything. Throws `permission_refused`. */
export function requireFullView(viewer: Viewer, what: string): void {
  requirePrimary(viewer, what);
  const limit = limitText(viewer);
  if (limit === null) return;
  throw new TokenctlError(
    'permission_refused',
    `${what} requires an account that can see all tokens and users: ${limit}`,
    { hint: fullViewHint(viewer), details: { visibility: viewer.visibility } },
  );
}

/** What each purpose allows, as the end of a sentence. */
export const RIGHTS_TEXT: Readonly<Record<RightsPurpose, string>> = {
  read: 'read all required tables',
  revoke: 'revoke tokens',
  sessions: 'end sessions',
  settings: 'change settings',
  create: 'create tokens',
  ends: 'set an earlier end date for tokens',
  cleanup: 'clean up',
  users: 'deactivate users',
  applications: 'delete applications and replace client secrets',
  contacts: 'read email addresses',
};

/**
 * Refuses an operation that the database role could not finish, before anything is written: running it again
 * would not help.
 * @param needs The refused operation, as the beginning of a sentence, and the rights it needs.
 * @throws TokenctlError `permission_refused`
 */
export function requireRights(
  { context, identity, credential, missingRights }: TargetDescription,
  needs: { readonly what: string; readonly purposes: readonly RightsPurpose[] },
): void {
  if (credential !== 'database_role') return;
  const lacking = needs.purposes.filter((each) => missingRights.some(({ purpose }) => purpose === each));
  if (lacking.length === 0) return;
  throw new TokenctlError(
    'permission_refused',
    `${needs.what} requires permissions that the role ${identity.username} lacks: it is not allowed to ${formatAlternatives(lacking.map((purpose) => RIGHTS_TEXT[purpose]))}`,
    { hint: `Run \`tokenctl context check --context ${context}\`, and grant the permissions that it lists.` },
  );
}

/** Refuses changes to others' data by a system auditor, who may only read. Throws `permission_refused`. */
export function requireMayChange({ identity, credential }: Viewer): void {
  if (credential === 'database_role' || identity.isSuperuser || !identity.isSystemAuditor) return;
  throw new TokenctlError(
    'permission_refused',
    `${identity.username} is a system auditor, which can only change its own tokens`,
    { hint: ANOTHER_ACCOUNT },
  );
}

const REFUSALS_AHEAD: ReadonlySet<string> = new Set([
  'permission_refused',
  'lockout_refused',
  'not_approved',
  'plan_outdated',
]);

/**
 * The refusal that the real run would get from this check, for the plan of a dry run; undefined if it passes.
 * Rethrows errors other than `permission_refused` and `lockout_refused`.
 */
export function refusalAhead(check: () => void): TokenctlError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof TokenctlError) || !REFUSALS_AHEAD.has(error.code)) throw error;
    const { code, message, hint } = error;
    return new TokenctlError(code, `Without --dry-run, this would be refused: ${message}`, { hint });
  }
}
