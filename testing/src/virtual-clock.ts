import { onTestFinished, vi } from 'vitest';
import { until } from './until.ts';

/** A clock that stands still while anybody works, and jumps to the next instant that someone waits for. */
export class VirtualClock {
  #now: number;
  readonly #waiting = new Map<symbol, { readonly at: number; readonly wake: () => void }>();

  constructor(start: string) {
    this.#now = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#now);
  }

  /** Sets it, as an administrator or a time server would: no one is woken. */
  set(instant: string): void {
    this.#now = Date.parse(instant);
  }

  wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    const key = Symbol();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => {
      this.#waiting.delete(key);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    if (signal.aborted) return Promise.resolve();
    signal.addEventListener('abort', wake);
    this.#waiting.set(key, { at: this.#now + milliseconds, wake });
    return promise;
  }

  /** Returns once as many wait. */
  async settled(waiting: number): Promise<void> {
    await until(() => this.#waiting.size >= waiting);
  }

  /** Lets time pass until an instant, each time once as many wait. */
  async passUntil(instant: string, waiting: number): Promise<void> {
    const end = Date.parse(instant);
    for (;;) {
      await this.settled(waiting);
      const next = Math.min(...[...this.#waiting.values()].map(({ at }) => at));
      if (next > end) break;
      this.#now = Math.max(this.#now, next);
      for (const { at, wake } of [...this.#waiting.values()]) if (at <= this.#now) wake();
    }
    this.#now = Math.max(this.#now, end);
  }
}

/**
 * Stops the clocks of this process until the test ends, and returns what moves them on, by milliseconds. Timers run as ever: servers
 * and databases need them.
 */
export function stopClocks(): (milliseconds: number) => void {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return (milliseconds) => void vi.advanceTimersByTime(milliseconds);
}
