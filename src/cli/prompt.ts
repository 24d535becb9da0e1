import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { TokenctlError } from '../domain/errors.ts';

/** Whether somebody is there to be asked: keys come from a terminal, and questions reach one. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Asks on the terminal (on stderr, so that stdout stays the result's) and returns the answer.
 *
 * @param question printed as it stands
 * @param options.hidden does not show what is typed
 * @throws TokenctlError `interrupted` on Ctrl-C, `not_confirmed` where the input ends without an answer
 */
export async function ask(question: string, options: { hidden?: boolean } = {}): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = options.hidden === true ? silent : process.stderr;
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  const ended = new AbortController();
  terminal.once('SIGINT', () => ended.abort('interrupted'));
  terminal.once('close', () => ended.abort('closed'));
  if (options.hidden === true) process.stderr.write(question);
  try {
    return await terminal.question(options.hidden === true ? '' : question, { signal: ended.signal });
  } catch (cause) {
    if (!ended.signal.aborted) throw cause;
    throw ended.signal.reason === 'interrupted'
      ? new TokenctlError('interrupted', 'Interrupted before anything was changed.', { cause })
      : new TokenctlError('not_confirmed', 'The input ended without an answer: nothing was changed.', {
          cause,
        });
  } finally {
    terminal.close();
    if (options.hidden === true || ended.signal.aborted) process.stderr.write('\n');
  }
}
