import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Document, documentText, type Line, lines, type Text } from '../../reports/document.ts';
import { onScreen } from '../../reports/tables/text.ts';
import type { ChangeFlags } from '../flags/flags.ts';
import { screenOf, writeTo } from '../output/streams.ts';
import type { Asked } from './change.ts';

/** How a change is confirmed on the command line: with --yes or by an answer. */
export interface Confirmation {
  /** Whether the user will be asked. */
  readonly asks: boolean;
  /** Checks that the change can be confirmed: without a terminal, by --yes or --dry-run. Throws `usage`. */
  requirePossible(): void;
  /** Shows the plan, and returns once it is confirmed. Throws `not_confirmed`, or `interrupted` on Ctrl-C. */
  confirm(asked: Asked): Promise<void>;
}

/** Decides how a change is confirmed. Checks nothing yet, because errors in files are reported first. */
export function confirmationFrom(
  flags: ChangeFlags & { readonly 'plan-out'?: string | undefined; readonly json?: boolean | undefined },
  options: AskOptions = {},
): Confirmation {
  const changes = flags['dry-run'] !== true && flags['plan-out'] === undefined;
  return {
    asks: flags.yes !== true,
    requirePossible() {
      if (flags.yes === true || !changes || canAsk(options)) return;
      throw new TokenctlError('usage', 'Cannot ask for confirmation without a terminal.', {
        hint: 'Add --dry-run to see the plan, or --yes to run it without confirmation.',
      });
    },
    async confirm({ plan, act, type, part, note }) {
      this.requirePossible();
      const asks = flags.yes !== true;
      const about = part?.replace(/^./, (first) => first.toUpperCase());
      const asked = asks ? [lines(about !== undefined && `${about}.`, note)] : [];
      await showPlan([...toCome(plan), ...asked], { json: flags.json === true, asks });
      if (flags.yes === true) return;
      const answer = await ask(`Type ${type} to ${act} (anything else cancels): `, options);
      if (answer.trim() === type) return;
      throw new TokenctlError('not_confirmed', 'Not confirmed. Nothing was changed.');
    },
  };
}

/** The plan of a confirmed change: what will be done, above what was done. */
function toCome(plan: Document): Document {
  const will = (text: Text) =>
    typeof text === 'string'
      ? text
      : text.map((each) =>
          typeof each === 'string' ? each : { ...each, word: each.confirmed ?? each.word },
        );
  return plan.map((part) => {
    if (!part) return part;
    if (part.kind === 'facts' && part.title !== undefined) return { ...part, title: will(part.title) };
    if (part.kind !== 'lines') return part;
    const of = (line: Line): Line =>
      typeof line === 'string' || 'columns' in line ? line : { ...line, text: will(line.text) };
    return { ...part, lines: part.lines.map(of) };
  });
}

/**
 * Prints a plan where the result will go: on stdout, or with --json on stderr. If stdout is not a terminal, a
 * user who is asked also sees it on stderr.
 */
async function showPlan(plan: Document, { json, asks }: { json: boolean; asks: boolean }) {
  const streams = [
    ...(json ? [] : [process.stdout]),
    ...(json || (asks && !process.stdout.isTTY) ? [process.stderr] : []),
  ];
  for (const stream of streams) {
    const screen = screenOf(stream);
    await writeTo(stream, `${onScreen(documentText(plan, screen.paint), screen)}\n`);
  }
}

/** The source of an answer. */
interface AskOptions {
  /** Standard input is data: the answer is read from the process's terminal. */
  readonly inputIsData?: boolean;
}

/** Whether stdin and stderr are terminals; if stdin is data, whether the process has a terminal. */
export function canAsk({ inputIsData = false }: AskOptions = {}): boolean {
  if (process.stderr.isTTY !== true) return false;
  if (process.stdin.isTTY === true || !inputIsData) return process.stdin.isTTY === true;
  const terminal = openTerminal();
  if (terminal !== null) closeSync(terminal);
  return terminal !== null;
}

/** The process's terminal as a file descriptor; null if it has none. */
function openTerminal(): number | null {
  try {
    return openSync('/dev/tty', 'r');
  } catch {
    return null;
  }
}

/**
 * Asks on the terminal (on stderr, to keep stdout for the result). The question is printed unchanged;
 * `hidden` hides the input. Throws `interrupted` on Ctrl-C, `not_confirmed` if the input ends without an
 * answer.
 */
export async function ask(
  question: string,
  options: AskOptions & { readonly hidden?: boolean } = {},
): Promise<string> {
  const tty = options.inputIsData === true && process.stdin.isTTY !== true ? openTerminal() : null;
  const input = tty === null ? process.stdin : new ReadStream(tty);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = options.hidden === true ? silent : process.stderr;
  const terminal = createInterface({ input, output, terminal: true });
  const ended = new AbortController();
  terminal.once('SIGINT', () => ended.abort('interrupted'));
  terminal.once('close', () => ended.abort('closed'));
  if (options.hidden === true) process.stderr.write(question);
  try {
    return await terminal.question(options.hidden === true ? '' : question, { signal: ended.signal });
  } catch (cause) {
    if (!ended.signal.aborted) throw cause;
    throw ended.signal.reason === 'interrupted'
      ? new TokenctlError('interrupted', 'Interrupted. Nothing was changed.', { cause })
      : new TokenctlError('not_confirmed', 'Not confirmed: no answer was entered. Nothing was changed.', {
          cause,
        });
  } finally {
    terminal.close();
    if (input !== process.stdin) input.destroy();
    if (options.hidden === true || ended.signal.aborted) process.stderr.write('\n');
  }
}
