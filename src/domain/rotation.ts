import { isLeaseDue, isOpen, type Lease } from './leases.ts';

/** A program whose token is renewed: it reads the token in a store. Lengths of time are in seconds. */
export interface Consumer {
  readonly name: string;
  /** The controller's user; the caller where not given, as over REST. */
  readonly user?: string | undefined;
  readonly scope: string;
  /** How often it gets a new token. */
  readonly every: number;
  /** How long each of its tokens lives. */
  readonly lifetime: number;
  /** How long the old token is accepted beside the new one, for what has read it before. */
  readonly overlap: number;
}

/** What is to be done for a consumer. */
export interface RotationState {
  /** The token that its store holds; null where that is none of its own that lives. */
  readonly current: Lease | null;
  /** Whether the store holds a value that no rotation of this consumer wrote. */
  readonly isForeign: boolean;
  /** Whether it needs a new token now. */
  readonly isDue: boolean;
  /** Leases to end now: their values are lost, or their overlap has passed. */
  readonly toEnd: readonly Lease[];
  /** Replaced tokens whose overlap begins now. */
  readonly toLimit: readonly Lease[];
  /** Leases that live besides the current one. */
  readonly others: readonly Lease[];
  /** Whether its token is being made at this moment, or that is not known yet. */
  readonly isMaking: boolean;
}

/**
 * Tells from the audit log and the store alone what is to be done for a consumer, whatever was cut off before.
 *
 * @param leases All of the controller.
 * @param stored The fingerprint of what the store holds; null for nothing.
 */
export function rotationState(
  { name, every, overlap }: Consumer,
  {
    leases,
    stored,
    now,
  }: { readonly leases: readonly Lease[]; readonly stored: string | null; readonly now: Date },
): RotationState {
  const own = leases.filter(({ consumer }) => consumer === name);
  const living = own.filter(isOpen);
  const isInStore = ({ token }: Lease) => stored !== null && token?.fingerprint === stored;
  const current = living.find(isInStore) ?? null;
  const others = living.filter((lease) => lease !== current && lease.state !== 'making');
  // Written and then replaced: programs may still use it. Without a current one, nothing replaces it.
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
