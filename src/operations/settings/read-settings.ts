import type { AuthenticationSettings, Target } from '../ports/target.ts';

/**
 * Reads the target's authentication settings.
 *
 * @throws TokenctlError `permission_refused` for anybody but superusers and system auditors, and whatever
 * else the target throws.
 */
export function readSettings(options: { target: Target }): Promise<AuthenticationSettings> {
  return options.target.settings.read();
}
