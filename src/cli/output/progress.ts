import type { Progress, ProgressView } from '../../app/runtime.ts';
import { numberText } from '../../reports/tables/text.ts';
import { EMPTY_LINE } from './streams.ts';

/** The minimum time between two redraws. */
const REDRAW_INTERVAL_MS = 100;

/** Shows the progress on one line of stderr; nothing if stderr is not a terminal. */
export function progressLine(verb: string, now: () => number = () => performance.now()): ProgressView {
  if (process.stderr.isTTY !== true) return { step: () => undefined, end: () => undefined };
  const started = now();
  let drawn = Number.NEGATIVE_INFINITY;
  let last: Progress | undefined;
  const draw = (progress: Progress, ending: string) => {
    drawn = now();
    // Read each time, because the window may be resized. A terminal of unknown size reports 0 columns.
    const columns = process.stderr.columns || Number.POSITIVE_INFINITY;
    const text = progressText(progress, { verb, seconds: (drawn - started) / 1000, columns });
    process.stderr.write(`${EMPTY_LINE}${text}${ending}`);
  };
  return {
    step(progress) {
      last = progress;
      if (now() - drawn >= REDRAW_INTERVAL_MS) draw(progress, '');
    },
    end() {
      if (last !== undefined) draw(last, '\n');
    },
  };
}

/** The parts of a progress line other than the counts. */
export interface ProgressFrame {
  /** The activity: `Revoking`. */
  readonly verb: string;
  /** The elapsed time. */
  readonly seconds: number;
  /** The width of the terminal. A longer line would wrap and could not be redrawn. */
  readonly columns: number;
}

const MAX_BAR = 24;
const MIN_BAR = 6;
/** The rate is shown after this many seconds. */
const RATE_AFTER_SECONDS = 0.5;

/** The progress on one line. On a narrow terminal it drops the rate first, then the bar, then the end of the text. */
export function progressText(progress: Progress, { verb, seconds, columns }: ProgressFrame): string {
  // Leave the last column free: some terminals wrap when it is filled.
  const room = columns - 1;
  const counts = countsText(progress);
  const rate =
    seconds > RATE_AFTER_SECONDS ? `, ${numberText(Math.round(progress.done / seconds))} per second` : '';
  const whole = `${verb} ${barText(progress, MAX_BAR)} ${counts}${rate}`;
  if (whole.length <= room) return whole;
  const bar = Math.min(MAX_BAR, room - verb.length - counts.length - 2);
  if (bar >= MIN_BAR) return `${verb} ${barText(progress, bar)} ${counts}`;
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
