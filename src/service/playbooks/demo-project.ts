import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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
export async function placeDemoProject(projects: string): Promise<void> {
  const folder = join(projects, DEMO_PROJECT);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(join(folder, DEMO_PLAYBOOK), HELLO, { flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
