import { openDirectory } from '../../app/open-directory.ts';
import { recordAnswer } from '../../operations/directories/answer-history.ts';
import { askDirectory } from '../../operations/directories/ask-directory.ts';
import type { Directory } from '../../operations/ports/directory.ts';
import { requireMayChange } from '../../operations/scope/visibility.ts';
import { lines } from '../../reports/document.ts';
import { report } from '../../reports/result.ts';
import { notMade, type Planned } from '../change/change.ts';
import {
  answerDocument,
  type OffboardingJson,
  type OffboardingRequest,
  offboardingFlow,
} from './offboarding-flow.ts';

/**
 * Asks a directory who has left, and plans to offboard them like named users. If no one has left, the answer
 * is recorded. Throws as `askDirectory` and {@link offboardingFlow}.
 */
export async function goneUsersFlow(
  request: Omit<OffboardingRequest, 'users' | 'asked'> & { readonly directory: string },
): Promise<Planned<OffboardingJson>> {
  const { runtime, flags, directory: name } = request;
  const { directories } = runtime.configuration;
  const directory: Directory = openDirectory(name, directories, runtime.environment);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  if (!dryRun) requireMayChange(description);
  const clock = await runtime.targetClock();
  const asked = await askDirectory({
    directory,
    description,
    target: await runtime.target(),
    log: await runtime.auditLog(),
    now: () => clock.now(),
  });
  const { answer } = asked;
  if (answer.gone.length > 0) {
    const users = answer.gone.map(({ username }) => username);
    return await offboardingFlow({ ...request, users, asked });
  }
  const json = {
    dryRun,
    plan: null,
    directory: answer,
    ...notMade('users renamed result steps accessPaths staysActive interrupted stopped run'),
  };
  const document = [
    ...answerDocument(answer),
    lines(
      answer.doubtful.length === 0
        ? `According to the directory ${name}, no one has left. Nothing was changed.`
        : `Whether the users in doubt have left is not known. According to the directory ${name}, no other user has left. Nothing was changed.`,
    ),
  ];
  if (dryRun) return report({ json, document });
  return {
    plan: document,
    question: 'unneeded',
    act: async (begin) => await recordAnswer(await begin(), asked),
    ended: () => ({ document }),
    json: () => json,
  };
}
