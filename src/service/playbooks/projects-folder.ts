import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenctlError } from '../../domain/errors.ts';

/** The folder of the demo project below that of all projects. */
export const DEMO_PROJECT = 'demo_project';
/** The playbook of the demo job template. */
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

/** Puts the demo project where the service looks for projects, unless something is there already. */
async function placeDemoProject(projects: string): Promise<void> {
  const folder = join(projects, DEMO_PROJECT);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(join(folder, DEMO_PLAYBOOK), HELLO, { flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** The folder that holds the folders of the projects, with the playbooks in them. */
interface ProjectsFolder {
  readonly path: string;
  /** Takes it away where it was made for this start only. */
  release(): Promise<void>;
}

/**
 * Opens the projects' folder: the one that is given, `projects` in the data folder, or a temporary one. The
 * demo project is put there unless it is there already.
 *
 * @throws TokenctlError `configuration` where it cannot be written.
 */
export async function openProjects(given: {
  readonly projects?: string | undefined;
  readonly data: string | null;
}): Promise<ProjectsFolder> {
  const kept = given.projects ?? (given.data === null ? null : join(given.data, 'projects'));
  const path = kept ?? (await mkdtemp(join(tmpdir(), 'tokenctl-projects-')));
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await placeDemoProject(path);
  } catch (cause) {
    throw new TokenctlError('configuration', `The projects' folder ${path} cannot be written`, { cause });
  }
  return {
    path,
    release: () => (kept === null ? rm(path, { recursive: true, force: true }) : Promise.resolve()),
  };
}
