import { TokenctlError } from '@tokenctl/common/errors.ts';
import { KeysUnavailable, SignalRefusal } from '@tokenctl/common/signals/signal-refusal.ts';
import type { PollRequest, PollSource } from '../ports/transmitters.ts';

/** Takes an event: returns once it is on stable storage, and says whether it is new. */
export type TakeEvent = (id: string, token: string) => Promise<'new' | 'known'>;

/** What came of polling a stream. */
export interface PollReport {
  /** Events that were recorded now. */
  readonly received: number;
  /** Events that were recorded before, and were sent again. */
  readonly known: number;
  /** Events that were refused for good, and why. */
  readonly refused: readonly { readonly id: string; readonly why: string }[];
  /** Whether the transmitter has more than this run takes. */
  readonly hasMore: boolean;
}

/** Events asked for at once. */
const MAX_EVENTS = 100;
/** Requests of one run: a transmitter that sends the same again and again does not hold it up. */
const MAX_REQUESTS = 200;

/**
 * Asks a stream for its events until there are no more (RFC 8936). An event is acknowledged with the request
 * after the one that brought it, once it is on stable storage; one that is refused for good is reported with
 * its code. Whatever is neither is sent again.
 * @throws TokenctlError what `source` throws, and why an event could be neither recorded nor refused; what
 * was recorded before is acknowledged.
 */
export async function pollStream({
  source,
  take,
  signal,
  dryRun = false,
}: {
  readonly source: PollSource;
  readonly take: TakeEvent;
  readonly signal: AbortSignal;
  /** Acknowledges and refuses nothing, so that all is sent again. */
  readonly dryRun?: boolean;
}): Promise<PollReport> {
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
  // Also when the run is to end: else all of it would be sent again.
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

/** What became of the events of one answer. */
interface Taken {
  readonly acknowledged: readonly string[];
  readonly refused: PollRequest['refused'];
  readonly received: number;
  /** Why others could be neither recorded nor refused; null if there are none. */
  readonly problem: unknown;
}

const NOTHING: Taken = { acknowledged: [], refused: new Map(), received: 0, problem: null };
/** For what has to be sent although the run is to end. */
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
      // The keys may be there for another event; a queue that does not answer will not do so for the next.
      if (!(error instanceof KeysUnavailable)) break;
    }
  }
  return { acknowledged, refused, received, problem };
}
