import { mkdir, mkdtemp, open, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';

export const DEMO_PROJECT = 'demo_project';
export const DEMO_PLAYBOOK = 'hello_world.yml';

const HELLO = `---
- name: Greet every host
  hosts: all
  gather_facts: false
  tasks:
    - name: Say hello
      ansible.builtin.debug:
        msg: "Hello from {{ inventory_hostname }}!"
`;

/** Creates the demo project, unless its playbook exists. */
async function placeDemoProject(projects: string): Promise<void> {
  const folder = join(projects, DEMO_PROJECT);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(join(folder, DEMO_PLAYBOOK), HELLO, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** The folder that contains all project folders with their playbooks. */
interface ProjectsFolder {
  readonly path: string;
  /** Removes the folder if it is temporary. */
  release(): Promise<void>;
}

/** Opens the projects folder (given, in the data folder, or temporary) with the demo. Throws `configuration`. */
export async function openProjects(given: {
  projects?: string | undefined;
  data: string | null;
}): Promise<ProjectsFolder> {
  const kept = given.projects ?? (given.data === null ? null : join(given.data, 'projects'));
  const path = kept ?? (await mkdtemp(join(tmpdir(), 'tokenctl-projects-')));
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await placeDemoProject(path);
  } catch (cause) {
    throw new TokenctlError('configuration', `Cannot write to the projects directory ${path}`, {
      cause,
      hint: 'Check its permissions, or choose another directory.',
    });
  }
  return {
    path,
    release: () => (kept === null ? rm(path, { recursive: true, force: true }) : Promise.resolve()),
  };
}

const MAX_FOLDERS = 1_000;

/** The sorted names of the folders in the projects folder, one for each project on this machine. */
export async function projectFolders(projects: string): Promise<readonly string[]> {
  const entries = await readdir(projects, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  return folders
    .map(({ name }) => name)
    .sort()
    .slice(0, MAX_FOLDERS);
}

const MAX_FILES = 2_000;
const MAX_DEPTH = 6;
const READ_BYTES = 64 * 1024;
/** A play, or an import of another playbook. */
const PLAY = /^\s*-?\s*['"]?(?:hosts|(?:ansible\.builtin\.)?import_playbook)['"]?\s*:/m;

/**
 * The sorted paths of the playbooks in a project's folder: YAML files with a play in their first 64 KiB.
 * Looks at no more than 2,000 files and does not follow symbolic links.
 * @param folder The folder's name; empty for none.
 */
export async function playbooksIn(projects: string, folder: string): Promise<readonly string[]> {
  if (!(await projectFolders(projects)).includes(folder)) return [];
  const root = join(projects, folder);
  const found: string[] = [];
  let left = MAX_FILES;
  const look = async (path: string, depth: number): Promise<void> => {
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (left <= 0) return;
      left -= 1;
      const inside = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory() && depth < MAX_DEPTH && !entry.name.startsWith('.'))
        await look(inside, depth + 1);
      else if (entry.isFile() && /\.ya?ml$/.test(entry.name) && PLAY.test(await head(join(root, inside)))) {
        found.push(inside);
      }
    }
  };
  await look('', 1);
  return found.sort();
}

/** Whether a project's folder has a playbook, as {@link playbooksIn} finds them. */
export async function hasPlaybook(
  projects: string,
  { folder, playbook }: { folder: string; playbook: string },
): Promise<boolean> {
  if (!(await projectFolders(projects)).includes(folder)) return false;
  try {
    const path = join(await realpath(projects), folder, playbook);
    return (await realpath(path)) === path && PLAY.test(await head(path));
  } catch {
    return false;
  }
}

async function head(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
