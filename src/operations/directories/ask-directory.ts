import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Directory, MatchRules } from '../ports/directory.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { usersWithIdentities } from '../scope/users-with-identities.ts';
import { requireFullView } from '../scope/visibility.ts';
import { type AskedDirectory, readHistory } from './answer-history.ts';
import { compareUsers, type DirectoryComparison } from './compare-users.ts';
import { confirmAbsence } from './confirm-absence.ts';

/**
 * Asks a directory for departed users, compares its answer with the users of the target, and queries each
 * user whose absence the list does not prove. Reads only.
 * @throws TokenctlError `target_misbehaved` for an answer without users, with only new ids, or without a user
 * who certainly exists; `plan_too_large` for one that is much smaller than those of the last day; and
 * whatever the directory and the target throw.
 */
export async function askDirectory(options: {
  readonly directory: Directory;
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries'>;
  readonly now: () => Date;
  readonly signal?: AbortSignal | undefined;
}): Promise<AskedDirectory> {
  const { directory, target, description } = options;
  requireFullView(description, 'A comparison with a directory');
  const { name, rules } = directory;
  const users = await directory.read({ now: options.now(), signal: options.signal });
  const at = options.now();
  if (users.size === 0) {
    throw new TokenctlError(
      'target_misbehaved',
      `The directory ${name} lists no users, so everyone would be gone`,
      { hint: 'Check the account that reads the directory, and its search base or filter.' },
    );
  }
  const history = await readHistory(options.log, { directory: name, users, description, rules, now: at });
  const most = history.listedMost;
  if (most !== null && users.size * 100 < most * (100 - rules.stopBelowPercent)) {
    throw new TokenctlError(
      'plan_too_large',
      `The directory ${name} lists ${users.size} users, more than ${rules.stopBelowPercent} % fewer than the ${most} within the last day`,
      {
        hint: "Check that its response is complete. If it is, raise the directory's `stopBelowPercent` for one run.",
        details: { listed: users.size, before: most, stopBelowPercent: rules.stopBelowPercent },
      },
    );
  }
  const own = description.identity.id;
  const { learned, recognized, replaced, unproven, ...compared } = await compareUsers(
    usersWithIdentities(target),
    { directory: users, rules, own, entries: history.entries },
  );
  // A single replaced user may be a re-created account: it is doubtful.
  if (replaced > 1 && recognized === 0) throw otherIds(name, replaced);
  refuseTooManyGone(compared, { name, rules, before: history.gone });
  const lookUp = (asked: Parameters<Directory['lookUp']>[0]) =>
    directory.lookUp(asked, { now: at, signal: options.signal });
  const confirmed = await confirmAbsence(compared, {
    ...{ name, users, unproven, lookUp },
    before: history.gone,
  });
  const { stopAbovePercent, stopBelowPercent } = rules;
  return {
    answer: {
      directory: name,
      at,
      listed: users.size,
      disabled: users.disabledCount,
      listedBefore: history.listedLast,
      accounts: rules.accounts,
      except: rules.except,
      ...compared,
      ...confirmed,
    },
    learned,
    limits: { stopAbovePercent, stopBelowPercent },
  };
}

/** With another `idAttribute` or directory, users who match nothing by name would look deleted. */
function otherIds(name: string, replaced: number): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `The directory ${name} contains no user with a known ID, but ${replaced} with known names: its IDs have changed`,
    {
      hint: 'If this is a different directory, or `idAttribute` was changed, give it a new name in the configuration.',
    },
  );
}

/** Users who had left a day earlier do not count: that answer was accepted. A single user is allowed. */
function refuseTooManyGone(
  { gone, doubtful, present }: DirectoryComparison,
  { name, rules, before }: { name: string; rules: MatchRules; before: ReadonlySet<number> },
): void {
  const external = gone.length + doubtful.length + present;
  const fresh = gone.filter(({ id }) => !before.has(id)).length;
  if (fresh < 2 || fresh * 100 <= external * rules.stopAbovePercent) return;
  throw new TokenctlError(
    'plan_too_large',
    `According to the directory ${name}, ${fresh} of ${external} external users have left within a day, more than ${rules.stopAbovePercent} %. Nothing was changed`,
    {
      hint: "Check that its response is complete. If it is, raise the directory's `stopAbovePercent` for one run.",
      details: { fresh, external, stopAbovePercent: rules.stopAbovePercent },
    },
  );
}
