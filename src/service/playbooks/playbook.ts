import { type ChildProcess, spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { isAbsolute, join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import type { JobOptions } from '../store/job-options.ts';
import {
  ansibleJson,
  extraVariablesProblem,
  groupNameProblem,
  isPlainText,
  readVariables,
  SAFE_NAME,
  type Variables,
  variablesProblem,
  withoutOwnPython,
} from './variables.ts';

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
  /** A file with the extra variables. */
  readonly extraVariables: string;
  /** Validated: none is read as another option. */
  readonly options: JobOptions;
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

function argumentsOf({ inventory, extraVariables, options, playbook }: PlaybookCommand): string[] {
  const { job_type, forks, limit, verbosity, job_tags, skip_tags, start_at_task } = options;
  return [
    ...['-i', inventory, `--extra-vars=@${extraVariables}`],
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
    playbook,
  ];
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
    // An inventory that Ansible cannot read fails the job instead of leaving it without hosts.
    ANSIBLE_INVENTORY_ENABLED: 'yaml',
    ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED: '1',
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

const CONTROL = /\p{Cc}/u;

/**
 * Why a text that is passed as one argument, `--tags=value`, is invalid, or null. So it can be neither an
 * option nor shell input.
 */
export function argumentProblem(text: string): string | null {
  return CONTROL.test(text) ? 'Control characters are not allowed.' : null;
}

/**
 * Why a limit (an Ansible host pattern) is invalid, or null. `@file` is refused: Ansible would read that file
 * of the service's machine.
 */
export function limitProblem(limit: string): string | null {
  if (limit.includes('@')) return 'A limit cannot be read from a file: @ is not allowed.';
  return argumentProblem(limit);
}

/** What a job may use beyond its project. */
export interface JobAccess {
  /** Whether hosts may have `ansible_connection: local`, which runs modules where the job runs. */
  readonly localConnection: boolean;
}

/**
 * The extra variables of a job, for Ansible.
 *
 * @throws JobProblem if some may not be passed on: they may have been stored before that was checked.
 */
export function renderExtraVariables(text: string, access: JobAccess): string {
  return ansibleJson(checkedVariables('the job', { text, access, problemOf: extraVariablesProblem }));
}

/**
 * An Ansible inventory in JSON: hosts, groups, and their variables.
 *
 * @throws JobProblem for a host or a group with a name that Ansible could read as another, invalid variables, and variables that
 *   may not be passed on: a job never runs on a part of its hosts, or without a part of their variables.
 */
export function renderInventory(
  inventory: {
    readonly variables: string;
    readonly hosts: readonly Named[];
    readonly groups: readonly (Named & {
      readonly hosts: readonly string[];
      readonly children: readonly string[];
    })[];
  },
  access: JobAccess,
): string {
  const variablesOf = (owner: string, text: string) =>
    withoutOwnPython(checkedVariables(owner, { text, access, problemOf: variablesProblem }));
  const hosts = inventory.hosts.map(({ name, variables }) => {
    if (!isHostName(name)) throw invalidName('host', name);
    return [name, variablesOf(`the host ${name}`, variables)];
  });
  const members = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]));
  const children = inventory.groups.map(({ name, variables, ...has }) => {
    if (!isGroupName(name)) throw invalidName('group', name);
    const vars = variablesOf(`the group ${name}`, variables);
    return [name, { hosts: members(has.hosts), children: members(has.children), vars }];
  });
  const all = {
    hosts: Object.fromEntries(hosts),
    vars: variablesOf('the inventory', inventory.variables),
    children: Object.fromEntries(children),
  };
  return ansibleJson({ all });
}

/** A host or a group with its stored variables. */
interface Named {
  readonly name: string;
  readonly variables: string;
}

/** The last part of an IPv6 address is no port. */
function isHostName(name: string): boolean {
  return SAFE_NAME.test(name) && isPlainText(name) && (!name.includes(':') || isIPv6(name));
}

/** Excludes what Ansible reads as a pattern of hosts. */
function isGroupName(name: string): boolean {
  return groupNameProblem(name) === null && isPlainText(name) && !/^[!&~@-]|[:,*?[\]]/.test(name);
}

function invalidName(kind: 'host' | 'group', name: string): JobProblem {
  return new JobProblem(
    `Ansible could read the name of the ${kind} ${JSON.stringify(name)} as another. Rename the ${kind}.`,
  );
}

function checkedVariables(
  owner: string,
  given: {
    readonly text: string;
    readonly access: JobAccess;
    readonly problemOf: (text: string) => string | null;
  },
): Variables {
  const problem = given.problemOf(given.text);
  const read = readVariables(given.text);
  if (problem !== null || typeof read === 'string') {
    throw new JobProblem(`The variables of ${owner} are invalid. ${problem ?? read}`);
  }
  if (read['ansible_connection'] === 'local' && !given.access.localConnection) {
    throw new JobProblem(
      `The variables of ${owner} have ansible_connection: local, which the operator of this service did not allow (--jobs-local-connection).`,
    );
  }
  return read;
}
