import { TokenctlError } from '@tokenctl/common/errors.ts';
import { subjectText } from '@tokenctl/common/signals/subject-identifier.ts';
import type { Runtime } from '../../app/runtime.ts';
import { openQueue, requireSignals } from '../../app/signals/signal-desk.ts';
import type { Signal, SignalSelector, SignalStore } from '../../operations/ports/signals.ts';
import { type Listing, listing, timeColumn } from '../../reports/tables/listing.ts';

/** A recorded event as `--json` shows it. */
export interface SignalJson
  extends Omit<Signal, 'route' | 'subject' | 'kind' | 'action' | 'state' | 'changed' | 'released'> {
  /** How it arrived: `push`, `poll`, `revocation` or `logout`. */
  readonly route: string;
  /** The subject in words; null for an event about the stream. */
  readonly subject: string | null;
  readonly action: string;
  readonly state: string;
  /** Who released or dismissed it; null if no one did. */
  readonly decidedBy: string | null;
}

export function signalToJson(signal: Signal): SignalJson {
  const { id, jti, issuer, transmitter, route, kinds, subject, action, state, reason, users, runs } = signal;
  const { attempts, issued, received, ended, released } = signal;
  return {
    ...{ id, jti, issuer, transmitter, route, kinds, action, state, reason, users, runs, attempts },
    ...{ issued, received, ended, decidedBy: released?.by ?? null },
    subject: subject === null ? null : subjectText(subject),
  };
}

/** The number of digits of a signal's id in tables and messages. */
export const SHOWN_DIGITS = 12;

export async function signalListing(
  runtime: Runtime,
  selector: SignalSelector,
): Promise<Listing<Signal, SignalJson>> {
  const rows = await withQueue(runtime, (store) => store.list(selector));
  return listing<Signal, SignalJson>({
    rows,
    columns: [
      { name: 'id', cell: ({ id }) => id.slice(0, SHOWN_DIGITS), whole: true },
      timeColumn('received', ({ received }) => received),
      { name: 'state', cell: ({ state }) => state, whole: true },
      { name: 'transmitter', cell: ({ transmitter }) => transmitter, whole: true },
      { name: 'event', cell: ({ kinds }) => kinds.join(', ') },
      { name: 'action', cell: ({ action }) => action, whole: true },
      { name: 'subject', cell: ({ subject }) => (subject === null ? '' : subjectText(subject)) },
      { name: 'result', cell: ({ reason }) => reason ?? '' },
    ],
    json: signalToJson,
    none: 'No events.',
  });
}

/** Opens the configured queue for some work. Throws TokenctlError as the queue. */
export async function withQueue<T>(runtime: Runtime, work: (store: SignalStore) => Promise<T>): Promise<T> {
  const store = await openQueue(requireSignals(runtime.configuration), runtime.environment);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The signal with this id prefix. Throws `not_found`, `usage` if several match. */
export async function signalNamed(store: SignalStore, prefix: string): Promise<Signal> {
  const [signal, other] = await store.find(prefix);
  if (other !== undefined)
    throw new TokenctlError('usage', `Several event IDs start with "${prefix}"`, {
      hint: 'Enter more digits of the ID.',
    });
  if (signal !== undefined) return signal;
  throw new TokenctlError('not_found', `No event ID starts with "${prefix}"`, {
    hint: 'Find it with `tokenctl signals list`.',
  });
}
