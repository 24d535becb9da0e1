import { TokenctlError } from '@tokenctl/common/errors.ts';
import { KeysUnavailable, SignalRefusal } from '@tokenctl/common/signals/signal-refusal.ts';
import type { PollRequest, PollSource } from '../ports/transmitters.ts';

/** Takes an event: returns once it is on stable storage, and says whether it is new. */
export type TakeEvent = (id: string, token: string) => Promise<'new' | 'known'>;

/** The result of polling a stream. */
export interface PollReport {
  /** Number of newly recorded events. */
  readonly received: number;
  /** Number of events that were already recorded, and were sent again. */
  readonly known: number;
  /** Permanently refused events, and why. */
  readonly refused: readonly { readonly id: string; readonly why: string }[];
  /** Whether the transmitter has more events than this run takes. */
  readonly hasMore: boolean;
}

/** Events per request. */
const MAX_EVENTS = 100;
/** The maximum number of requests per run, in case a transmitter sends the same events again and again. */
const MAX_REQUESTS = 200;

/**
 * Polls a stream until there are no more events (RFC 8936). An event is acknowledged in the next request,
 * once it is on stable storage; a permanently refused one is reported with its code. All others are sent
 * again.
 * @throws TokenctlError what `source` throws, and why an event could be neither recorded nor refused; events
 * recorded before are acknowledged.
 */
export async function pollStream(options: {
  source: PollSource;
  take: TakeEvent;
  signal: AbortSignal;
  /** Acknowledges and refuses nothing, so that all events are sent again. */
  dryRun?: boolean;
}): Promise<PollReport> {
  const { source, take, signal, dryRun = false } = options;
  let last: Taken = NOTHING;
  let hasMore = true;
  const taken: Taken[] = [];
  const report = (maxEvents: number, until: AbortSignal) =>
    source.poll(
      dryRun
        ? { acknowledged: [], refused: new Map(), maxEvents }
        : { acknowledged: last.acknowledged, refused: last.refused, maxEvents },
      until,
    );
  while (hasMore && last.problem === null && taken.length < MAX_REQUESTS && !signal.aborted) {
    const { sets, hasMore: announced } = await report(MAX_EVENTS, signal);
    last = await takeAll(sets, take);
    taken.push(last);
    hasMore = announced && sets.size > 0 && !dryRun;
  }
  // Even if the run is to end: otherwise all events would be sent again.
  if (!dryRun && (last.acknowledged.length > 0 || last.refused.size > 0)) await report(0, NEVER);
  const { problem } = last;
  if (problem instanceof KeysUnavailable)
    throw new TokenctlError('target_unreachable', problem.message, { cause: problem });
  if (problem !== null) throw problem;
  return {
    received: taken.reduce((sum, { received }) => sum + received, 0),
    known: taken.reduce((sum, { acknowledged, received }) => sum + acknowledged.length - received, 0),
    refused: taken.flatMap(({ refused }) =>
      [...refused].map(([id, { description }]) => ({ id, why: description })),
    ),
    hasMore,
  };
}

/** The results for the events of one response. */
interface Taken {
  readonly acknowledged: readonly string[];
  readonly refused: PollRequest['refused'];
  readonly received: number;
  /** Why other events could be neither recorded nor refused; null if there are none. */
  readonly problem: unknown;
}

const NOTHING: Taken = { acknowledged: [], refused: new Map(), received: 0, problem: null };
/** For requests that must be sent although the run is to end. */
const NEVER = new AbortController().signal;

async function takeAll(sets: ReadonlyMap<string, string>, take: TakeEvent): Promise<Taken> {
  const acknowledged: string[] = [];
  const refused = new Map<string, { err: string; description: string }>();
  let received = 0;
  let problem: unknown = null;
  for (const [id, token] of sets) {
    try {
      if ((await take(id, token)) === 'new') received += 1;
      acknowledged.push(id);
    } catch (error) {
      if (error instanceof SignalRefusal) {
        refused.set(id, { err: error.code, description: error.message });
        continue;
      }
      problem = error;
      // The keys for another event may be available; an unavailable queue will not accept another one.
      if (!(error instanceof KeysUnavailable)) break;
    }
  }
  return { acknowledged, refused, received, problem };
}
