import type { Progress, ProgressView } from '../../app/runtime.ts';
import { numberText } from '../../reports/tables/text.ts';
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

/** What a progress line is made of besides the counts. */
export interface ProgressFrame {
  /** What is being done: `Revoking`. */
  readonly verb: string;
  /** How long it has gone on. */
  readonly seconds: number;
  /** The width of the terminal; what is longer would wrap, and could not be drawn over. */
  readonly columns: number;
}

const WIDEST_BAR = 24;
/** A shorter bar shows nothing. */
const NARROWEST_BAR = 6;
/** Below this the rate means nothing yet, in seconds. */
const SETTLED = 0.5;

/** The progress as one line that fits: where it is tight the rate goes first, then the bar, then its end. */
export function progressText(progress: Progress, { verb, seconds, columns }: ProgressFrame): string {
  // The last column stays free: some terminals wrap as soon as it is filled.
  const room = columns - 1;
  const counts = countsText(progress);
  const rate = seconds > SETTLED ? `, ${numberText(Math.round(progress.done / seconds))} a second` : '';
  const whole = `${verb} ${barText(progress, WIDEST_BAR)} ${counts}${rate}`;
  if (whole.length <= room) return whole;
  const bar = Math.min(WIDEST_BAR, room - verb.length - counts.length - 2);
  if (bar >= NARROWEST_BAR) return `${verb} ${barText(progress, bar)} ${counts}`;
  return `${verb} ${counts}`.slice(0, Math.max(0, room));
}

function countsText({ done, total, failed }: Progress): string {
  const failures = failed === 0 ? '' : `, ${numberText(failed)} failed`;
  return `${numberText(done)} of ${numberText(total)}${failures}`;
}

function barText({ done, total }: Progress, length: number): string {
  const filled = total === 0 ? length : Math.floor((length * done) / total);
  return '█'.repeat(filled) + '░'.repeat(length - filled);
}
