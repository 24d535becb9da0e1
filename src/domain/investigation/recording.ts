import { mayHaveNewerRoles } from '../tried-versions.ts';

/** A list of a controller that shows what its activity stream does not record. */
export type OtherSource = 'made' | 'role_assignments' | 'jobs';

/** Something that controllers do not record in their activity stream. */
interface Unrecorded {
  readonly what: string;
  /** The list that shows it nevertheless. */
  readonly shownBy?: OtherSource;
  /** Whether only controllers with the newer roles have it. */
  readonly ofNewerRoles?: true;
}

/** The version on which this was seen. */
const SEEN_ON = '24.6.1';

const UNRECORDED: readonly Unrecorded[] = [
  { what: 'logins' },
  { what: 'uses of tokens' },
  { what: 'reads' },
  { what: 'new webhook keys' },
  { what: 'canceled jobs' },
  { what: 'hosts that were created in bulk', shownBy: 'made' },
  { what: 'credential input sources', shownBy: 'made' },
  { what: 'removed credential input sources' },
  { what: 'which inputs and injectors of credential types were changed' },
  { what: 'credentials and notifications that were added to an inventory source' },
  { what: 'role assignments and role definitions', shownBy: 'role_assignments', ofNewerRoles: true },
  { what: 'removed role assignments', ofNewerRoles: true },
  { what: 'updates of projects and inventories', shownBy: 'jobs' },
  { what: 'management jobs', shownBy: 'jobs' },
  { what: 'what was copied along with a template' },
];

/** What the activity stream of a controller does not have, and which part of it other lists show. */
export interface RecordingGaps {
  /** The version that it was seen on. */
  readonly seenOn: string;
  /** Not recorded, and shown by no list that was read. */
  readonly unknown: readonly string[];
  /** Not recorded, but shown by lists that were read. */
  readonly shown: readonly string[];
  /** Not recorded, and shown by a list that could not be read. */
  readonly unread: readonly string[];
}

/** What a controller is, as far as that decides what it records. */
export interface RecordingController {
  /** Null if unknown. */
  readonly version: string | null;
  /** Whether it has role assignments and definitions; null if only its version tells. */
  readonly hasNewerRoles: boolean | null;
}

/**
 * What an activity stream does not record, by what this version of tokenctl knows of controllers, and by what was read instead.
 *
 * @param read The lists that were read.
 */
export function recordingGaps(
  { version, hasNewerRoles }: RecordingController,
  read: ReadonlySet<OtherSource>,
): RecordingGaps {
  const withRoles = hasNewerRoles ?? mayHaveNewerRoles(version);
  const there = UNRECORDED.filter(({ ofNewerRoles }) => withRoles || ofNewerRoles === undefined);
  const named = (some: readonly Unrecorded[]) => some.map(({ what }) => what);
  return {
    seenOn: SEEN_ON,
    unknown: named(there.filter(({ shownBy }) => shownBy === undefined)),
    shown: named(there.filter(({ shownBy }) => shownBy !== undefined && read.has(shownBy))),
    unread: named(there.filter(({ shownBy }) => shownBy !== undefined && !read.has(shownBy))),
  };
}
