import { type ItemDraft, objectText, UNRECORDED_WAY_IN } from '../../domain/investigation/collect-items.ts';
import type { InvestigationItem } from '../../domain/investigation/investigation.ts';
import { isSavedByUsers, UNRECORDED_FIELDS, unrecordedField } from '../../domain/investigation/kinds.ts';
import type { Evidence, MadeUser, MissingNumbers, StreamReach, Window } from '../ports/evidence.ts';
import type { TargetDescription } from '../ports/target.ts';

/** A gap in the activity stream. */
export interface StreamHole {
  /** The gap as a sentence. */
  readonly text: string;
  /** Whether more than missing numbers shows it: a failed request also leaves a number without an entry. */
  readonly isEmptied: boolean;
}

/** The maximum age of an account at the entry of its creation, in milliseconds. */
const MARGIN_MS = 60_000;

/** How long after an object's creation an entry belongs to another request, in milliseconds. */
const SAME_REQUEST_MS = 1000;

/** The stream of a period, and its gaps. */
export interface ReadStream {
  readonly extent: StreamReach;
  readonly missing: MissingNumbers | null;
  /** The users created in the period. */
  readonly users: readonly MadeUser[] | null;
  readonly hole: StreamHole | null;
}

/** Reads the gaps of the stream in a period, using {@link Evidence.missingEntries} since its start. */
export async function readStream(
  evidence: Evidence,
  options: {
    missing: Promise<MissingNumbers | null>;
    window: Window;
    description: Pick<TargetDescription, 'visibility' | 'dialect' | 'credential'>;
  },
): Promise<ReadStream> {
  const { missing, ...asked } = options;
  // Awaited later: until then, its failure must not be an unhandled rejection.
  missing.catch(() => undefined);
  const extent = await evidence.extent(asked.window);
  const users = await evidence.usersMade(asked.window);
  const found = { extent, missing: await missing, users };
  if (asked.description.visibility.kind !== 'all') return { ...found, hole: null };
  return { ...found, hole: streamHole({ ...found, ...asked }) ?? (await endHole(evidence, found, asked)) };
}

/**
 * The gap at the end of a stream, if existing objects are newer than its newest entry. The REST API does not
 * show the last number issued, and an attacker who can write to the database can reset it.
 */
async function endHole(
  evidence: Evidence,
  { extent: { newest, enabled, switched }, users }: Omit<ReadStream, 'hole'>,
  { window: { since, until } }: { window: Window },
): Promise<StreamHole | null> {
  if (newest === null || newest >= until) return null;
  const after = new Date(Math.max(newest.getTime() + SAME_REQUEST_MS, since.getTime()));
  const { objects } = await evidence.madeBy({ since: after, until, by: null });
  const later = [
    ...(users ?? []).flatMap(({ id, username: name, at, isRecorded }) =>
      isRecorded || at < after ? [] : [{ kind: 'user', id, name, at, act: 'created' }],
    ),
    ...objects.flatMap(({ kind, id, name, created, createdBy, modified, modifiedBy }) => {
      if (created >= after)
        return createdBy === null ? [] : [{ kind, id, name, at: created, act: 'created' }];
      return isSavedByUsers(kind) && modifiedBy !== null
        ? [{ kind, id, name, at: modified, act: 'changed' }]
        : [];
    }),
  ];
  const [first] = later.toSorted((one, other) => one.at.getTime() - other.at.getTime());
  if (first === undefined) return null;
  // Entries written in the meantime are visible now.
  const end = (await evidence.extent({ since, until })).newest;
  if (end !== null && end > newest) return null;
  const { act, at, ...object } = first;
  const others = later.length === 1 ? '' : `, and ${later.length - 1} more`;
  const text = `The activity stream ends at ${newest.toISOString()}, but the ${objectText(object)} was ${act} at ${at.toISOString()}${others}. Later actions were not read.`;
  // A request that changes no value saves the object without an entry. A disabled stream has none either.
  const isMade = later.some((each) => each.act === 'created');
  return { text, isEmptied: isMade && enabled !== false && switched === null };
}

/** The gap in the activity stream of a period, by its start and its numbers; null if none is known. */
export function streamHole({
  extent: { oldest, oldestUser },
  missing,
  users,
  window: { since, until },
  description: { dialect, credential },
}: Omit<ReadStream, 'hole'> & {
  window: Window;
  description: Pick<TargetDescription, 'dialect' | 'credential'>;
}): StreamHole | null {
  if (oldest === null) {
    const text = `The activity stream is empty: no actions from ${since.toISOString()} to ${until.toISOString()} were read.`;
    return { text, isEmptied: true };
  }
  const accounts = [oldestUser, ...(users ?? []).filter(({ isRecorded }) => !isRecorded).map(({ at }) => at)];
  // Only a controller records its first account. Over REST it may claim to be the service.
  const mayBeController =
    dialect === 'controller' || (dialect === 'service' && credential !== 'database_role');
  const isOlder =
    mayBeController && accounts.some((at) => at !== null && at.getTime() < oldest.getTime() - MARGIN_MS);
  // A stream that starts with the first number and the first account is as old as the controller.
  if (oldest > since && (isOlder || (missing !== null && missing.first > 1))) {
    const text = `The activity stream starts at ${oldest.toISOString()}, but the controller is older: earlier actions in the period were not read.`;
    return { text, isEmptied: true };
  }
  if (missing === null || missing.missing === 0) return null;
  const { first, last } = missing;
  const text = `The activity stream is incomplete: ${missing.missing} of the ${last - first + 1} IDs in this period have no entry. Their contents were not read.`;
  return { text, isEmptied: false };
}

/**
 * The gap if the lists of objects or users show changes that no entry has: entries were removed.
 * @param drafts With what the lists of objects have.
 */
export function contradicted(
  { hole, users, extent: { oldest } }: ReadStream,
  drafts: readonly ItemDraft[],
): StreamHole | null {
  const isUserShown = (users ?? []).some(
    ({ at, isRecorded }) => !isRecorded && oldest !== null && at >= oldest,
  );
  const isShown =
    isUserShown ||
    drafts.some(
      ({ act, object, entryCount, changes }) =>
        changes.has(UNRECORDED_FIELDS) ||
        (act === 'made' && entryCount === 0 && unrecordedField(object.kind) === null),
    );
  return hole === null || !isShown ? hole : { ...hole, isEmptied: true };
}

/** The item for a stream with removed entries. No cleaning ends it; a person records what happened. */
export function streamItem({ text }: StreamHole, { since, until }: Window): InvestigationItem {
  return {
    ...UNRECORDED_WAY_IN,
    id: 'activity_stream:period',
    act: 'deleted',
    object: { kind: 'activity_stream', id: null, name: null },
    summary: 'entries of the activity stream in the period were deleted',
    by: [],
    first: since.toISOString(),
    last: until.toISOString(),
    state: 'unknown',
    stateReason: `${text} Restore the entries from a backup of the database and investigate again. Without a backup, check everything that the account could change, and investigate each user who was created in the period.`,
    findings: [
      {
        rule: 'stream-emptied',
        severity: 'critical',
        message: 'What was done in that time is not known, including new users and changes by other users.',
      },
    ],
    risk: 'critical',
    remedy: null,
  };
}
