import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuthenticationSettings } from '../operations/ports/target-parts.ts';

type Name = keyof AuthenticationSettings;

/** What to do at a platform gateway instead. */
const ALTERNATIVES: Partial<Record<Name, string>> = {
  OAUTH2_PROVIDER:
    'Set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS in the settings file of the platform gateway, and restart it. Existing tokens keep their expiry.',
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS:
    'Leave it: a controller without this setting has no single sign-on of its own, so that it has no external users.',
  SESSIONS_PER_USER:
    'At a platform gateway, set MAX_EXTRA_SESSIONS_PER_USER: it counts the sessions beside the newest, so that 0 leaves one.',
  MAX_EXTRA_SESSIONS_PER_USER:
    'Only recent platform gateways have it. At a controller, set SESSIONS_PER_USER, which counts all sessions.',
  DISABLE_LOCAL_AUTH: 'Disable the authenticator for local accounts in the platform gateway instead.',
};

/**
 * Refuses a change of settings that a target does not have, which read as null. Null in a change means no
 * change. Throws `unsupported` with a hint where to set it instead.
 */
export function refuseAbsent(
  change: Partial<AuthenticationSettings>,
  settings: { readonly [Key in Name]?: unknown },
): void {
  const names = Object.keys(change) as Name[];
  const absent = names.find((name) => (change[name] ?? null) !== null && settings[name] === null);
  if (absent === undefined) return;
  throw new TokenctlError('unsupported', `This target has no setting ${absent}`, {
    hint: ALTERNATIVES[absent] ?? 'Remove it from the change: only a controller has it.',
  });
}
