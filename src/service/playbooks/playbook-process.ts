import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { JobProblem } from './job-problem.ts';

const GRACE_MS = 5_000;
const LAST_WORDS_MS = 2_000;
const NOT_INSTALLED =
  'ansible-playbook is not installed on this machine, or not in the PATH of the service. Install ansible-core ' +
  '(https://docs.ansible.com) and launch again.';

/** What to run. All paths are absolute. */
export interface PlaybookCommand {
  readonly playbook: string;
  /** The project's folder: where it runs. */
  readonly folder: string;
  readonly inventory: string;
  /** A checked host pattern; empty for all hosts. */
  readonly limit: string;
  /** A folder of its own for what Ansible writes meanwhile. */
  readonly home: string;
  /** Where programs are looked for: a PATH. */
  readonly searchPath: string;
}

/** How it ended. */
export interface PlaybookEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs `ansible-playbook`: by its argument array, never through a shell, in a process group of its own, with
 * an environment that holds nothing of the service's.
 *
 * @param print Takes what it prints, and resolves when more may come.
 * @param stop Ends it, with all that it started: asked to by SIGTERM, made to five seconds later.
 * @throws JobProblem where it is not installed or cannot be started.
 */
export async function runPlaybook(
  command: PlaybookCommand,
  { print, stop }: { readonly print: (text: string) => Promise<void>; readonly stop: AbortSignal },
): Promise<PlaybookEnd> {
  stop.throwIfAborted();
  const child = spawn('ansible-playbook', argumentsOf(command), {
    cwd: command.folder,
    env: environmentOf(command),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (cause) => reject(new JobProblem(notStarted(cause), { cause })));
  });
  let forced: NodeJS.Timeout | undefined;
  const end = () => {
    signalGroup(child, 'SIGTERM');
    forced ??= setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE_MS);
  };
  stop.addEventListener('abort', end, { once: true });
  try {
    const printed = Promise.all([pass(child.stdout, print), pass(child.stderr, print)]);
    printed.catch(end);
    const ended = await Promise.race([exitOf(child), failed]);
    await printed;
    return ended;
  } finally {
    stop.removeEventListener('abort', end);
    clearTimeout(forced);
    // Nothing that it left behind in its group goes on.
    signalGroup(child, 'SIGKILL');
  }
}

function argumentsOf({ inventory, limit, playbook }: PlaybookCommand): string[] {
  return ['-i', inventory, ...(limit === '' ? [] : [`--limit=${limit}`]), playbook];
}

function environmentOf({ searchPath, home }: PlaybookCommand): NodeJS.ProcessEnv {
  return {
    PATH: searchPath,
    HOME: home,
    TMPDIR: home,
    LANG: 'C.UTF-8',
    PYTHONUNBUFFERED: '1',
    ANSIBLE_NOCOLOR: '1',
    ANSIBLE_RETRY_FILES_ENABLED: '0',
  };
}

function notStarted(cause: Error): string {
  const code = 'code' in cause ? cause.code : '';
  return code === 'ENOENT' ? NOT_INSTALLED : `ansible-playbook could not be started: ${cause.message}`;
}

/** A process that has ended but left its output open to another one is not waited for. */
function exitOf(child: ChildProcess): Promise<PlaybookEnd> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      const late = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, LAST_WORDS_MS);
      child.once('close', () => clearTimeout(late));
      resolve({ code, signal });
    });
  });
}

async function pass(stream: Readable, print: (text: string) => Promise<void>): Promise<void> {
  try {
    for await (const text of stream.setEncoding('utf8')) await print(String(text));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'))
      throw error;
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}
