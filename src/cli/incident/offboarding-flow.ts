import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type AccessPath, afterAct, leftOpen, pathNames, uncheckedPaths } from '../../domain/access.ts';
import { amountsOf, isNothing } from '../../domain/plan.ts';
import {
  type AskedDirectory,
  type DirectoryAnswer,
  recordAnswer,
} from '../../operations/directories/answer-history.ts';
import { historyText, namesFailure } from '../../operations/incident/name-history.ts';
import {
  accessPathsOf,
  noteOffboarding,
  offboardUsers,
  planUserOffboarding,
  type UserOffboardingPlan,
  type UserOffboardingReport,
} from '../../operations/incident/offboard-user.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { renamedText } from '../../operations/scope/bound-names.ts';
import { requireMayChange } from '../../operations/scope/visibility.ts';
import { accessParts, notCovered } from '../../reports/access-lines.ts';
import { type Document, lines, list, would } from '../../reports/document.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { countText, printable, timeText } from '../../reports/tables/text.ts';
import { type ChangeRequest, type Ending, notMade, type PlannedChange } from '../change/change.ts';
import { runLine, stepAmount, stepLines, unfinishedWork } from '../change/ending.ts';
import type { ChangeFlags, LocalFlags } from '../flags/flags.ts';
import { planDocument } from '../revocation/revocation-plan.ts';
import { hintForPaths } from './incident-text.ts';
import { localMeasures, localSteps, noRolesText } from './local-access.ts';

/** What `users offboard` prints with `--json`. Without a change, most members of the report are null. */
export interface OffboardingJson extends MaybeMade<UserOffboardingReport> {
  readonly dryRun: boolean;
  /** Null if no one has left according to the directory of --gone. */
  readonly plan: UserOffboardingPlan | null;
  /** The answer of the directory of --gone; absent without it. */
  readonly directory?: DirectoryAnswer;
}

export interface OffboardingRequest extends ChangeRequest<ChangeFlags & LocalFlags> {
  readonly users: readonly string[];
  /** The directory's answer about these users: it is shown, and recorded before anything is done. */
  readonly asked?: AskedDirectory;
}

/** Plans the end of all access of users. Throws as the operations do. */
export async function offboardingFlow(
  request: OffboardingRequest,
): Promise<PlannedChange<UserOffboardingReport, OffboardingJson>> {
  const { runtime, flags } = request;
  const read = await runtime.readTarget();
  const { description } = read;
  const names = [...new Set(request.users)];
  const measures = localMeasures(flags, 'users');
  const plan = await planUserOffboarding({ ...read, users: names, measures });
  const { asked } = request;
  const answer = asked?.answer;
  if (answer !== undefined) requireSame(plan, answer);
  const { users } = plan;
  const local = localSteps(plan.local);
  const nothing =
    isNothing(amountsOf(plan.revocation)) &&
    plan.deactivate.length + local.before.length + local.after.length === 0;
  const [only = ''] = users;
  const isOne = users.length === 1;
  const accessPaths =
    nothing || flags['dry-run'] === true
      ? afterAct(
          plan.revocation.accessPaths,
          await accessPathsOf(plan, {
            ...read,
            settledBy: flags['dry-run'] === true ? undefined : await runtime.auditLog(),
          }),
          read.clock.now(),
        )
      : null;
  const ended = (found: Found) => offboardingEnding(found, { plan, description });
  return {
    plan: [
      ...(answer === undefined ? [] : answerDocument(answer)),
      lines(
        historyText(plan.names),
        plan.deactivate.length > 0 &&
          would`deactivate ${plan.deactivate.map(({ name }) => name).join(', ')}.`,
        plan.staysActive && STAYS_ACTIVE,
        local.before,
        local.after,
        noRolesText(measures, plan.local),
      ),
      ...planDocument(plan.revocation, description),
    ],
    preview: [!isNothing(amountsOf(plan.revocation)) && notCovered(plan.revocation.accessPaths)],
    question: nothing
      ? null
      : {
          act: `end all access of ${isOne ? printable.value(only) : countText(users.length, 'user')}`,
          type: isOne ? only : String(users.length),
        },
    require: () => requireMayChange(description),
    namesSessions: plan.revocation.sessions !== null,
    async nothing() {
      if (asked !== undefined) await recordAnswer(await runtime.change(flags), asked);
      await noteOffboarding({ ...(await runtime.change(flags)), users, bound: plan.bound });
      const ending = ended({ users, accessPaths: accessPaths ?? [] });
      return { ...ending, document: [...(answer ? answerDocument(answer) : []), ...ending.document] };
    },
    async act(begin) {
      const begun = await begin();
      if (asked !== undefined) await recordAnswer(begun, asked);
      return await offboardUsers({ ...begun, plan, spareLastSuperuser: asked !== undefined });
    },
    ended,
    json: ({ dryRun, done }) => ({
      dryRun,
      plan,
      ...(answer && { directory: answer }),
      ...(done ?? {
        ...notMade('users renamed result steps staysActive interrupted stopped run'),
        accessPaths,
      }),
    }),
  };
}

