import { type ChildProcess, spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { Document, isScalar, parse, visit } from 'yaml';

const GRACE_MS = 5_000;
const OUTPUT_GRACE_MS = 2_000;
const NOT_INSTALLED =
  'ansible-playbook is not installed on this machine, or not in the PATH of the service. Install ansible-core ' +
  '(https://docs.ansible.com) and launch again.';

/** What to run. All paths are absolute. */
interface PlaybookCommand {
  readonly playbook: string;
  /** The project folder, which becomes the working directory. */
  readonly folder: string;
  readonly inventory: string;
  /** A validated host pattern; empty for all hosts. */
  readonly limit: string;
  /** A private folder for temporary files of Ansible. */
  readonly home: string;
  /** The PATH of the process. */
  readonly searchPath: string;
}

/** How a playbook process ended. */
export interface PlaybookEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs `ansible-playbook` without a shell, in its own process group and with a clean environment.
 *
 * @param print Receives the output, and resolves when more may follow.
 * @param stop Ends the process group: SIGTERM, then SIGKILL after five seconds.
 * @throws JobProblem if it is not installed or cannot be started.
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
    // End processes that the playbook left behind in its group.
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
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'))
      throw error;
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

/** Why a job cannot run. The job ends in `error`, and the message is shown to the user who launched it. */
export class JobProblem extends Error {
  override readonly name = 'JobProblem';
}

/** Why the path of a playbook is invalid, or null. It is relative to the project folder. */
export function playbookProblem(playbook: string): string | null {
  if (!/\.ya?ml$/.test(playbook)) return 'The playbook must end with .yml or .yaml.';
  const steps = playbook.split(/[/\\]/);
  const odd = steps.some((step) => ['', '.', '..'].includes(step)) || playbook.includes('\0');
  return odd || isAbsolute(playbook) ? 'The playbook must be a path within the project.' : null;
}

/**
 * The real paths of a playbook and its project folder.
 *
 * @param projects The folder with the folders of all projects.
 * @throws JobProblem if one does not exist, or if the playbook is outside the project.
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
  const root = await existing(projects, 'the projects folder');
  const folder = await existing(join(root, job.project_path), `the project folder ${job.project_path}`);
  const playbook = await existing(join(folder, job.playbook), `the playbook ${job.playbook}`);
  if (!folder.startsWith(root + sep) || !playbook.startsWith(folder + sep)) {
    throw new JobProblem(`The playbook ${job.playbook} is outside its project folder.`);
  }
  return { folder, playbook };
}

async function existing(path: string, what: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    throw new JobProblem(`Not found on this machine: ${what}.`, { cause });
  }
}

const MAX_LIMIT_LENGTH = 1024;
const CONTROL = /\p{Cc}/u;

/**
 * Why a limit (an Ansible host pattern) is invalid, or null. It is passed as one argument `--limit=value`, so it
 * can be neither an option nor shell input. `@file` is refused: Ansible would read that file of the service's
 * machine.
 */
export function limitProblem(limit: string): string | null {
  if (limit.length > MAX_LIMIT_LENGTH)
    return `Ensure this field has no more than ${MAX_LIMIT_LENGTH} characters.`;
  if (CONTROL.test(limit)) return 'Control characters are not allowed.';
  return limit.includes('@') ? 'A limit cannot be read from a file: @ is not allowed.' : null;
}

/** Excludes options of ssh, and ranges and patterns of Ansible's inventory. */
const SAFE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/;

/** The connection variables that a host may set. Other `ansible_*` variables can name programs to run. */
const CONNECTION: Readonly<Record<string, (value: unknown) => boolean>> = {
  ansible_connection: (value) => value === 'local' || value === 'ssh',
  ansible_host: (value) => typeof value === 'string' && SAFE_NAME.test(value),
  ansible_user: (value) => typeof value === 'string' && SAFE_NAME.test(value),
  ansible_port: (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536,
};

/**
 * An Ansible inventory in YAML.
 *
 * A user who may write host variables must not be able to run programs on the service's machine. So only the
 * `ansible_*` variables that say how to connect are kept, and all strings are marked `!unsafe`: Ansible does
 * not evaluate them as templates. Local hosts use Ansible's own Python.
 *
 * @throws JobProblem for a host with an invalid name or invalid variables.
 */
export function renderInventory(
  hosts: readonly { readonly name: string; readonly variables: string }[],
): string {
  const entries = hosts.map(({ name, variables }) => {
    if (!SAFE_NAME.test(name)) throw new JobProblem(`Invalid host name: ${JSON.stringify(name)}.`);
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
  const read = readVariables(text);
  if (read === null) throw new JobProblem(`The variables of the host ${name} are not YAML.`);
  if (read === 'other') throw new JobProblem(`The variables of the host ${name} are not a mapping.`);
  return read;
}

/** The mapping of variables in YAML or JSON; null if it is not YAML, `other` if it is no mapping. */
function readVariables(text: string): object | 'other' | null {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 10, logLevel: 'error' });
  } catch {
    return null;
  }
  if (value === null || value === undefined) return {};
  return typeof value === 'object' && !Array.isArray(value) ? value : 'other';
}

/** Why variables are invalid, or null. They are a mapping in YAML or JSON. */
export function variablesProblem(text: string): string | null {
  const read = readVariables(text);
  if (read === null) return 'Cannot parse as JSON or YAML.';
  return read === 'other' ? 'Must be a mapping in JSON or YAML.' : null;
}
