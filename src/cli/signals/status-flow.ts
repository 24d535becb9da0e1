import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { requireSignals } from '../../app/signals/signal-desk.ts';
import { managedTransmitter } from '../../app/signals/streams.ts';
import type { TransmitterSettings } from '../../config/signals.ts';
import type { SignalState } from '../../operations/ports/signals.ts';
import { findStream } from '../../operations/signals/connect-stream.ts';
import { facts } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, timeText } from '../../reports/tables/text.ts';
import { withQueue } from './signal-view.ts';

/** What `signals status` prints with `--json`. */
export interface SignalsStatusJson {
  readonly events: Readonly<Record<SignalState, number>>;
  readonly transmitters: readonly TransmitterStatusJson[];
}

/** A transmitter as `signals status` shows it. */
interface TransmitterStatusJson {
  readonly name: string;
  readonly issuer: string;
  /** When its last event arrived; null if none is stored. */
  readonly lastEvent: Date | null;
  /** The state of its stream there; null if the configuration has no `management`, or it cannot be read. */
  readonly stream: string | null;
  /** Why the state of its stream is unknown; null if it is known. */
  readonly problem: string | null;
}

/** Reads the queue and the transmitters' streams. Unavailable ones are reported. Throws as the queue. */
export async function statusFlow(runtime: Runtime): Promise<Report<SignalsStatusJson>> {
  const { transmitters } = requireSignals(runtime.configuration);
  const names = Object.keys(transmitters);
  const { events, last } = await withQueue(runtime, async (store) => ({
    events: await store.counts(),
    last: await Promise.all(names.map((transmitter) => store.list({ transmitter, limit: 1 }))),
  }));
  const states = await Promise.all(Object.entries(transmitters).map((each) => streamState(runtime, ...each)));
  const shown = Object.entries(transmitters).map(([name, { issuer }], index) => ({
    ...{ name, issuer, lastEvent: last[index]?.[0]?.received ?? null },
    ...(states[index] ?? { stream: null, problem: null }),
  }));
  const failing = shown.filter(({ problem, stream }) => problem !== null || isOff(stream));
  return report({
    json: { events, transmitters: shown },
    document: [
      facts(
        [
          ['waiting', countText(events.waiting + events.acting, 'event')],
          ['held for a decision', countText(events.held, 'event')],
          ['carried out', countText(events.done, 'event')],
          ['nothing to do', countText(events.ignored + events.dismissed, 'event')],
        ],
        'Events',
      ),
      ...shown.map(({ name, issuer, lastEvent, stream, problem }) =>
        facts(
          [
            ['issuer', issuer],
            ['last event', lastEvent === null ? 'none' : timeText(lastEvent)],
            ['stream', stream ?? 'not checked: no `management` in the configuration'],
            ['problem', problem],
          ],
          name,
        ),
      ),
    ],
    failure:
      failing.length === 0
        ? undefined
        : new TokenctlError(
            'findings',
            `${countText(failing.length, 'stream')} cannot deliver, or cannot be checked`,
          ),
  });
}

function isOff(stream: string | null): boolean {
  return stream !== null && stream !== 'enabled' && stream !== UNKNOWN;
}

/** The state of a stream whose transmitter has no status endpoint. */
const UNKNOWN = 'exists; the transmitter does not report its state';

async function streamState(runtime: Runtime, name: string, transmitter: TransmitterSettings) {
  if (transmitter.management === undefined) return { stream: null, problem: null };
  const { environment } = runtime;
  try {
    const { api, settings } = managedTransmitter(name, transmitter, {
      environment,
      signal: runtime.stopSignal(),
    });
    const found = await findStream(api, settings);
    if (found === null) return { stream: 'none', problem: null };
    return { stream: (await api.status(found.id)) ?? UNKNOWN, problem: null };
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    return { stream: 'not known', problem: error.message };
  }
}
