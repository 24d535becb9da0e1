import { spawn } from 'node:child_process';
import {
  access,
  chown,
  constants,
  cp,
  lchown,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, sep } from 'node:path';
import { codeOf } from '@tokenctl/common/errors.ts';
import type { FastifyBaseLogger } from 'fastify';
import { JobProblem } from './project-playbook.ts';

/** What jobs may use in addition to their project. An operator allows each by name. */
export interface JobAccess {
  /** Hosts may have `ansible_connection: local`, which runs modules on the machine of the job. */
  readonly localConnection: boolean;
  /** Jobs can reach this machine's network, including the service. */
  readonly network: boolean;
  /** Jobs run as the service's user and can reach everything that it can. */
  readonly asService: boolean;
}

/** How jobs are isolated from the service. */
export type Isolation =
  | {
      readonly kind: 'sandbox';
      readonly bubblewrap: string;
      readonly network: boolean;
      /** Folders of the service, hidden from jobs wherever they are. */
      readonly hidden: readonly string[];
    }
  | { readonly kind: 'none' }
  | { readonly kind: 'off'; readonly reason: string };

/** The user of a job in its sandbox. If the service runs as root, also outside the sandbox. */
const NOBODY = 65_534;
const SANDBOX = { job: '/job', project: '/project', home: '/home/job' } as const;
const TMP_BYTES = 1024 ** 3;
const PROGRAMS = '/usr/local/bin:/usr/bin:/bin';

/** The files in `/etc` that programs need. None are secret. */
const ETC = [
  ...[
    'alternatives',
    'ansible',
    'ca-certificates',
    'crypto-policies',
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
  ],
  ...[
    'localtime',
    'mime.types',
    'nsswitch.conf',
    'os-release',
    'pki/ca-trust',
    'pki/tls/certs',
    'pki/tls/cert.pem',
  ],
  ...['protocols', 'python3', 'services', 'ssl/certs', 'ssl/openssl.cnf'],
];
const ETC_OF_NETWORK = [
  'hosts',
  'resolv.conf',
  'gai.conf',
  'ssh/ssh_config',
  'ssh/ssh_config.d',
  'ssh/ssh_known_hosts',
];

const PASSWD = `root:x:0:0:root:/nonexistent:/usr/sbin/nologin
nobody:x:${NOBODY}:${NOBODY}:job:${SANDBOX.home}:/bin/sh
`;
const GROUP = `root:x:0:\nnogroup:x:${NOBODY}:\n`;

