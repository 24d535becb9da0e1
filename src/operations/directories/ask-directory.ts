import { TokenctlError } from '../../domain/errors.ts';
import { isSameController, Journal, type JournalOptions } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Directory, MatchRules } from '../ports/directory.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { UserIdentities } from '../ports/target-parts.ts';
import { requireFullView } from '../visibility.ts';
import { type ComparedUser, compareUsers, type DirectoryComparison } from './compare-users.ts';

/** The operation in the audit log that states what a directory answered. */
const DIRECTORY_READ = 'directory.read';

/** What a directory answered, compared with the users of a controller. */
export interface DirectoryAnswer extends DirectoryComparison {
  /** What the configuration calls the directory. */
  readonly directory: string;
  /** When it had answered. */
  readonly at: Date;
  /** How many users it listed. */
  readonly listed: number;
  /** How many of them are disabled. */
  readonly disabled: number;
  /** How many it listed the last time; null if it was not asked before. */
  readonly listedBefore: number | null;
}

/** When a directory was last asked about a controller, as the audit log has it. */
interface LastAnswer {
  readonly directory: string;
  readonly at: Date;
  readonly listed: number;
  /** The ids of the users who were gone. */
  readonly gone: readonly number[];
}

/**
 * Asks a directory who is gone, and compares its answer with the users of the target. Reads only.
 *
 * @throws TokenctlError `target_misbehaved` for an answer without users; `plan_too_large` for one that is suddenly smaller than
 * the last one; and whatever the directory and the target throw.
 */
export async function askDirectory(options: {
  readonly directory: Directory;
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries'>;
  readonly now: () => Date;
  readonly signal?: AbortSignal | undefined;
}): Promise<DirectoryAnswer> {
  const { directory, target, description } = options;
  requireFullView(description, 'A comparison with a directory');
  const { name, rules } = directory;
  const users = await directory.read(options.signal);
  const at = options.now();
  if (users.length === 0) {
    throw new TokenctlError(
      'target_misbehaved',
      `The directory ${name} lists no users: everybody would be gone`,
      {
        hint: 'Check the account that reads it, and its search base or filter.',
      },
    );
  }
  const last = (await lastAnswers(options.log, description)).get(name);
  const before = last?.listed ?? null;
  if (before !== null && users.length * 100 < before * (100 - rules.stopBelowPercent)) {
    throw new TokenctlError(
      'plan_too_large',
      `The directory ${name} lists ${users.length} users, ${before} the last time: it is smaller by more than ${rules.stopBelowPercent} %`,
      {
        hint: 'Check that its answer is complete. If it is, raise `stopBelowPercent` of the directory for one run.',
        details: { listed: users.length, before, stopBelowPercent: rules.stopBelowPercent },
      },
    );
  }
  const identities = new Map<number, UserIdentities>();
  for await (const each of target.users.identities()) identities.set(each.id, each);
  const compared: ComparedUser[] = [];
  for await (const user of target.users.list()) compared.push({ user, identities: identities.get(user.id) });
  const own = description.identity.id;
  const comparison = compareUsers(compared, { directory: users, rules, own });
  refuseTooManyGone(comparison, { name, rules, before: new Set(last?.gone) });
  return {
    directory: name,
    at,
    listed: users.length,
    disabled: users.filter(({ disabled }) => disabled !== null).length,
    listedBefore: before,
    ...comparison,
  };
}

/** Who had left by the last answer does not count: that answer was let through. A single user may always go. */
function refuseTooManyGone(
  { gone, doubtful, present }: DirectoryComparison,
  { name, rules, before }: { name: string; rules: MatchRules; before: ReadonlySet<number> },
): void {
  const external = gone.length + doubtful.length + present;
  const fresh = gone.filter(({ id }) => !before.has(id)).length;
  if (fresh < 2 || fresh * 100 <= external * rules.stopAbovePercent) return;
  throw new TokenctlError(
    'plan_too_large',
    `By the directory ${name}, ${fresh} of ${external} external users have left, more than ${rules.stopAbovePercent} %. Nothing was changed`,
    {
      hint: 'Check that its answer is complete. If it is, raise `stopAbovePercent` of the directory for one run.',
      details: { fresh, external, stopAbovePercent: rules.stopAbovePercent },
    },
  );
}

/**
 * Records what a directory answered, with the evidence for each user who is gone. The next answer is compared with it.
 *
 * @throws TokenctlError `audit_unavailable`
 */
export async function recordAnswer(
  options: Omit<JournalOptions, 'operation'>,
  { directory, at, listed, disabled, gone, doubtful, present }: DirectoryAnswer,
): Promise<void> {
  const journal = new Journal({ ...options, operation: DIRECTORY_READ });
  await journal.note({
    directory,
    answered: at.toISOString(),
    listed,
    disabled,
    present,
    doubtful: doubtful.length,
    gone: gone.map(({ id, username, basis, evidence }) => ({ userId: id, username, basis, evidence })),
  });
}

/** The last answer of each directory about a controller, by the directory's name. */
async function lastAnswers(
  log: Pick<AuditLog, 'entries'>,
  description: Pick<TargetDescription, 'address' | 'installUuid'>,
): Promise<ReadonlyMap<string, LastAnswer>> {
  const answers = new Map<string, LastAnswer>();
  for await (const { kind, data, target } of log.entries(1, { operations: [DIRECTORY_READ] })) {
    if (kind !== 'note' || !isSameController(target, description)) continue;
    const { directory, answered, listed, gone } = data;
    if (typeof directory !== 'string' || typeof listed !== 'number') continue;
    answers.set(directory, {
      directory,
      at: new Date(String(answered)),
      listed,
      gone: Array.isArray(gone) ? gone.map((each) => Number((each as { userId?: unknown }).userId)) : [],
    });
  }
  return answers;
}
