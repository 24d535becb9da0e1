import type { Outcome } from '../../domain/plan.ts';

/** Outcomes as they arrive from several workers, handed on in the order of their arrival. */
export class Outcomes {
  #ready: Outcome[] = [];
  #ended: Promise<unknown> | null = null;
  #isOver = false;
  #wake: () => void = () => undefined;

  add(outcome: Outcome): void {
    this.#ready.push(outcome);
    this.#wake();
  }

  /** Says when no more will come. Its failure becomes that of {@link all}. */
  endAfter(workers: Promise<unknown>): void {
    this.#ended = workers.finally(() => {
      this.#isOver = true;
      this.#wake();
    });
    // Awaited at the end of `all`; handled here, so that a failure before that is no unhandled one.
    this.#ended.catch(() => undefined);
  }

  /** All outcomes, until the workers have ended. */
  async *all(): AsyncIterable<Outcome> {
    for (;;) {
      const ready = this.#ready;
      this.#ready = [];
      yield* ready;
      if (this.#ready.length > 0) continue;
      if (this.#isOver) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    await this.#ended;
  }
}
