import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Target } from '../ports/target.ts';
import { type AuthenticationSettings, PATIENCE } from '../ports/target-parts.ts';

/** The authentication settings, or why they are unknown. */
export type KnownSettings =
  | { readonly values: AuthenticationSettings; readonly why: null }
  | {
      readonly values: null;
      /** The end of a sentence, such as `this account may not read the settings`. */
      readonly why: string;
      readonly error: TokenctlError;
    };

/**
 * Reads the settings for optional uses: a revocation, a plan, a remark. If they cannot be read for any
 * reason, returns the reason: a proxy may hide them, a role may lack the right, a version may respond
 * differently. Code that changes settings reads them directly.
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

/** The settings for a remark, as {@link knownSettings} reads them; null if unreadable. */
export async function ifReadable<Found>(read: Promise<Found>): Promise<Found | null> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    return null;
  }
}

/** REFRESH_TOKEN_EXPIRE_SECONDS; null if unknown, or if the target has no such setting. */
export function refreshLifetimeIn({ values }: KnownSettings): number | null {
  return values?.OAUTH2_PROVIDER?.REFRESH_TOKEN_EXPIRE_SECONDS ?? null;
}

/** The same, read from a target. */
export async function readRefreshLifetime(target: Pick<Target, 'settings'>): Promise<number | null> {
  return refreshLifetimeIn(await knownSettings(target));
}
