import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { Lock, LockdownScope, Measures } from '../../domain/incident/incident.ts';
import type { IncidentHistory } from '../../domain/incident/incident-history.ts';
import {
  endsRun,
  isRefusal,
  type OperationRun,
  type Reading,
  type StepReport,
  type StepResult,
} from '../journal/operation-run.ts';
import type { EntryDraft } from '../ports/audit-log.ts';
import { type KnownUser, usersOf } from '../scope/scope-selection.ts';
import { notPossible } from '../scope/target-parts.ts';

/** Users that share one intent and one outcome in the audit log. */
const USERS_PER_BATCH = 200;

const CONCURRENCY = 8;

export interface UsersStep {
  readonly users: readonly Pick<Lock, 'name' | 'userId' | 'before' | 'locked'>[];
  readonly active: boolean;
  /** Additional data of the entries. */
  readonly common: EntryDraft['data'];
  /** The intent's member for the users: `locks` if an incident will hold them. */
  readonly key: 'locks' | 'users';
}

/**
 * Deactivates or activates users, recorded before and after, in batches; null without users. A failure does
 * not stop the rest. Throws as {@link OperationRun.step}.
 */
export async function setUsers(work: OperationRun, step: UsersStep): Promise<StepReport | null> {
  const { users, active, common, key } = step;
  if (users.length === 0) return null;
  const title = active ? 'Activating users' : 'Deactivating users';
  const parts: StepReport[] = [];
  for (let start = 0; start < users.length; start += USERS_PER_BATCH) {
    const some = users.slice(start, start + USERS_PER_BATCH);
    const act = () => setEach(work, some, active);
    parts.push(await work.step({ name: 'users', title, common, intent: { active, [key]: some }, act }));
  }
  return together(parts);
}

interface Outcomes {
  readonly changed: number[];
  readonly unchanged: number[];
  /** Users that were certainly not changed. */
  readonly refused: number[];
  readonly failed: { readonly id: number; readonly reason: string }[];
}

async function setEach(work: OperationRun, users: UsersStep['users'], active: boolean): Promise<StepResult> {
  const { target, spareLastSuperuser } = work.change;
  const outcomes: Outcomes = { changed: [], unchanged: [], refused: [], failed: [] };
  const waiting = users.values();
  let ending: TokenctlError | null = null;
  const worker = async () => {
    for (const { userId = 0, name } of waiting) {
      if (ending !== null) return;
      try {
        const changed = await target.users.setActive(userId, active, { spareLastSuperuser });
        outcomes[changed ? 'changed' : 'unchanged'].push(userId);
      } catch (error) {
        ending ??= note(outcomes, { id: userId, name, error });
        // A user who has to stay active keeps all access: none of it may be ended.
        if (isLockout(error)) work.stop(error);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  if (ending !== null) throw ending;
  return resultOf(outcomes, users.length, active);
}

/** Notes a user who could not be set. @returns What prevents setting any other; null if nothing does. */
function note(outcomes: Outcomes, { id, name, error }: { id: number; name: string; error: unknown }) {
  if (!(error instanceof TokenctlError)) throw error;
  if (isLockout(error) || (isRefusal(error) && !endsRun(error))) outcomes.refused.push(id);
  outcomes.failed.push({ id, reason: `${name}: ${error.message}` });
  return endsRun(error) ? error : null;
}

function isLockout(error: unknown): error is TokenctlError {
  return error instanceof TokenctlError && error.code === 'lockout_refused';
}

function resultOf(outcomes: Outcomes, users: number, active: boolean): StepResult {
  const { changed, unchanged, failed } = outcomes;
  const [first] = failed;
  const done = active ? 'Activated' : 'Deactivated';
  const more = unchanged.length === 0 ? '' : `, ${numberText(unchanged.length)} already were`;
  const left =
    first === undefined ? '' : ` ${numberText(failed.length)} failed, first error: ${first.reason}.`;
  return {
    result: failed.length > 0 ? 'partly' : changed.length > 0 ? 'done' : 'unchanged',
    message: `${done} ${numberText(changed.length)} of ${numberText(users)} users${more}.${left}`,
    data: { ...outcomes },
  };
}

function together(parts: readonly StepReport[]): StepReport {
  const order = ['failed', 'not_tried', 'partly', 'done', 'unchanged'] as const;
  const result = order.find((each) => parts.some((part) => part.result === each)) ?? 'unchanged';
  const whole = result === 'failed' || result === 'not_tried' ? 'partly' : result;
  return {
    step: 'users',
    result: parts.every((part) => part.result === result) ? result : whole,
    message: parts.map(({ message }) => message).join(' '),
  };
}

/**
 * The locks on users in a scope: those that are active, and those that another incident has deactivated. The
 * caller and the users in `keepActive` are excluded.
 * @throws TokenctlError `unsupported` if the target cannot deactivate users.
 */
export async function userLocks(
  { target, description }: Pick<Reading, 'target' | 'description'>,
  order: { readonly scope: LockdownScope; readonly measures: Measures; readonly history: IncidentHistory },
): Promise<{ locks: readonly Lock[]; kept: readonly string[] }> {
  const { scope, measures, history } = order;
  if (!measures.deactivate) return { locks: [], kept: [] };
  if (!description.capabilities.deactivateUsers) {
    throw notPossible(
      'This target cannot deactivate users',
      'Use a database context, or omit --deactivate. `tokenctl context check` lists missing database permissions.',
    );
  }
  const users = await usersOf(scope, target);
  const { keepActive, keepActiveBound } = measures;
  const keptIds = keepActiveBound?.map(({ id }) => id);
  const keeps = ({ id, username }: KnownUser) =>
    id === description.identity.id || (keptIds?.includes(id) ?? keepActive.includes(username));
  return {
    locks: users
      .filter((user) => !keeps(user))
      .map(({ id, username, isActive }): Lock => {
        return { what: 'user', name: username, userId: id, before: isActive, locked: false };
      })
      .filter((lock) => lock.before === true || history.holdOn(lock) !== null),
    kept: users.filter(keeps).map(({ username }) => username),
  };
}
