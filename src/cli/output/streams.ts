import { TokenctlError } from '../../domain/errors.ts';

/** Clears the current line of a terminal. */
export const EMPTY_LINE = '\r\u001b[2K';

/**
 * Writes text to a stream and waits until it is taken, so that a long list does not fill the memory.
 *
 * @returns false if the reader closed the pipe (`tokenctl tokens list | head`): stop writing
 * @throws TokenctlError `partly_done` if the write fails, as on a full disk
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
 * Keeps an error of stdout or stderr from ending the program: a revocation must record its outcome even if nothing reads
 * its output. {@link writeTo} reports the error to its caller. The command framework's own listener would throw, so it is
 * removed.
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
  return new TokenctlError('partly_done', `Cannot write the result (${cause.code ?? cause.name})`, {
    cause,
  });
}

/** Prints a line on stderr and replaces a progress line there. */
export function writeNotice(line: string): void {
  process.stderr.write(`${process.stderr.isTTY ? EMPTY_LINE : ''}${line}\n`);
}

/** Whether the arguments ask for JSON: `--json` anywhere before a bare `--`. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}