/** Refuses names that belong to another user since the directory was compared. */
function requireSame({ bound }: UserOffboardingPlan, { gone, directory }: DirectoryAnswer): void {
  const ids = new Map(gone.map(({ username, id }) => [username, id]));
  const changed = bound.find(({ name, id }) => ids.get(name) !== id);
  if (changed === undefined && bound.length === gone.length) return;
  throw new TokenctlError(
    'plan_outdated',
    `The users on the controller changed while they were compared with the directory ${directory}`,
    { hint: 'Run it again.' },
  );
}

/** What was found, and what was done about it, if anything. */
type Found = Pick<UserOffboardingReport, 'users' | 'accessPaths'> & Partial<UserOffboardingReport>;

function offboardingEnding(
  { users, renamed = [], accessPaths, steps, interrupted = false, stopped = null, result, run }: Found,
  {
    plan: { staysActive, names },
    description,
  }: { plan: UserOffboardingPlan; description: TargetDescription },
): Ending {
  const isWhole = (steps ?? []).every((step) => step.result === 'done' || step.result === 'unchanged');
  return {
    document: [
      lines(
        closingText(users, accessPaths),
        historyText(names),
        steps === undefined
          ? 'Nothing was changed.'
          : [...stepLines(steps), ...renamedText('user', renamed), ...(staysActive ? [STAYS_ACTIVE] : [])],
      ),
      ...accessParts(accessPaths),
      lines(run !== undefined && runLine(run)),
    ],
    amount: stepAmount(steps ?? []),
    failure:
      unfinishedWork({
        interrupted,
        stopped,
        left: `Some access of ${users.join(', ')} may remain`,
        open: result === undefined ? leftOpen(accessPaths).length > 0 : result === 'partly',
        hint: isWhole ? hintForPaths(accessPaths, { description, staysActive }) : undefined,
      }) ?? namesFailure(names, { ...description, command: 'users offboard' }),
  };
}

const STAYS_ACTIVE =
  'Not deactivated: this target cannot deactivate users. Use a database context or the identity provider.';

/** The verified state of the users' access; the access paths below it say what was not checked. */
function closingText(users: readonly string[], accessPaths: readonly AccessPath[]): string {
  const names = users.join(', ');
  const open = pathNames(leftOpen(accessPaths).filter(({ state }) => state === 'open'));
  const unchecked = pathNames(uncheckedPaths(accessPaths));
  if (accessPaths.every(({ covered }) => !covered)) return `The access of ${names} was not checked.`;
  if (open === '' && unchecked === '') {
    return accessPaths.every(({ covered }) => covered)
      ? `All access of ${names} has ended.`
      : `All access of ${names} that this database shows has ended.`;
  }
  return open === ''
    ? `The access of ${names} was ended as far as this context can check.`
    : `${names} may still have access: ${open}.`;
}

/** The maximum number of doubtful users to list. */
const MAX_DOUBTFUL = 20;

/** The answer of a directory: departed users with the evidence, and doubtful users, who stay. */
export function answerDocument(answer: DirectoryAnswer): Document {
  const { directory, at, listed, disabled, listedBefore, gone, doubtful, present, kept } = answer;
  const before = listedBefore === null ? 'the first answer' : `${listedBefore} the last time`;
  const rest = doubtful.length - MAX_DOUBTFUL;
  return [
    lines(
      `The directory ${directory} listed ${countText(listed, 'user')} (${before}), ${disabled} of them disabled, at ${timeText(at)}.`,
      `External users: ${gone.length} left, ${present} there, ${doubtful.length} in doubt. ${countText(kept, 'other user')} not compared.`,
      gone.length > 0 && 'Users who left, according to the directory:',
      gone.map(({ username, basis, evidence }) => list(`${username}: ${evidence}; matched by ${basis}`)),
      doubtful.length > 0 && 'In doubt, not acted on:',
      doubtful.slice(0, MAX_DOUBTFUL).map(({ username, why }) => list(`${username}: ${why}`)),
      rest > 0 && list(`${countText(rest, 'more', 'more')}; --json lists all.`),
    ),
  ];
}
