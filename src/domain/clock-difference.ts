/** How the clock of a controller, or of its database, differs from that of this machine. */
export interface ClockDifference {
  /** How far it is ahead, in milliseconds: negative if it is behind. */
  readonly aheadMs: number;
  /** By how much that may be wrong, in milliseconds: HTTP states whole seconds. */
  readonly uncertaintyMs: number;
}

/** A place whose clock was compared; without one that tells the time, `clock` is absent. */
interface Place {
  readonly address: string;
  readonly clock?: ClockDifference | undefined;
}

/** A difference that is certainly larger than this is told, in milliseconds. */
const NOTABLE_MS = 3000;

/** By how many milliseconds a clock is certainly ahead, or behind (negative); 0 if it may be the same. */
export function certainlyAhead({ aheadMs, uncertaintyMs }: ClockDifference): number {
  return Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - uncertaintyMs);
}

function isNotable(clock: ClockDifference | undefined): clock is ClockDifference {
  return clock !== undefined && Math.abs(certainlyAhead(clock)) > NOTABLE_MS;
}

/**
 * That the clock of this machine is wrong by more than a few seconds, or cannot be compared, as two sentences; null if it is right.
 */
export function clockText({ address, clock }: Place): string | null {
  if (clock === undefined)
    return `${address} does not report its time: its responses have no Date header. Times are from this machine's clock.`;
  if (!isNotable(clock)) return null;
  const [where, by] = clock.aheadMs > 0 ? ['behind', clock.aheadMs] : ['ahead of', -clock.aheadMs];
  return `This machine's clock is ${spanText(by)} ${where} the clock of ${address}. Times are from the controller's clock. The audit log uses this machine's clock.`;
}

function spanText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

/** Where the target of an entry of the audit log keeps it. */
const KEY = 'clock_ahead_s';

/** What an entry of the audit log says of the clock of its target: by how many seconds it is ahead, if that is more than a few. */
export function recordedClock({ clock }: Pick<Place, 'clock'>): Readonly<Record<string, string>> {
  return isNotable(clock) ? { [KEY]: String(Math.round(clock.aheadMs / 1000)) } : {};
}

/** An entry of the audit log, as far as its time is concerned. */
interface TimedEntry {
  /** By the clock of the machine that wrote it (RFC 3339). */
  readonly at: string;
  readonly target: Readonly<Record<string, string>>;
}

/** When an entry of the audit log was made, by the clock of its target. */
export function controllerTime({ at, target }: TimedEntry): Date {
  const seconds = Number(target[KEY] ?? 0);
  return new Date(Date.parse(at) + (Number.isFinite(seconds) ? seconds * 1000 : 0));
}
