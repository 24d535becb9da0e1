import type { IncomingHttpHeaders } from 'node:http';
import type { ClockDifference } from '../../domain/clock-difference.ts';

/** HTTP states whole seconds, rounded down (RFC 9110 §5.6.7), in milliseconds. */
const SECOND_MS = 1000;

/**
 * Compares the clock of a server with this machine's, by the Date header of its responses (RFC 9110 §6.6.1). A response is made
 * between the moments in which its request is sent and its head arrives, in the second that it states: every response narrows
 * the difference. It is the clock of the web server, or of a proxy in front of it that sets the header.
 */
export class ServerClock {
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;

  /** Takes a response into account, sent and received at these milliseconds of this machine's clock. */
  note({ date, age }: IncomingHttpHeaders, sent: number, received: number): void {
    const stated = Date.parse(date ?? '');
    // A response of a cache has the date of another one.
    if (Number.isNaN(stated) || (age !== undefined && age !== '0')) return;
    const [least, most] = [stated - received, stated + SECOND_MS - sent];
    if (least > this.#most || most < this.#least) {
      // A clock was set, or another server answers: the latest response counts.
      [this.#least, this.#most] = [least, most];
      return;
    }
    this.#least = Math.max(this.#least, least);
    this.#most = Math.min(this.#most, most);
  }

  /** The difference as far as it is known; undefined if no response stated a date. */
  get difference(): ClockDifference | undefined {
    if (!Number.isFinite(this.#least)) return undefined;
    return {
      aheadMs: Math.round((this.#least + this.#most) / 2),
      uncertaintyMs: Math.ceil((this.#most - this.#least) / 2),
    };
  }
}
