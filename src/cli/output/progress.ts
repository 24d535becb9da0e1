import type { Progress, ProgressView } from '../../app/runtime.ts';
import { progressText } from './progress-text.ts';
import { EMPTY_LINE } from './streams.ts';

/** Terminals are redrawn at most this often, in milliseconds. */
const INTERVAL = 100;

/**
 * Says how far the work is on one line of stderr, which is drawn again and again, though not for every step;
 * nothing at all where that is no terminal.
 */
export function progressLine(verb: string, now: () => number = () => performance.now()): ProgressView {
  if (process.stderr.isTTY !== true) return { step: () => undefined, end: () => undefined };
  const started = now();
  let drawn = Number.NEGATIVE_INFINITY;
  let last: Progress | undefined;
  const draw = (progress: Progress, ending: string) => {
    drawn = now();
    // Read anew each time: a window may be resized. A terminal that does not know its size has 0 columns.
    const columns = process.stderr.columns || Number.POSITIVE_INFINITY;
    const text = progressText(progress, { verb, seconds: (drawn - started) / 1000, columns });
    process.stderr.write(`${EMPTY_LINE}${text}${ending}`);
  };
  return {
    step(progress) {
      last = progress;
      if (now() - drawn >= INTERVAL) draw(progress, '');
    },
    end() {
      if (last !== undefined) draw(last, '\n');
    },
  };
}
