import { defaultPolicy } from '../../src/domain/policy/policy.ts';
import type { JobFiles, JobServices } from '../../src/operations/jobs/job.ts';

/** For jobs that have nothing to do with files: to touch one fails. */
export const unusedFiles: JobFiles = {
  names: () => touched(),
  read: () => touched(),
  replace: () => touched(),
  baseline: () => touched(),
  writeBaseline: () => touched(),
  writeReport: () => touched(),
};

/** For jobs without channels, mail and keys: to ask for them fails. */
export const unusedServices: JobServices = {
  policy: defaultPolicy,
  channels: [],
  ownerNotices: () => refused(),
  notifiers: () => refused(),
  directory: () => Promise.reject(new Error('no directory')),
  store: () => Promise.reject(new Error('no store')),
  polledStreams: () => Promise.reject(new Error('not used')),
  mailer: () => refused(),
  logKeys: () => touched(),
};

function refused(): never {
  throw new Error('this job has nothing to do with this service');
}

function touched(): Promise<never> {
  return Promise.reject(new Error('this job has nothing to do with files'));
}
