import { setTimeout as sleep } from 'node:timers/promises';
import { isRefused, mayPass } from './network-failure.ts';
import type { Answer } from './receiver.ts';

/** How often a request is made at most. */
const ATTEMPTS = 6;
/** The first pause in milliseconds; each further one is twice as long. */
const FIRST_PAUSE = 200;
/** The longest pause, in milliseconds, that a controller's Retry-After is granted. */
const LONGEST_PAUSE = 60_000;

/** Answers of a server, or of the proxy before it, that is overloaded or away for a moment. */
const PASSING_STATUS = new Set([429, 502, 503, 504]);

/** Whether an answer says that the same request may well succeed later. */
export function isPassing({ status }: Answer): boolean {
  return PASSING_STATUS.has(status);
}

/** What is tried. */
export interface Attempts {
  readonly send: () => Promise<Answer>;
  /** Whether the server has answered before: then a refused connection is one that is starting again. */
  readonly answeredBefore: () => boolean;
}

/**
 * Makes an idempotent request (RFC 9110 §9.2.2) again while its failure may pass: broken connections,
 * and 429, 502, 503 and 504, waiting as Retry-After asks (RFC 9110 §10.2.3) or twice as long each time.
 *
 * @returns The last answer, be it good or not.
 * @throws The network's last error.
 */
export async function withRetries({ send, answeredBefore }: Attempts): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const last = attempt === ATTEMPTS;
    try {
      const answer = await send();
      if (last || !isPassing(answer)) return answer;
      const pause = pauseAfter(attempt, answer.headers['retry-after']);
      if (pause === null) return answer;
      await sleep(pause);
    } catch (error) {
      const passes = mayPass(error) || (isRefused(error) && answeredBefore());
      if (last || !passes) throw error;
      await sleep(pauseAfter(attempt) ?? 0);
    }
  }
}

/**
 * How long to wait after an attempt, in milliseconds; null where the server asks for longer than is
 * granted. Scattered by half, so that requests that failed together do not come back together.
 */
export function pauseAfter(attempt: number, retryAfter?: string, now: number = Date.now()): number | null {
  const asked = retryAfter === undefined ? Number.NaN : delayOf(retryAfter, now);
  if (asked > LONGEST_PAUSE) return null;
  const pause = FIRST_PAUSE * 2 ** (attempt - 1);
  return Math.max(Number.isNaN(asked) ? 0 : asked, 0) + pause * (0.5 + Math.random() / 2);
}

/** Retry-After is a number of seconds or a date. */
function delayOf(retryAfter: string, now: number): number {
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
}
