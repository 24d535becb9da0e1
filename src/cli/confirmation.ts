import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { TokenctlError } from '../domain/errors.ts';
import type { ChangeFlags } from './flags.ts';

/** What is asked before a change. */
export interface Question {
  /** What would be done: finished lines, shown above the question. */
  readonly plan: string;
  /** What saying yes does, as a phrase: `revoke 12 tokens`. */
  readonly act: string;
  /** What has to be typed: something that cannot be typed without having read. */
  readonly type: string;
  /** How many tokens it is about, where it is about tokens. */
  readonly tokens?: number;
}

/** How a change is agreed to: by a flag given beforehand, or by an answer. */
export interface Confirmation {
  /** Whether somebody will be asked; otherwise it was agreed to beforehand, or nothing will be done. */
  readonly asks: boolean;
  /**
   * Shows what would be done, and returns once it was agreed to.
   *
   * @throws TokenctlError `not_confirmed` where the answer is another one, `interrupted` on Ctrl-C
   */
  confirm(question: Question): Promise<void>;
}

/**
 * Decides how to agree before anything is read or connected to: without a terminal, nobody can answer.
 *
 * @throws TokenctlError `usage` where there is neither a flag nor a terminal
 */
export function confirmationFrom(flags: ChangeFlags): Confirmation {
  if (flags.yes !== true && flags['dry-run'] !== true && !canAsk()) {
    throw new TokenctlError('usage', 'There is no terminal to confirm this on.', {
      hint: 'Add --dry-run to see what would be done, and --yes to do it without being asked.',
    });
  }
  return {
    asks: flags.yes !== true,
    async confirm({ plan, act, type }) {
      process.stderr.write(`${plan}\n`);
      if (flags.yes === true) return;
      const answer = await ask(`Type ${type} to ${act}, anything else to leave it: `);
      if (answer.trim() === type) return;
      throw new TokenctlError('not_confirmed', 'Not confirmed: nothing was changed.');
    },
  };
}

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
