import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenctlError } from '../../domain/errors.ts';

/** The folder of the demo project in the projects folder. */
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

/** Creates the demo project, unless its playbook exists. */
async function placeDemoProject(projects: string): Promise<void> {
  const folder = join(projects, DEMO_PROJECT);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(join(folder, DEMO_PLAYBOOK), HELLO, { flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** The folder with the folders of all projects and their playbooks. */
interface ProjectsFolder {
  readonly path: string;
  /** Removes the folder if it is temporary. */
  release(): Promise<void>;
}

/**
 * Opens the projects folder (the given one, `projects` in the data folder, or a temporary one) and creates the
 * demo project in it.
 *
 * @throws TokenctlError `configuration` if it is not writable.
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
    throw new TokenctlError('configuration', `Cannot write to the projects folder ${path}`, {
      cause,
      hint: 'Check its permissions, or choose another folder.',
    });
  }
  return {
    path,
    release: () => (kept === null ? rm(path, { recursive: true, force: true }) : Promise.resolve()),
  };
}
