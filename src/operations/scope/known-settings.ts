import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Target } from '../ports/target.ts';
import { type AuthenticationSettings, PATIENCE } from '../ports/target-parts.ts';

/** The authentication settings, or why they are not known. */
export type KnownSettings =
  | { readonly values: AuthenticationSettings; readonly why: null }
  | {
      readonly values: null;
      /** The end of a sentence, as `this account may not read the settings`. */
      readonly why: string;
      readonly error: TokenctlError;
    };

/**
 * Reads the settings for what can do without them: a revocation, a plan, a remark. Where they cannot be read,
 * for whatever reason, says why instead. A proxy may hide them, a role may lack the right, a version may
 * answer otherwise. What is to change settings reads them itself.
 * @throws TokenctlError `interrupted` only.
 */
export async function knownSettings({ settings }: Pick<Target, 'settings'>): Promise<KnownSettings> {
  try {
    return { values: await settings.read(PATIENCE), why: null };
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    if (error.code === 'permission_refused') {
      return { values: null, why: 'this account is not allowed to read the settings', error };
    }
    return { values: null, why: `the settings could not be read (${error.message})`, error };
  }
}

/** What is read of settings for a remark, as {@link knownSettings} does; null where it cannot be read. */
export async function ifReadable<Found>(read: Promise<Found>): Promise<Found | null> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    return null;
  }
}

/** REFRESH_TOKEN_EXPIRE_SECONDS; null where it is not known, and at a target that has no such setting. */
export function refreshLifetimeIn({ values }: KnownSettings): number | null {
  return values?.OAUTH2_PROVIDER?.REFRESH_TOKEN_EXPIRE_SECONDS ?? null;
}

/** The same, read from a target. */
export async function readRefreshLifetime(target: Pick<Target, 'settings'>): Promise<number | null> {
  return refreshLifetimeIn(await knownSettings(target));
}
