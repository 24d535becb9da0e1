import { mayHaveNewerRoles } from '../tried-versions.ts';

/** A list of a controller that shows what its activity stream lacks. */
export type OtherSource = 'made' | 'role_assignments' | 'jobs';

/** Something that a controller's activity stream does not record. */
interface Unrecorded {
  readonly what: string;
  /** The list that shows it anyway. */
  readonly shownBy?: OtherSource;
  /** Whether it exists only on controllers with the newer roles. */
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

/** What a controller's activity stream lacks, and which part of it other lists show. */
export interface RecordingGaps {
  readonly seenOn: string;
  /** Not recorded, and shown by no list that was read. */
  readonly unknown: readonly string[];
  /** Not recorded, but shown by lists that were read. */
  readonly shown: readonly string[];
  /** Not recorded, and shown by a list that could not be read. */
  readonly unread: readonly string[];
}

/** The facts about a controller that decide what it records. */
export interface RecordingController {
  /** Null if unknown. */
  readonly version: string | null;
  /** Whether it has role assignments and definitions; null if only its version can tell. */
  readonly hasNewerRoles: boolean | null;
}

/**
 * What an activity stream does not record, from what this version of tokenctl knows about controllers, and
 * from the lists that were read.
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
