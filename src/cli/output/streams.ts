import { TokenctlError } from '../../domain/errors.ts';

/** Puts the cursor of a terminal at the start of its line and empties the line. */
export const EMPTY_LINE = '\r\u001b[2K';

/**
 * Writes text to a stream and waits until the stream took it, which is what keeps a long list from
 * piling up in memory.
 *
 * @returns false where nobody reads any more (`tokenctl tokens list | head`): the writer should stop
 * @throws TokenctlError `partly_done` where it cannot be written: a full disk
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
 * Keeps an error of stdout or stderr from ending the program in the middle of its work: a revocation whose
 * output nobody reads must still record what it did. Whoever writes through {@link writeTo} is told of
 * the error there. The command framework's own listener would throw, so it is taken off.
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
  return new TokenctlError('partly_done', `The result could not be written (${cause.code ?? cause.name})`, {
    cause,
  });
}

/** Tells the user what is no result: a line on stderr, over a progress line that may stand there. */
export function writeNotice(line: string): void {
  process.stderr.write(`${process.stderr.isTTY ? EMPTY_LINE : ''}${line}\n`);
}

/** Whether the arguments ask for JSON: `--json` anywhere before a bare `--`. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}
