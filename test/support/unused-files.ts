import type { JobFiles } from '../../src/operations/jobs/job.ts';

/** For jobs that have nothing to do with files: to touch one fails. */
export const unusedFiles: JobFiles = {
  names: () => touched(),
  read: () => touched(),
  replace: () => touched(),
  baseline: () => touched(),
  writeBaseline: () => touched(),
  writeReport: () => touched(),
};

function touched(): Promise<never> {
  return Promise.reject(new Error('this job has nothing to do with files'));
}
