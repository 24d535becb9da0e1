import type { JobStatus } from '../store/jobs.ts';
import type { PlaybookEnd } from './playbook-process.ts';

/** Why a run is to end before its time. */
type StopReason = 'canceled' | 'stopped' | 'too long';

/** What a job says whose service was stopped. */
export const STOPPED = 'The service was stopped while this job waited or ran.';

const ENDED_EARLY: Readonly<Record<StopReason, readonly [JobStatus, explanation: string]>> = {
  canceled: ['canceled', ''],
  stopped: ['canceled', STOPPED],
  'too long': ['failed', 'The job ran for longer than six hours.'],
};

/**
 * What became of a job, and why where that is not plain.
 *
 * @param end How the process ended, null where there was none.
 * @param stop Aborted with a {@link StopReason} where it was made to end.
 */
export function outcomeOf(
  end: PlaybookEnd | null,
  stop: AbortSignal,
): { readonly status: JobStatus; readonly explanation: string } {
  if (stop.aborted) {
    const [status, explanation] = ENDED_EARLY[stop.reason as StopReason];
    return { status, explanation };
  }
  if (end?.code === 0) return { status: 'successful', explanation: '' };
  const signal = end?.signal ?? null;
  return {
    status: 'failed',
    explanation: signal === null ? '' : `ansible-playbook was ended by ${signal}.`,
  };
}
