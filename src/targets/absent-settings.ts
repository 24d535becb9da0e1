import { TokenctlError } from '../domain/errors.ts';
import type { AuthenticationSettings } from '../operations/ports/target.ts';

type Name = keyof AuthenticationSettings;

/** Where a platform gateway keeps what it has no setting for. */
const ELSEWHERE: Partial<Record<Name, string>> = {
  OAUTH2_PROVIDER:
    'A platform gateway reads them from its settings file: set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS there, and restart it. Tokens that exist keep their expiry.',
  DISABLE_LOCAL_AUTH: 'At a platform gateway, disable the authenticator for local accounts instead.',
};

/**
 * Refuses a change of settings that a target has not: of those that read null. Null in a change leaves a
 * setting alone.
 *
 * @throws TokenctlError `unsupported`, with the place where it is set instead.
 */
export function refuseAbsent(
  change: Partial<AuthenticationSettings>,
  settings: { readonly [Key in Name]?: unknown },
): void {
  const names = Object.keys(change) as Name[];
  const absent = names.find((name) => (change[name] ?? null) !== null && settings[name] === null);
  if (absent === undefined) return;
  throw new TokenctlError('unsupported', `This target has no setting ${absent} that could be changed`, {
    hint: ELSEWHERE[absent] ?? 'Leave it out for this target: only a controller has it.',
  });
}
