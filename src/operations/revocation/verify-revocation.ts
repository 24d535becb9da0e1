import { TokenctlError } from '../../domain/errors.ts';
import type { Work } from '../journal/operation-run.ts';
import { stillAlive, stillAliveRefreshTokens } from '../journal/reconcile.ts';
import type { RevocationTally } from './revocation-tally.ts';

/** What reading again showed of tokens that were tried. */
export interface Verification {
  /** Access tokens that are still there, ascending; null where the target could not be asked. */
  readonly alive: readonly number[] | null;
  /** Refresh tokens that are still alive, ascending; null where the target could not be asked. */
  readonly refreshAlive: readonly number[] | null;
  /** Whether the caller's own credential is refused now. */
  readonly ownAccessEnded: boolean;
}

/** How many tokens had been tried at some time; what was tried since is read again. */
export interface Mark {
  readonly access: number;
  readonly alongside: number;
}

const UNKNOWN: Verification = { alive: null, refreshAlive: null, ownAccessEnded: false };

/** Where a tally stands. */
export function markOf({ access }: RevocationTally): Mark {
  return { access: access.tried.length, alongside: access.alongside.length };
}

/**
 * Reads again which of the tokens tried still exist, before the caller's own credential is revoked. Where
 * that fails, the work stops: a target that cannot be asked is none to go on with.
 */
export async function verifyOthers(work: Work, tally: RevocationTally): Promise<Verification> {
  if (work.stopped !== null) return UNKNOWN;
  const { access, refresh } = tally;
  try {
    return await readAgain(work, access.tried, [...refresh.tried, ...access.alongside]);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    work.stop(error);
    return UNKNOWN;
  }
}

/**
 * Finds out what became of one of the caller's own tokens, right after it was tried: if it was the credential
 * itself, its being refused shows that it is revoked.
 *
 * @param since Where the tally stood before; nothing is read where it was not tried.
 */
export async function verifyOwn(work: Work, tally: RevocationTally, since: Mark): Promise<Verification> {
  const ids = tally.access.tried.slice(since.access);
  if (ids.length === 0) return { alive: [], refreshAlive: [], ownAccessEnded: false };
  if (work.stopped !== null && work.stopped.code !== 'credentials_refused') return UNKNOWN;
  try {
    return await readAgain(work, ids, tally.access.alongside.slice(since.alongside));
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    const ended = error.code === 'credentials_refused';
    return ended ? { alive: [], refreshAlive: [], ownAccessEnded: true } : UNKNOWN;
  }
}

/** Both together: unknown where either is. */
export function together(one: Verification, other: Verification): Verification {
  return {
    alive: joined(one.alive, other.alive),
    refreshAlive: joined(one.refreshAlive, other.refreshAlive),
    ownAccessEnded: one.ownAccessEnded || other.ownAccessEnded,
  };
}

async function readAgain(
  { target }: Work,
  ids: readonly number[],
  refreshIds: readonly number[],
): Promise<Verification> {
  const alive = await stillAlive(target, ids);
  const refreshAlive = await stillAliveRefreshTokens(target, refreshIds);
  return { alive, refreshAlive, ownAccessEnded: false };
}

function joined(one: readonly number[] | null, other: readonly number[] | null): readonly number[] | null {
  return one === null || other === null ? null : [...one, ...other];
}
