import { styleText } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Progress, ProgressView, Runtime } from '../../app/runtime.ts';
import { incompleteText, type Listed } from '../../domain/claims.ts';
import { Rows } from '../../domain/rows.ts';
import {
  numberText,
  type Paint,
  printable,
  type Screen,
  type Tone,
  unpainted,
} from '../../reports/tables/text.ts';

const STYLES: Readonly<Record<Tone, Parameters<typeof styleText>[0]>> = {
  good: 'green',
  warning: 'yellow',
  bad: ['bold', 'red'],
  strong: 'bold',
  faint: 'dim',
};

/** The screen behind a stream. NO_COLOR turns colors off; FORCE_COLOR forces them without a terminal. */
export function screenOf(stream: NodeJS.WriteStream): Screen {
  const paint: Paint = (tone, text) => styleText(STYLES[tone], text, { stream });
  return {
    // A terminal of unknown size reports 0 columns.
    width: stream.columns || Number.POSITIVE_INFINITY,
    paint: paint('strong', 'x') === 'x' ? unpainted : paint,
  };
}

/** Clears the current line of a terminal. */
const EMPTY_LINE = '\r\u001b[2K';

/**
 * Writes text to a stream and waits until it is accepted, so that a long list does not fill the memory; false
 * if the reader closed the pipe. Throws `partly_done` if the write fails, for example on a full disk.
 */
export function writeTo(stream: NodeJS.WritableStream, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error?: Error | null) => {
      if (!error) resolve(true);
      else if (isClosedPipe(error)) resolve(false);
      else reject(unwritten(error));
    });
  });
}

/**
 * Keeps an error of stdout or stderr from ending the program: a revocation must record its outcome even if
 * nothing reads its output. {@link writeTo} reports the error to its caller. The command framework's own
 * listener would throw, so it is removed.
 */
export function surviveStreamErrors(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error').on('error', () => undefined);
  }
}

function isClosedPipe({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'ECONNRESET';
}

function unwritten(cause: NodeJS.ErrnoException): TokenctlError {
  return new TokenctlError('partly_done', `Cannot write the result (${cause.code ?? cause.name})`, { cause });
}

/** Prints a line on stderr and replaces a progress line there. */
export function writeNotice(line: string): void {
  process.stderr.write(`${process.stderr.isTTY ? EMPTY_LINE : ''}${line}\n`);
}

/** Whether the arguments ask for JSON: `--json`, or `--json=FIELD,FIELD`, anywhere before a bare `--`. */
export function wantsJson(argv: readonly string[]): boolean {
  return flagsOf(argv).some((word) => word === '--json' || word.startsWith(FIELDS));
}

const FIELDS = '--json=';

/** The fields of `--json=FIELD,FIELD`, and the other arguments: the framework has no optional flag values. */
export function jsonFields(argv: readonly string[]) {
  const given = flagsOf(argv).findLast((word) => word.startsWith(FIELDS));
  const plain = flagsOf(argv).map((word) => (word.startsWith(FIELDS) ? '--json' : word));
  return { fields: given?.slice(FIELDS.length).split(','), argv: [...plain, ...argv.slice(plain.length)] };
}

/** Turns colors off in this process and its children, for `--no-color`. */
export function obeyNoColor(argv: readonly string[], environment: NodeJS.ProcessEnv): void {
  if (!hasFlag(argv, '--no-color')) return;
  environment['NO_COLOR'] = '1';
  delete environment['FORCE_COLOR'];
}

function hasFlag(argv: readonly string[], flag: string): boolean {
  return flagsOf(argv).includes(flag);
}

/** The arguments before a bare `--`. */
function flagsOf(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return end === -1 ? argv : argv.slice(0, end);
}

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
    // Read each time, because the window may be resized.
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

/** The progress on one line. A narrow terminal drops the rate first, then the bar, then the end. */
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

/**
 * Says on stderr what a list or a report omits because of the account's limited view. A list in JSON is an
 * array and has no place for it. For a standby, the runtime says it for every command.
 */
export async function noteLimit(runtime: Runtime, what?: Listed): Promise<void> {
  const description = await runtime.description();
  const text = incompleteText(description, what);
  if (text !== null && description.standby === undefined) writeNotice(`${printable.value(text)}.`);
}

/**
 * Says it before the first rows, or after an empty list. A list that cannot be read ends with only its error,
 * which says what is missing.
 */
export function notingLimit<Row>(runtime: Runtime, rows: AsyncIterable<Row>, what?: Listed): Rows<Row> {
  const listed = Rows.of(rows);
  let isNoted = false;
  return new Rows(async () => {
    const page = await listed.next();
    if (!isNoted) await noteLimit(runtime, what);
    isNoted = true;
    return page;
  });
}

/** The first rows, and a line on stderr if there are more. */
export function limited<Row>(rows: Rows<Row>, limit: number | undefined): Rows<Row> {
  if (limit === undefined) return rows;
  let left = limit;
  let isOver = false;
  return new Rows(async () => {
    const page = isOver ? null : await rows.next();
    if (page === null) return null;
    const first = page.slice(0, left);
    left -= first.length;
    isOver = first.length < page.length;
    if (isOver) {
      const listed = limit === 1 ? 'one is' : `${numberText(limit)} are`;
      writeNotice(`Only the first ${listed} listed. There are more.`);
    }
    return first;
  });
}
