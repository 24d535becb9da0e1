import type { Progress, ProgressView, ShowProgress } from '../../app/runtime.ts';

/** One view of the progress in several contexts: the sum of all that have begun. */
export class FleetProgress {
  readonly #show: ShowProgress;
  readonly #latest = new Map<string, Progress>();
  #view: ProgressView | undefined;
  #open = 0;

  constructor(show: ShowProgress) {
    this.#show = show;
  }

  /** The progress of one context. */
  member(context: string): ShowProgress {
    return (verb) => {
      this.#open += 1;
      return {
        step: (progress) => {
          this.#view ??= this.#show(verb);
          this.#latest.set(context, progress);
          this.#view.step(sumOf([...this.#latest.values()]));
        },
        end: () => {
          this.#open -= 1;
          if (this.#open > 0) return;
          this.#view?.end();
          this.#view = undefined;
        },
      };
    };
  }
}

function sumOf(all: readonly Progress[]): Progress {
  const sum = (of: (progress: Progress) => number) => all.reduce((total, each) => total + of(each), 0);
  return {
    done: sum(({ done }) => done),
    total: sum(({ total }) => total),
    failed: sum(({ failed }) => failed),
  };
}
