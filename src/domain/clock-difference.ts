/** The difference between a controller's (or its database's) clock and this machine's. */
export interface ClockDifference {
  /** How far it is ahead, in milliseconds: negative if it is behind. */
  readonly aheadMs: number;
  /** The uncertainty of that, in milliseconds: HTTP dates have whole seconds. */
  readonly uncertaintyMs: number;
}

/** A place whose clock was compared; `clock` is absent if it does not report the time. */
interface Place {
  readonly address: string;
  readonly clock?: ClockDifference | undefined;
}

/** Differences that are certainly larger than this are reported, in milliseconds. */
const NOTABLE_MS = 3000;

/** The minimum difference of a clock in milliseconds, negative if it is behind; 0 if it may be equal. */
export function certainlyAhead({ aheadMs, uncertaintyMs }: ClockDifference): number {
  return Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - uncertaintyMs);
}

function isNotable(clock: ClockDifference | undefined): clock is ClockDifference {
  return clock !== undefined && Math.abs(certainlyAhead(clock)) > NOTABLE_MS;
}

/**
 * A warning that this machine's clock is off by more than a few seconds, or cannot be compared, as two
 * sentences; null if it is right.
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

/** The member of an audit log entry's target that contains it. */
const KEY = 'clock_ahead_s';

/** A target's clock in an audit log entry: by how many seconds it is ahead, if that is more than a few. */
export function recordedClock({ clock }: Pick<Place, 'clock'>): Readonly<Record<string, string>> {
  return isNotable(clock) ? { [KEY]: String(Math.round(clock.aheadMs / 1000)) } : {};
}

/** The parts of an audit log entry that concern its time. */
interface TimedEntry {
  /** By the clock of the machine that wrote it (RFC 3339). */
  readonly at: string;
  readonly target: Readonly<Record<string, string>>;
}

/** When an audit log entry was written, by its target's clock. */
export function controllerTime({ at, target }: TimedEntry): Date {
  const seconds = Number(target[KEY] ?? 0);
  return new Date(Date.parse(at) + (Number.isFinite(seconds) ? seconds * 1000 : 0));
}
