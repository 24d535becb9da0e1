import { realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';

/** Why a job cannot run. The job ends in `error`, and the user who launched it sees the message. */
export class JobProblem extends Error {
  override readonly name = 'JobProblem';
}

/** Why a playbook's path is invalid, or null. It is relative to the project folder. */
export function playbookProblem(playbook: string): string | null {
  if (!/\.ya?ml$/.test(playbook)) return 'The playbook must end with .yml or .yaml.';
  const steps = playbook.split(/[/\\]/);
  const odd = steps.some((step) => ['', '.', '..'].includes(step)) || playbook.includes('\0');
  return odd || isAbsolute(playbook) ? 'The playbook must be a path within the project.' : null;
}

/** The real paths of a playbook and its project. Throws JobProblem if either is missing or the playbook is outside. */
export async function findPlaybook(
  projects: string,
  job: { readonly project_path: string | null; readonly playbook: string },
): Promise<{ readonly folder: string; readonly playbook: string }> {
  if (job.project_path === null || job.project_path === '') {
    throw new JobProblem('The project of this job has no directory.');
  }
  const problem = playbookProblem(job.playbook);
  if (problem !== null) throw new JobProblem(problem);
  const root = await existing(projects, 'the projects folder');
  const folder = await existing(join(root, job.project_path), `the project directory ${job.project_path}`);
  const playbook = await existing(join(folder, job.playbook), `the playbook ${job.playbook}`);
  if (!folder.startsWith(root + sep) || !playbook.startsWith(folder + sep)) {
    throw new JobProblem(`The playbook ${job.playbook} is outside its project directory.`);
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
