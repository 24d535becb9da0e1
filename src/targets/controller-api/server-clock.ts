import type { IncomingHttpHeaders } from 'node:http';
import type { ClockDifference } from '../../domain/clock-difference.ts';

/** In milliseconds. HTTP dates have whole seconds, rounded down (RFC 9110 §5.6.7). */
const SECOND_MS = 1000;

/**
 * Compares a server's clock with this machine's, by the Date header of its responses (RFC 9110 §6.6.1). A response is
 * made between sending its request and receiving its headers, within the second that it states, so every response
 * narrows the difference. The clock is that of the web server, or of a proxy in front of it that sets the header.
 */
export class ServerClock {
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;

  /** Processes a response. `sent` and `received` are milliseconds of this machine's clock. */
  note({ date, age }: IncomingHttpHeaders, sent: number, received: number): void {
    const stated = Date.parse(date ?? '');
    // A cached response has the date of an earlier one.
    if (Number.isNaN(stated) || (age !== undefined && age !== '0')) return;
    const [least, most] = [stated - received, stated + SECOND_MS - sent];
    if (least > this.#most || most < this.#least) {
      // The clock was set, or another server responded: the latest response counts.
      [this.#least, this.#most] = [least, most];
      return;
    }
    this.#least = Math.max(this.#least, least);
    this.#most = Math.min(this.#most, most);
  }

  /** The known range of the difference; undefined if no response had a date. */
  get difference(): ClockDifference | undefined {
    if (!Number.isFinite(this.#least)) return undefined;
    return {
      aheadMs: Math.round((this.#least + this.#most) / 2),
      uncertaintyMs: Math.ceil((this.#most - this.#least) / 2),
    };
  }
}
