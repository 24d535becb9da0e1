import { TokenctlError } from '../core/errors.ts';
import type { Target } from './ports.ts';
import type { RevocationTally } from './revocation-tally.ts';
import { stillAlive } from './still-alive.ts';

/** What reading again showed of tokens that were tried. */
export interface Verification {
  /** Those that are still there, ascending; null where the target could not be asked. */
  readonly alive: readonly number[] | null;
  /** Whether the caller's own credential is refused now. */
  readonly ownAccessEnded: boolean;
}

/**
 * Reads again which of the tokens tried still exist, before the caller's own credential is revoked. Where
 * that fails, the tally stops: a target that cannot be asked is none to go on with.
 */
export async function verifyOthers(target: Target, tally: RevocationTally): Promise<Verification> {
  if (tally.stopped !== null) return { alive: null, ownAccessEnded: false };
  try {
    return { alive: await stillAlive(target, tally.tried), ownAccessEnded: false };
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    tally.stop(error);
    return { alive: null, ownAccessEnded: false };
  }
}

/**
 * Finds out what became of one of the caller's own tokens, right after it was tried: if it was the credential
 * itself, its being refused shows that it is revoked.
 *
 * @param ids Its id; none where it was not tried.
 */
export async function verifyOwn(
  target: Target,
  tally: RevocationTally,
  ids: readonly number[],
): Promise<Verification> {
  if (ids.length === 0) return { alive: [], ownAccessEnded: false };
  if (tally.stopped !== null && tally.stopped.code !== 'credentials_refused') {
    return { alive: null, ownAccessEnded: false };
  }
  try {
    return { alive: await stillAlive(target, ids), ownAccessEnded: false };
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    const ended = error.code === 'credentials_refused';
    return { alive: ended ? [] : null, ownAccessEnded: ended };
  }
}

/** Both together: unknown where either is. */
export function together(one: Verification, other: Verification): Verification {
  const alive = one.alive === null || other.alive === null ? null : [...one.alive, ...other.alive];
  return { alive, ownAccessEnded: one.ownAccessEnded || other.ownAccessEnded };
}
