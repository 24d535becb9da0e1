import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuthenticationSettings } from '../operations/ports/target-parts.ts';

type Name = keyof AuthenticationSettings;

/** Where to find the setting at a platform gateway. */
const ALTERNATIVES: Partial<Record<Name, string>> = {
  OAUTH2_PROVIDER:
    'Set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS in the settings file of the platform gateway, and restart it. Existing tokens keep their expiry.',
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS:
    'No change is needed: a controller without this setting has no single sign-on of its own, and therefore no external users.',
  SESSIONS_PER_USER:
    'On a platform gateway, set MAX_EXTRA_SESSIONS_PER_USER. It counts sessions in addition to the newest, so 0 allows one.',
  MAX_EXTRA_SESSIONS_PER_USER:
    'Only recent platform gateways have it. On a controller, set SESSIONS_PER_USER, which counts all sessions.',
  DISABLE_LOCAL_AUTH: "Disable the platform gateway's authenticator for local accounts instead.",
};

/** Refuses changes of settings that read as null, with a hint where to set them. A change to null means none. */
export function refuseAbsent(
  change: Partial<AuthenticationSettings>,
  settings: { readonly [Key in Name]?: unknown },
): void {
  const names = Object.keys(change) as Name[];
  const absent = names.find((name) => (change[name] ?? null) !== null && settings[name] === null);
  if (absent === undefined) return;
  throw new TokenctlError('unsupported', `This target has no setting ${absent}`, {
    hint: ALTERNATIVES[absent] ?? 'Remove it from the change. Only a controller has it.',
  });
}
