import type { Progress, ProgressView, ShowProgress } from '../../app/runtime.ts';
import { writeNotice } from '../output/streams.ts';
import { type ContextOutcome, problemOf } from './context-outcomes.ts';

/** How long to wait, while nothing ends, before naming the contexts that the result waits for. */
const NOTICE_AFTER_MS = 3_000;
const MOST_NAMED = 10;

/** Reports on stderr what has ended and which contexts the result waits for, to identify a stuck one. */
export class WaitingNotice {
  readonly #open: Set<string>;
  readonly #failed: string[] = [];
  readonly #of: number;
  readonly #changes: boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(contexts: readonly string[], changes: boolean) {
    this.#open = new Set(contexts);
    this.#of = contexts.length;
    this.#changes = changes;
  }

  ended(context: string, outcomes: readonly ContextOutcome[]): void {
    if (!this.#open.delete(context)) return;
    if (outcomes.some((outcome) => problemOf(outcome) !== undefined)) this.#failed.push(context);
    this.stop();
    if (this.#open.size > 0) this.#timer = setTimeout(() => this.#show(), NOTICE_AFTER_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #show(): void {
    const [open, failed] = [this.#open.size, this.#failed.length];
    // A list is read when it is printed: what has "ended" was only opened, and may still fail.
    const done = this.#changes ? `Done in ${this.#of - open - failed} of ${this.#of} contexts. ` : '';
    const notDone = failed === 0 ? '' : `Not completed: ${someOf(this.#failed)}. `;
    writeNotice(`${done}${notDone}Waiting for ${open} of ${this.#of} contexts: ${someOf([...this.#open])}`);
  }
}

/** The first names of a list, and the number of the others. */
function someOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return `${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}

/** Shows the progress in several contexts on one line: the sum of all contexts that have started. */
export class MultiContextProgress {
  readonly #show: ShowProgress;
  readonly #latest = new Map<string, Progress>();
  #view: ProgressView | undefined;
  #open = 0;

  constructor(show: ShowProgress) {
    this.#show = show;
  }

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
