import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Target, TargetDescription } from '../ports/target.ts';

/** When the caller's own token expires, if the target can tell which token it is. */
export interface OwnToken {
  /** Ids of the candidates, ascending. */
  readonly ids: readonly number[];
  /** The earliest expiry of the candidates. */
  readonly earliest: Date;
  /** The latest expiry of the candidates; equals `earliest` for a single one. */
  readonly latest: Date;
}

/** Finds out when the caller's own token expires; null without a token, or if the target does not list it. */
export async function ownToken(
  target: Target,
  { credential }: Pick<TargetDescription, 'credential'>,
): Promise<OwnToken | null> {
  if (credential !== 'token') return null;
  const ids = await target.ownTokenIds();
  if (ids.length === 0) return null;
  const found = await Array.fromAsync(target.tokens({ ids }), ({ id, expires }) => ({ id, expires }));
  const ascending = found.toSorted((one, other) => one.expires.getTime() - other.expires.getTime());
  const [first, last] = [ascending[0], ascending.at(-1)];
  if (first === undefined || last === undefined) return null;
  const listed = found.map(({ id }) => id).sort((one, other) => one - other);
  return { ids: listed, earliest: first.expires, latest: last.expires };
}

/** A token with less time left causes a warning, in milliseconds. */
const SHORT_MS = 3_600_000;

/** A warning that the caller's own token expires soon, as a sentence; null if it does not. */
export function expiryWarning({ ids, earliest }: OwnToken, now: Date): string | null {
  const left = earliest.getTime() - now.getTime();
  if (left >= SHORT_MS) return null;
  const minutes = Math.max(0, Math.floor(left / 60_000));
  const when = minutes === 0 ? 'less than a minute' : `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return ids.length === 1
    ? `The token of this context expires in ${when}.`
    : `The token of this context may expire in ${when}: it is one of the tokens ${ids.join(', ')}.`;
}

/** The warning before a change; null if there is none. A failed token lookup does not stop the change. */
export async function expiryWarningBeforeChange(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly now: Date;
}): Promise<string | null> {
  const { target, description, now } = options;
  try {
    const own = await ownToken(target, description);
    return own === null ? null : expiryWarning(own, now);
  } catch (error) {
    if (error instanceof TokenctlError) return null;
    throw error;
  }
}
