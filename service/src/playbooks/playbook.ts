import { type ChildProcess, spawn } from 'node:child_process';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { codeOf } from '@tokenctl/common/errors.ts';
import type { JobOptions } from '../store/job-options.ts';
import { type Isolation, notStarted, prepareStart, type Start } from './isolation.ts';
import { JobProblem } from './project-playbook.ts';

const GRACE_MS = 5_000;
const OUTPUT_GRACE_MS = 2_000;
interface PlaybookCommand {
  readonly playbook: string;
  /** The project folder, used as the working directory. */
  readonly folder: string;
  /** A private folder with the inventory and the extra variables, named as in {@link JOB_FILES}. */
  readonly files: string;
  /** Validated: no value is read as another option. */
  readonly options: JobOptions;
  /** The PATH to search for Ansible. */
  readonly searchPath: string;
  readonly isolation: Isolation;
}

/** The names of a job's files. They end in `.json`, so that Ansible reads them as JSON. */
export const JOB_FILES = { inventory: 'inventory.json', extraVariables: 'extra-vars.json' } as const;

export interface PlaybookEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs `ansible-playbook` without a shell, in its own process group, and in a sandbox unless there is none.
 * @param print Receives the output, and resolves when more may follow.
 * @param stop Ends the process group: SIGTERM, then SIGKILL after five seconds.
 * @throws JobProblem if it is not installed, cannot be started, or may not run.
 */
export async function runPlaybook(
  command: PlaybookCommand,
  { print, stop }: { print: (text: string) => Promise<void>; stop: AbortSignal },
): Promise<PlaybookEnd> {
  stop.throwIfAborted();
  const { isolation, files, folder: project, searchPath } = command;
  const start = await prepareStart(isolation, { files, project, searchPath, environment: ENVIRONMENT });
  stop.throwIfAborted();
  const child = spawn(start.program, [...start.arguments, ...argumentsOf(command, start)], {
    ...start.options,
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
    // Ends processes that the playbook left behind in its group.
    signalGroup(child, 'SIGKILL');
  }
}

function argumentsOf(
  { options, playbook, folder }: PlaybookCommand,
  { files, project }: Pick<Start, 'files' | 'project'>,
): string[] {
  const { job_type, forks, limit, verbosity, job_tags, skip_tags, start_at_task } = options;
  return [
    ...['-i', join(files, JOB_FILES.inventory), `--extra-vars=@${join(files, JOB_FILES.extraVariables)}`],
    ...(job_type === 'check' ? ['--check'] : []),
    ...(options.diff_mode ? ['--diff'] : []),
    ...(options.become_enabled ? ['--become'] : []),
    ...(options.force_handlers ? ['--force-handlers'] : []),
    ...(forks > 0 ? [`--forks=${forks}`] : []),
    ...(verbosity > 0 ? [`-${'v'.repeat(verbosity)}`] : []),
    ...(limit === '' ? [] : [`--limit=${limit}`]),
    ...(job_tags === '' ? [] : [`--tags=${job_tags}`]),
    ...(skip_tags === '' ? [] : [`--skip-tags=${skip_tags}`]),
    ...(start_at_task === '' ? [] : [`--start-at-task=${start_at_task}`]),
    join(project, relative(folder, playbook)),
  ];
}

const ENVIRONMENT = {
  LANG: 'C.UTF-8',
  PYTHONUNBUFFERED: '1',
  ANSIBLE_NOCOLOR: '1',
  ANSIBLE_RETRY_FILES_ENABLED: '0',
  // An inventory that Ansible cannot read must fail the job, instead of leaving it without hosts.
  ANSIBLE_INVENTORY_ENABLED: 'yaml',
  ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED: '1',
};

/** Resolves on exit. Closes the output soon after, even if another process keeps it open. */
function exitOf(child: ChildProcess): Promise<PlaybookEnd> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      const late = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, OUTPUT_GRACE_MS);
      child.once('close', () => clearTimeout(late));
      resolve({ code, signal });
    });
  });
}

async function pass(stream: Readable, print: (text: string) => Promise<void>): Promise<void> {
  try {
    for await (const text of stream.setEncoding('utf8')) await print(String(text));
  } catch (error) {
    if (codeOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The process group has ended.
  }
}

const CONTROL = /\p{Cc}/u;

/** Why a text is invalid as one argument, `--tags=value`, or null. It cannot become an option or shell input. */
export function argumentProblem(text: string): string | null {
  return CONTROL.test(text) ? 'Control characters are not allowed.' : null;
}

/** Why a limit (an Ansible host pattern) is invalid, or null. Ansible would read the file of `@file`. */
export function limitProblem(limit: string): string | null {
  if (limit.includes('@')) return 'A limit cannot be read from a file, so @ is not allowed.';
  return argumentProblem(limit);
}
