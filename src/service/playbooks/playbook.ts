import { type ChildProcess, spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { Document, isScalar, parse, visit } from 'yaml';

const GRACE_MS = 5_000;
const LAST_WORDS_MS = 2_000;
const NOT_INSTALLED =
  'ansible-playbook is not installed on this machine, or not in the PATH of the service. Install ansible-core ' +
  '(https://docs.ansible.com) and launch again.';

/** What to run. All paths are absolute. */
interface PlaybookCommand {
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

/** Why a job cannot run at all: it ends in `error`, and the message explains it to whoever launched it. */
export class JobProblem extends Error {
  override readonly name = 'JobProblem';
}

/** What is wrong with the name of a playbook, or null. It is a path below its project's folder. */
export function playbookProblem(playbook: string): string | null {
  if (!/\.ya?ml$/.test(playbook)) return 'A playbook ends with .yml or .yaml.';
  const steps = playbook.split(/[/\\]/);
  const odd = steps.some((step) => ['', '.', '..'].includes(step)) || playbook.includes('\0');
  return odd || isAbsolute(playbook) ? 'A playbook is a path within its project.' : null;
}

/**
 * Where a playbook is on the disk, links followed, with the folder of its project.
 *
 * @param projects The folder that holds the folders of all projects.
 * @throws JobProblem where there is none, or where it lies outside the project.
 */
export async function findPlaybook(
  projects: string,
  job: { readonly project_path: string | null; readonly playbook: string },
): Promise<{ readonly folder: string; readonly playbook: string }> {
  if (job.project_path === null || job.project_path === '') {
    throw new JobProblem('The project of this job has no folder.');
  }
  const problem = playbookProblem(job.playbook);
  if (problem !== null) throw new JobProblem(problem);
  const root = await existing(projects, 'the folder of the projects');
  const folder = await existing(join(root, job.project_path), `the project folder ${job.project_path}`);
  const playbook = await existing(join(folder, job.playbook), `the playbook ${job.playbook}`);
  if (!folder.startsWith(root + sep) || !playbook.startsWith(folder + sep)) {
    throw new JobProblem(`The playbook ${job.playbook} lies outside its project's folder.`);
  }
  return { folder, playbook };
}

async function existing(path: string, what: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    throw new JobProblem(`There is nothing to run: ${what} does not exist on this machine.`, { cause });
  }
}

const LONGEST = 1024;
const CONTROL = /\p{Cc}/u;

/**
 * What is wrong with a limit (a host pattern of Ansible), or null. It travels as one argument of the form
 * `--limit=value`, so it can neither be an option of its own nor reach a shell; what Ansible itself would do
 * with it beyond choosing hosts is refused: `@file` reads a file of the service's machine.
 */
export function limitProblem(limit: string): string | null {
  if (limit.length > LONGEST) return `Ensure this field has no more than ${LONGEST} characters.`;
  if (CONTROL.test(limit)) return 'Control characters are not allowed.';
  return limit.includes('@') ? 'A limit cannot be read from a file: @ is not allowed.' : null;
}

/** Nothing in it begins an option of ssh, nor a range or pattern of Ansible's inventory. */
const SAFE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/;

/** What a host may say about how it is reached. Everything else that Ansible reads there names programs to run. */
const CONNECTION: Readonly<Record<string, (value: unknown) => boolean>> = {
  ansible_connection: (value) => value === 'local' || value === 'ssh',
  ansible_host: (value) => typeof value === 'string' && SAFE_NAME.test(value),
  ansible_user: (value) => typeof value === 'string' && SAFE_NAME.test(value),
  ansible_port: (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536,
};

/**
 * An inventory of Ansible, in YAML, of hosts and their variables.
 *
 * Whoever may write a host's variables must not thereby run programs on the service's machine. So of the
 * variables `ansible_*` only those that say where a host is are passed on, and the texts of all others are
 * marked `!unsafe`: Ansible does not evaluate them as templates. Local hosts use Ansible's own Python.
 *
 * @throws JobProblem for a host whose name or variables cannot be used.
 */
export function renderInventory(
  hosts: readonly { readonly name: string; readonly variables: string }[],
): string {
  const entries = hosts.map(({ name, variables }) => {
    if (!SAFE_NAME.test(name)) throw new JobProblem(`The host name ${JSON.stringify(name)} cannot be used.`);
    return [name, hostVariables(name, variables)] as const;
  });
  const document = new Document({ all: { hosts: Object.fromEntries(entries) } });
  visit(document, {
    Scalar(key, node) {
      if (key !== 'key' && isScalar(node) && typeof node.value === 'string') node.tag = '!unsafe';
    },
  });
  return document.toString();
}

function hostVariables(name: string, text: string): Record<string, unknown> {
  const given = Object.entries(parsed(name, text));
  const kept = given.filter(([key, value]) =>
    key.startsWith('ansible_') ? Object.hasOwn(CONNECTION, key) && CONNECTION[key]?.(value) : true,
  );
  return Object.fromEntries(kept);
}

function parsed(name: string, text: string): object {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 10 });
  } catch (cause) {
    throw new JobProblem(`The variables of the host ${name} are not YAML.`, { cause });
  }
  if (value === null || value === undefined) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw new JobProblem(`The variables of the host ${name} are not a mapping.`);
}
