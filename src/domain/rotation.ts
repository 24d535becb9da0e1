import { isLeaseDue, isOpen, type Lease } from './leases.ts';

/** A program whose token is rotated: it reads the token from a store. Durations are in seconds. */
export interface Consumer {
  readonly name: string;
  /** The controller's user; default: the caller, as over REST. */
  readonly user?: string | undefined;
  readonly scope: string;
  readonly every: number;
  /** The lifetime of each of its tokens. */
  readonly lifetime: number;
  /** How long the old token is accepted alongside the new one, for processes that read it earlier. */
  readonly overlap: number;
}

/** What to do for a consumer. */
export interface RotationState {
  /** The token in its store; null if that is not a live token of its own. */
  readonly current: Lease | null;
  /** Whether the store holds a value that no rotation of this consumer wrote. */
  readonly isForeign: boolean;
  readonly isDue: boolean;
  /** Leases to end now: their values are lost, or their overlap has passed. */
  readonly toEnd: readonly Lease[];
  /** Replaced tokens whose overlap begins now. */
  readonly toLimit: readonly Lease[];
  /** Live leases other than the current one. */
  readonly others: readonly Lease[];
  /** Whether its token is being created right now, or this is unknown. */
  readonly isMaking: boolean;
}

/**
 * Determines from the audit log and the store alone what to do for a consumer, whatever was interrupted
 * before.
 * @param leases All leases of the controller.
 * @param stored The fingerprint of the store's value; null if it is empty.
 */
export function rotationState(
  { name, every, overlap }: Consumer,
  { leases, stored, now }: { leases: readonly Lease[]; stored: string | null; now: Date },
): RotationState {
  const own = leases.filter(({ consumer }) => consumer === name);
  const living = own.filter(isOpen);
  const isInStore = ({ token }: Lease) => stored !== null && token?.fingerprint === stored;
  const current = living.find(isInStore) ?? null;
  const others = living.filter((lease) => lease !== current && lease.state !== 'making');
  // Written and then replaced: programs may still use it. Without a current token, nothing replaces it.
  const replaced = others.filter(({ isStored, state }) => isStored && state === 'open');
  const until = now.getTime() + overlap * 1000;
  const since = current === null ? null : Date.parse(current.token?.created ?? current.begun);
  return {
    current,
    isForeign: stored !== null && !own.some(isInStore),
    isDue: since === null || now.getTime() >= since + every * 1000,
    toEnd: others.filter((lease) => !replaced.includes(lease) || isLeaseDue(lease, now)),
    toLimit: current === null ? [] : replaced.filter((lease) => Date.parse(lease.until) > until),
    others,
    isMaking: living.some(({ state }) => state === 'making'),
  };
}
