import { realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { JobProblem } from './job-problem.ts';

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
