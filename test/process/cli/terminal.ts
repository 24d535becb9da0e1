import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { WAIT_LIMIT_MS } from '@tokenctl/testing/limits.ts';

const bin = fileURLToPath(new URL('../../../bin/tokenctl.js', import.meta.url));

/** What someone types, and when. */
interface Typing {
  readonly home: string;
  /** Typing starts once this stands on the screen. */
  readonly question: string;
  readonly answer: string;
  /** The next question, if there is one. */
  readonly next?: { readonly question: string; readonly answer: string };
  /** Those after that. */
  readonly more?: readonly { readonly question: string; readonly answer: string }[];
  /** The file that is standard input; the answers come from the terminal all the same. */
  readonly input?: string;
  /** More of the environment. There are no colors without an empty NO_COLOR here. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the built program on a terminal of its own (`script` of util-linux makes it), and types an answer. */
export function typedInto(
  args: readonly string[],
  { home, question, answer, next: second, more = [], input, env = {} }: Typing,
): Promise<{ readonly screen: string; readonly code: number | null }> {
  const words = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
  const command = input === undefined ? words : `${words} <'${input}'`;
  const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], HOME: home, TERM: 'xterm', NO_COLOR: '1', ...env },
  });
  let screen = '';
  const questions = [{ question, answer }, ...(second === undefined ? [] : [second]), ...more];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    screen += chunk;
    const [next] = questions;
    if (next === undefined || !screen.includes(next.question)) return;
    questions.shift();
    child.stdin.write(`${next.answer}\r`);
  });
  // A question that is never asked would wait for ever.
  const limit = AbortSignal.timeout(WAIT_LIMIT_MS);
  limit.addEventListener('abort', () => child.kill());
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code) => {
      if (limit.aborted) return reject(new Error(`Waited in vain. On the screen: ${screen}`));
      child.stdin.destroy();
      resolve({ screen, code });
    });
  });
}
