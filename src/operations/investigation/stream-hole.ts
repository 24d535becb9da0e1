import type { ItemDraft } from '../../domain/investigation/collect-items.ts';
import type { InvestigationItem } from '../../domain/investigation/investigation.ts';
import { UNRECORDED_FIELDS, unrecordedField } from '../../domain/investigation/kinds.ts';
import type { MadeUser, MissingNumbers, StreamReach, Window } from '../ports/evidence.ts';
import type { TargetDescription } from '../ports/target.ts';

/** That the activity stream does not have a period in whole. */
export interface StreamHole {
  /** What is missing, as a sentence. */
  readonly text: string;
  /** Whether more than missing numbers shows it: a request that failed also leaves a number without an entry. */
  readonly isEmptied: boolean;
}

/** An account is a little older than the entry of its creation, in milliseconds. */
const MARGIN_MS = 60_000;

/**
 * What is missing of the activity stream in a period; null where nothing is known to be. Only for an account that sees everything: of
 * any other, entries are left out anyway.
 */
export function streamHole({
  extent: { oldest, oldestUser },
  missing,
  users,
  window: { since, until },
  description: { visibility, dialect },
}: {
  readonly extent: StreamReach;
  readonly missing: MissingNumbers | null;
  readonly users: readonly MadeUser[] | null;
  readonly window: Window;
  readonly description: Pick<TargetDescription, 'visibility' | 'dialect'>;
}): StreamHole | null {
  if (visibility.kind !== 'all') return null;
  if (oldest === null) {
    const text = `The activity stream is empty: nothing that was done from ${since.toISOString()} to ${until.toISOString()} was read.`;
    return { text, isEmptied: true };
  }
  const accounts = [oldestUser, ...(users ?? []).filter(({ isRecorded }) => !isRecorded).map(({ at }) => at)];
  // Only a controller records its first account.
  const isOlder =
    dialect === 'controller' &&
    accounts.some((at) => at !== null && at.getTime() < oldest.getTime() - MARGIN_MS);
  // A stream that begins with the first number, and with the first account, is as old as the controller.
  if (oldest > since && (isOlder || (missing !== null && missing.first > 1))) {
    const text = `The activity stream begins at ${oldest.toISOString()}, and the controller is older: nothing that was done in the period before was read.`;
    return { text, isEmptied: true };
  }
  if (missing === null || missing.missing === 0) return null;
  const { first, last } = missing;
  const text = `The activity stream is not whole: ${missing.missing} of the ${last - first + 1} numbers of the period have no entry. What they recorded was not read.`;
  return { text, isEmptied: false };
}

/**
 * The same, where the lists of objects show changes that no entry has: then what is missing was removed.
 *
 * @param drafts With what the lists have.
 */
export function contradicted(hole: StreamHole | null, drafts: readonly ItemDraft[]): StreamHole | null {
  const isShown = drafts.some(
    ({ act, object, entryCount, changes }) =>
      changes.has(UNRECORDED_FIELDS) ||
      (act === 'made' && entryCount === 0 && unrecordedField(object.kind) === null),
  );
  return hole === null || !isShown ? hole : { ...hole, isEmptied: true };
}

/** The item of a stream whose entries were removed. No cleaning ends it; a person says what became of it. */
export function streamItem({ text }: StreamHole, { since, until }: Window): InvestigationItem {
  return {
    id: 'activity_stream:period',
    group: 'ways_in',
    act: 'deleted',
    object: { kind: 'activity_stream', id: null, name: null },
    other: null,
    role: null,
    link: '',
    summary: 'entries of the activity stream in the period were deleted',
    by: [],
    first: since.toISOString(),
    last: until.toISOString(),
    entries: [],
    entryCount: 0,
    state: 'unknown',
    stateReason: `${text} Restore the entries from a backup of the database and investigate again. Without one, check everything that the account could change, and investigate each user who was made in the period.`,
    changes: [],
    changedSince: [],
    job: null,
    findings: [
      {
        rule: 'stream-emptied',
        severity: 'critical',
        message: 'What was done in that time is not known, users and changes of others included.',
      },
    ],
    risk: 'critical',
    remedy: null,
  };
}