interface Content {
  /** The folder with the job's files, outside the sandbox. */
  readonly files: string;
  /** The project's folder, outside the sandbox. */
  readonly project: string;
  /** Folders with programs outside `/usr`. */
  readonly programs: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Determines once how jobs can be isolated, and logs it: bubblewrap needs namespaces, which may be refused. */
export async function chooseIsolation(options: {
  readonly access: JobAccess;
  readonly searchPath: string;
  readonly hidden: readonly string[];
  readonly log: FastifyBaseLogger;
}): Promise<Isolation> {
  const { access: allowed, searchPath, hidden, log } = options;
  if (allowed.asService) {
    log.warn(
      'playbooks run as the user of this service and can reach everything it can reach (--jobs-as-service)',
    );
    return { kind: 'none' };
  }
  const bubblewrap = await findProgram('bwrap', searchPath);
  const problem = bubblewrap === null ? 'bubblewrap is not installed' : await trySandbox(bubblewrap);
  if (bubblewrap === null || problem !== null) {
    const reason = `This service runs no playbooks because it cannot isolate them: ${problem}. Install bubblewrap on a machine that allows user namespaces, or start the service with --jobs-as-service.`;
    log.warn(reason);
    return { kind: 'off', reason };
  }
  const { network } = allowed;
  log.info(`playbooks run in a sandbox ${network ? "with this machine's network" : 'without a network'}`);
  return { kind: 'sandbox', bubblewrap, network, hidden };
}

/** Why no sandbox can be created here, or null. */
async function trySandbox(bubblewrap: string): Promise<string | null> {
  const files = await mkdtemp(join(tmpdir(), 'tokenctl-job-'));
  try {
    await prepareFiles(files);
    const content = { files, project: files, programs: [], environment: {} };
    const isolation = { kind: 'sandbox', bubblewrap, network: false, hidden: [] } as const;
    const given = await sandboxArguments(isolation, content);
    return await new Promise((resolve) => {
      const child = spawn(bubblewrap, [...given, 'true'], {
        ...processOptions(),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let output = '';
      child.stderr.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code) =>
        resolve(code === 0 ? null : output.trim().slice(0, 500) || `exit code ${code}`),
      );
    });
  } finally {
    await rm(files, { recursive: true, force: true });
  }
}

export interface Start {
  readonly program: string;
  /** The arguments before those of `ansible-playbook`. */
  readonly arguments: readonly string[];
  readonly options: {
    readonly cwd?: string;
    readonly env: Record<string, string>;
    readonly uid?: number;
    readonly gid?: number;
  };
  /** The job's files, as the job sees them. */
  readonly files: string;
  /** The project's folder, as the job sees it. */
  readonly project: string;
}

/**
 * Prepares the start of `ansible-playbook` for a job, with an environment built from scratch.
 * @param job.files A private folder with the job's files, which the sandbox can read but not change.
 * @throws JobProblem if playbooks do not run here, or the sandbox cannot contain Ansible or the project.
 */
export async function prepareStart(
  isolation: Isolation,
  job: {
    readonly files: string;
    readonly project: string;
    readonly searchPath: string;
    readonly environment: Readonly<Record<string, string>>;
  },
): Promise<Start> {
  const { files, project, searchPath, environment } = job;
  if (isolation.kind === 'off') throw new JobProblem(isolation.reason);
  if (isolation.kind === 'none') {
    const env = { PATH: searchPath, HOME: files, TMPDIR: files, ...environment };
    return { program: 'ansible-playbook', arguments: [], options: { cwd: project, env }, files, project };
  }
  const programs = await ansibleFolders(searchPath);
  const content = { files, project: await readableProject(files, project), programs, environment };
  await prepareFiles(files);
  return {
    program: isolation.bubblewrap,
    arguments: [...(await sandboxArguments(isolation, content)), 'ansible-playbook'],
    options: processOptions(),
    files: SANDBOX.job,
    project: SANDBOX.project,
  };
}

/** bubblewrap gets none of the service's environment, and no root rights: escaping the sandbox is not enough. */
function processOptions(): Start['options'] {
  return { env: { PATH: PROGRAMS }, ...(isRoot() && { uid: NOBODY, gid: NOBODY }) };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The arguments of bubblewrap. The process has its own namespaces for users, processes, network and files. It
 * sees `/usr`, its project and its files, all read-only, and a temporary folder. All processes of the sandbox
 * end with the first one.
 */
async function sandboxArguments(
  { network, hidden }: Extract<Isolation, { readonly kind: 'sandbox' }>,
  { files, project, programs, environment }: Content,
): Promise<string[]> {
  const readOnly = (paths: readonly string[]) => paths.flatMap((path) => ['--ro-bind-try', path, path]);
  const path = [...programs.map((folder) => join(folder, 'bin')), PROGRAMS].join(delimiter);
  const set = { PATH: path, HOME: SANDBOX.home, TMPDIR: '/tmp', ...environment };
  const isVisible = (folder: string) => ['/usr', ...programs].some((root) => folder.startsWith(root + sep));
  return [
    ...['--unshare-all', ...(network ? ['--share-net'] : []), '--die-with-parent', '--new-session'],
    ...['--uid', `${NOBODY}`, '--gid', `${NOBODY}`, '--hostname', 'job', '--clearenv'],
    ...Object.entries(set).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--ro-bind', '/usr', '/usr', ...(await rootFolders())],
    ...readOnly([...ETC, ...(network ? ETC_OF_NETWORK : [])].map((name) => `/etc/${name}`)),
    ...['passwd', 'group'].flatMap((name) => ['--ro-bind', join(files, name), `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--size', `${TMP_BYTES}`, '--tmpfs', '/tmp', '--size', `${TMP_BYTES}`, '--tmpfs', '/home'],
    ...['--dir', SANDBOX.home, ...readOnly(programs)],
    ...hidden.filter(isVisible).flatMap((folder) => ['--tmpfs', folder]),
    ...['--ro-bind', project, SANDBOX.project, '--ro-bind', files, SANDBOX.job],
    ...['--remount-ro', '/', '--chdir', SANDBOX.project, '--'],
  ];
}

/** Older systems have folders where newer ones have links into `/usr`. */
async function rootFolders(): Promise<string[]> {
  const all = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'].map(async (path) => {
    const found = await lstat(path).catch(() => null);
    if (found === null) return [];
    return found.isSymbolicLink() ? ['--symlink', await readlink(path), path] : ['--ro-bind', path, path];
  });
  return (await Promise.all(all)).flat();
}

/** Gives the files of a job to the sandbox's user, which gets a name in `passwd`. */
async function prepareFiles(files: string): Promise<void> {
  await writeFile(join(files, 'passwd'), PASSWD);
  await writeFile(join(files, 'group'), GROUP);
  if (!isRoot()) return;
  for (const name of await readdir(files))
    if (name !== 'project') await chown(join(files, name), NOBODY, NOBODY);
  await chown(files, NOBODY, NOBODY);
}

/** A project folder that the sandbox's user can read: a copy if the service runs as root, as on the controller. */
async function readableProject(files: string, project: string): Promise<string> {
  if (!isRoot()) return project;
  const copy = join(files, 'project');
  try {
    await cp(project, copy, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
    for (const name of ['', ...(await readdir(copy, { recursive: true }))])
      await lchown(join(copy, name), NOBODY, NOBODY);
    return copy;
  } catch (cause) {
    const why = codeOf(cause) ?? 'unknown';
    throw new JobProblem(`The project could not be copied for this job: ${why}.`, { cause });
  }
}

const NOT_INSTALLED =
  'ansible-playbook is not installed on this machine, or is not in the PATH of the service. Install ansible-core ' +
  '(https://docs.ansible.com) and launch again.';

/** The folders of an Ansible outside `/usr`: its virtual environment and its Python's. */
async function ansibleFolders(searchPath: string): Promise<string[]> {
  const found = await findProgram('ansible-playbook', searchPath);
  if (found === null) throw new JobProblem(NOT_INSTALLED);
  const folder = dirname(dirname(found));
  if (isSystem(found)) return [];
  const settings = await readFile(join(folder, 'pyvenv.cfg'), 'utf8').catch(() => null);
  if (settings === null) {
    throw new JobProblem(
      `Jobs cannot read ${found}. Install Ansible below /usr or in a virtual environment, and launch again.`,
    );
  }
  const python = /^home\s*=\s*(\S.*)$/m.exec(settings)?.[1]?.trim();
  return python === undefined || isSystem(python) ? [folder] : [folder, dirname(python)];
}

function isSystem(path: string): boolean {
  return /^\/(usr|bin|sbin)\//.test(path);
}

/** The real path of a program in the PATH, or null. */
async function findProgram(name: string, searchPath: string): Promise<string | null> {
  for (const folder of searchPath.split(delimiter)) {
    const path = join(folder, name);
    const isFound = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isFound && folder !== '') return realpath(path);
  }
  return null;
}

/** Why `ansible-playbook` did not start, for the user. */
export function notStarted(cause: Error): string {
  const code = 'code' in cause ? cause.code : '';
  return code === 'ENOENT' ? NOT_INSTALLED : `ansible-playbook could not be started: ${cause.message}`;
}
