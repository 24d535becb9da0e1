import { numberText } from './counts.ts';
import { EMPTY_LINE } from './output.ts';

/** How far a revocation has come. */
interface Progress {
  readonly done: number;
  readonly total: number;
  readonly failed: number;
}

/** Terminals are redrawn at most this often, in milliseconds. */
const INTERVAL = 100;
const BAR = 24;

/** A line on the terminal that is drawn again and again. */
export interface ProgressLine {
  /** Draws how far it is now; not every time, so that drawing costs nothing. */
  readonly step: (progress: Progress) => void;
  /** Draws the last step and ends the line. */
  readonly end: () => void;
}

/** Says how far the work is on one line of stderr; nothing at all where that is no terminal. */
export function progressLine(verb: string, now: () => number = () => performance.now()): ProgressLine {
  if (process.stderr.isTTY !== true) return { step: () => undefined, end: () => undefined };
  const started = now();
  let drawn = Number.NEGATIVE_INFINITY;
  let last: Progress | undefined;
  const draw = (progress: Progress, ending: string) => {
    drawn = now();
    const text = progressText(verb, progress, (drawn - started) / 1000);
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

function progressText(verb: string, { done, total, failed }: Progress, seconds: number): string {
  const filled = total === 0 ? BAR : Math.floor((BAR * done) / total);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR - filled);
  const rate = seconds > 0.5 ? `, ${numberText(Math.round(done / seconds))} a second` : '';
  const failures = failed === 0 ? '' : `, ${numberText(failed)} failed`;
  return `${verb} ${bar} ${numberText(done)} of ${numberText(total)}${failures}${rate}`;
}
