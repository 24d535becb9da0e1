import { standbyText } from '../../domain/claims.ts';
import { clockText } from '../../domain/clock-difference.ts';
import type { NameChange } from '../../domain/investigation/deed.ts';
import type {
  Actor,
  BeforeToken,
  EvidenceLimit,
  Investigation,
  InvestigationItem,
  InvestigationSubject,
  NamelessEntries,
} from '../../domain/investigation/investigation.ts';
import { nounsOf } from '../../domain/investigation/kinds.ts';
import { type OtherSource, recordingGaps } from '../../domain/investigation/recording.ts';
import type { MadeUser, MissingNumbers, StreamReach, Window } from '../ports/evidence.ts';
import type { TargetDescription } from '../ports/target.ts';
import type { FollowedChain } from './follow-chain.ts';
import { namelessText } from './unknowns.ts';

export interface ReadEvidence {
  readonly description: Pick<
    TargetDescription,
    | 'visibility'
    | 'identity'
    | 'version'
    | 'dialect'
    | 'capabilities'
    | 'components'
    | 'context'
    | 'address'
    | 'standby'
    | 'clock'
    | 'sessionCache'
  >;
  readonly subject: InvestigationSubject;
  /** What the start of the period is. */
  readonly begins: Investigation['begins'];
  readonly chain: Pick<FollowedChain, 'members'>;
  /** The work from before the stolen token was created. */
  readonly beforeToken?: BeforeToken | undefined;
  readonly items: readonly InvestigationItem[];
  readonly window: Window;
  readonly extent: StreamReach;
  readonly names: readonly NameChange[];
  /** Number of entries without an actor; null if there are more than can be counted. */
  readonly withoutActor: number | null;
  /** Users created in the period; null if they could not be listed. */
  readonly users: readonly MadeUser[] | null;
  readonly missingEntries: MissingNumbers | null;
  readonly missingJobs: MissingNumbers | null;
  /** The kinds of objects whose lists could not be read. */
  readonly unreadKinds: readonly string[];
  /** The kinds of objects whose entries could not be listed. */
  readonly unreadSince: readonly string[];
  /** Number of role assignments without a known author; `unread`: unreadable; `absent`: there is no list. */
  readonly roles: { readonly unattributed: number } | 'unread' | 'absent';
  readonly sessionsListed: boolean;
  /** Users deleted since, one of whom may have had its password set. */
  readonly passwordsOf: readonly Actor[];
  /** The limits that were reached, as the beginnings of sentences. */
  readonly bounds: readonly string[];
}

export type Limits = readonly (EvidenceLimit | false)[];

/** What an investigation cannot know, given what was read and what a controller of this version records. */
export function limitsOf(found: ReadEvidence): EvidenceLimit[] {
  const all = [
    ...streamLimits(found),
    ...actorLimits(found),
    ...recordingLimits(found),
    ...tokenLimits(found),
    ...found.bounds.map((text) => limit('bound_reached', `${text}: the rest was not read.`)),
    ...listLimits(found),
  ];
  return all.filter((each) => each !== false);
}

export function limit(name: EvidenceLimit['limit'], text: string): EvidenceLimit {
  return { limit: name, text };
}

/** The requested token is gone, and only the incident says who owned it. */
export function unknownTokenLimit(token: number, subject: InvestigationSubject): EvidenceLimit {
  const whose = subject.kind === 'user' ? subject.name : 'the owner';
  return limit(
    'token_unknown',
    `Access token ${token} does not exist, and no entry shows its owner or when it was created. According to the incident, which was not checked, it belonged to ${whose}. All actions of ${whose} in this period are included.`,
  );
}

/** Number of entries without an actor; none if there are none. */
export function namelessLimit(entries: NamelessEntries): EvidenceLimit | false {
  return entries.count !== 0 && { ...limit('no_actor', namelessText(entries)), entries };
}

/** How far back the activity stream goes, and what is missing from it. */
function streamLimits({ extent, window, users, missingEntries }: ReadEvidence): Limits {
  const { enabled, oldest, switched } = extent;
  const isCut = oldest === null || oldest > window.since;
  const before = (users ?? []).filter(
    ({ at, isRecorded }) => !isRecorded && (oldest === null || at < oldest),
  );
  const names = before.map(({ username, isSuperuser }) => `${username}${isSuperuser ? ' (superuser)' : ''}`);
  return [
    enabled === false &&
      limit('stream_off', 'The activity stream is currently off, so later actions are not recorded.'),
    limit(
      'stream_off',
      switched === null
        ? 'Not checked: whether the activity stream was on the whole time. Controller 24.6.1 does not record every change of this setting.'
        : `The setting ACTIVITY_STREAM_ENABLED was changed at ${switched.toISOString()} or later. Nothing was recorded while it was off.`,
    ),
    isCut &&
      limit(
        'stream_pruned',
        `The activity stream has no entries before ${oldest?.toISOString() ?? 'now'}, so earlier actions are not known.${names.length === 0 ? '' : ` Users created earlier in the period: ${names.join(', ')}.`}`,
      ),
    ...missingEntryLimits(missingEntries),
  ];
}

export function missingEntryLimits(found: MissingNumbers | null): Limits {
  if (found === null)
    return [limit('entries_missing', 'Not checked: whether entries of the activity stream were deleted.')];
  const { first, last, missing, isEndKnown } = found;
  return [
    missing > 0 &&
      limit(
        'entries_missing',
        `${missing} of the ${last - first + 1} IDs from ${first} to ${last} have no entry in the activity stream. The entries were deleted or never stored. Failed requests and database crashes also leave such gaps. Their contents are not known.`,
      ),
    !isEndKnown &&
      limit(
        'entries_missing',
        'Not checked: whether the newest entries of the activity stream were deleted. This context does not show the last ID that was assigned.',
      ),
  ];
}

function actorLimits({ withoutActor, subject, names, chain, description }: ReadEvidence): Limits {
  return [
    namelessLimit({
      ...{ count: withoutActor, lack: 'actor' },
      why: 'Management commands, token endpoints and the controller itself create such entries. Direct SQL creates no entries. Over REST, a change to is_system_auditor has no actor.',
    }),
    ...renamed(subject, { names, chain }),
    limit('clock', clockText(description) ?? "Times are from the controller's clock."),
    notSeen(description),
  ];
}

/** What the account cannot see; and that a standby of a database shows an earlier state. */
export function notSeen(description: ReadEvidence['description']): EvidenceLimit | false {
  const { visibility, identity } = description;
  if (visibility.kind === 'all') return false;
  const standby = standbyText(description);
  return limit(
    'visibility',
    standby === null
      ? `${identity.username} can see only ${visibility.users}. The activity stream omits what this account cannot see.`
      : `${standby}. Items shown as remaining may no longer exist on the primary, and later actions are not listed.`,
  );
}

/** Who had the subject's name, and when. */
export function renamed(
  subject: InvestigationSubject,
  { names, chain }: Pick<ReadEvidence, 'names' | 'chain'>,
): EvidenceLimit[] {
  const followed = chain.members.flatMap(({ how, user }) => (how === 'subject' ? [user] : []));
  const isSame = names.every(
    ({ userId, from, to }) => userId === names[0]?.userId && (from === null || to === null),
  );
  if ((isSame && followed.length === 1) || subject.kind !== 'user') return [];
  const { name } = subject;
  const what = names.map(({ at, userId, from, to }) => {
    const who = userId === null ? DELETED : `user ${userId}`;
    const then = `at ${at.toISOString()}`;
    if (from === null) return `${who} was created with it ${then}`;
    if (to === null) return `${who} was deleted ${then}`;
    return from === name
      ? `${who} gave it up ${then} and became ${to}`
      : `${who} (formerly ${from}) got it ${then}`;
  });
  const ids = new Set(names.flatMap(({ userId }) => userId ?? []));
  for (const { id } of followed) ids.delete(id ?? 0);
  const whom = followed.map(({ id }) => (id === null ? DELETED : `user ${id}`)).join(' and ');
  const text = [
    `The name ${name} did not always belong to the same user${what.length === 0 ? '' : `: ${what.join('; ')}`}.`,
    `This investigation follows ${whom}.`,
    ...(ids.size === 0 ? [] : [`Not included: the actions of user ${[...ids].join(', ')} under this name.`]),
  ];
  return [limit('renamed', text.join(' '))];
}

const DELETED = 'a user who has since been deleted';

/** What the activity stream does not record, except what the lists that were read show. */
function recordingLimits({ description, unreadKinds, roles, missingJobs }: ReadEvidence): Limits {
  const { version } = description;
  const sources: Readonly<Record<OtherSource, boolean>> = {
    made: unreadKinds.length === 0,
    role_assignments: typeof roles === 'object',
    jobs: true,
  };
  const read = (Object.keys(sources) as OtherSource[]).filter((source) => sources[source]);
  const hasNewerRoles = roles === 'unread' ? null : roles !== 'absent';
  const gaps = recordingGaps({ version, hasNewerRoles }, new Set(read));
  return [
    limit(
      'not_recorded',
      `${recorderText(gaps.seenOn, description)} does not record: ${gaps.unknown.join(', ')}.`,
    ),
    gaps.shown.length > 0 &&
      limit(
        'not_recorded',
        `These are not recorded either, and were read from other lists instead: ${gaps.shown.join(', ')}. The lists show what exists now and who created it or changed it last, but not what was deleted.`,
      ),
    gaps.unread.length > 0 &&
      limit(
        'not_listed',
        `Not checked: ${gaps.unread.join(', ')}. The activity stream does not record them${
          unreadKinds.length === 0
            ? ', and this context cannot list them'
            : `. Recorded actions are included, also for ${unreadKinds.map(nounsOf).join(', ')}, but this context has no list of them that shows who created each. An investigation with another context of this controller may include them`
        }.`,
      ),
    ...missingJobLimits(missingJobs),
  ];
}

function recorderText(seenOn: string, { version, dialect }: ReadEvidence['description']): string {
  if (dialect === 'service') return `Controller ${seenOn}, whose behavior this service follows,`;
  if (version === seenOn) return `A controller ${seenOn}`;
  const own =
    version === null ? 'the version was not read' : `this is ${version}, on which it was not tested`;
  return `Controller ${seenOn} (${own})`;
}

const LOST_JOBS =
  'The activity stream has no entries about deleted project and inventory updates and deleted management jobs, so it is not known who launched them.';

function missingJobLimits(found: MissingNumbers | null): Limits {
  if (found === null)
    return [limit('jobs_missing', `Not checked: whether records of jobs were deleted. ${LOST_JOBS}`)];
  const { first, last, missing, isEndKnown } = found;
  return [
    missing > 0 &&
      limit(
        'jobs_missing',
        `${missing} of the ${last - first + 1} job IDs from ${first} to ${last} have no record: ${first === 1 ? 'some may be from before the period; ' : ''}records were deleted, or were never stored. ${LOST_JOBS}`,
      ),
    !isEndKnown &&
      limit(
        'jobs_missing',
        `Not checked: whether the newest job records were deleted. This context does not show the last ID that was assigned. ${LOST_JOBS}`,
      ),
  ];
}

/** What is unknown about who did what. */
export function tokenLimits(found: ReadEvidence): Limits {
  const { chain, items, begins, passwordsOf } = found;
  const shared = chain.members.filter(({ how }) => how === 'password_set').map(({ user }) => user.username);
  const lost = items.filter(({ object }) => object.id === null && object.kind !== 'session').length;
  return [
    begins !== 'given' &&
      limit(
        'honest_work',
        "The start of the incident was not specified, so the user's actions before it are included. Add --since WHEN.",
      ),
    limit('token_unknown', includedText(found)),
    shared.length > 0 &&
      limit(
        'token_unknown',
        `The password of ${shared.join(', ')} was changed. Their actions since then may be their own work, or the actor's.`,
      ),
    lost > 0 &&
      limit(
        'links_lost',
        `${lost === 1 ? '1 item is about an object that was' : `${lost} items are about objects that were`} since deleted: the activity stream no longer says which.`,
      ),
    passwordsOf.length > 0 &&
      limit(
        'links_lost',
        `The password of a user who has since been deleted was changed. The activity stream no longer says which user. Deleted since then: ${passwordsOf.map(({ id, username }) => (id === null ? username : `${username} (${id})`)).join(', ')}. Their actions are not included. Investigate each of them with --user NAME.`,
      ),
  ];
}

/** Whose actions are included in full, and since when: who performed them is unknown. */
function includedText({ subject, chain, window, beforeToken }: ReadEvidence): string {
  if (subject.kind === 'user')
    return `The activity stream names users, not tokens. It is not known which token or password was used for an action. All actions of ${subject.name} in the period are included, including the owner's own work.`;
  if (subject.kind === 'token') {
    const made =
      beforeToken === undefined
        ? 'in the period'
        : `since ${beforeToken.madeAt}, when the token was created,`;
    const included = `The activity stream names users, not tokens. All actions of ${subject.user} ${made} are included, including the owner's own work.`;
    return beforeToken === undefined ? included : `${included} ${beforeText(beforeToken)}`;
  }
  const late = chain.members.filter(({ how, since }) => how === 'subject' && since > window.since);
  const included =
    'The activity stream names users, not tokens. All actions of the owners in the period are included, including their own work';
  if (late.length === 0) return `${included}.`;
  const since = late.map(({ user, since: from }) => `${user.username} before ${from.toISOString()}`);
  return `${included}, starting with each owner's oldest existing token of the application. Not included: actions of ${since.join(', ')}. A deleted token may be older. Investigate these users with --user NAME.`;
}

/** The state of the items from before the token. */
function beforeText({ items, isWhole }: BeforeToken): string {
  const before = `Earlier actions in the period are considered the owner's own work, and listed separately: ${items.length} ${items.length === 1 ? 'item' : 'items'}.`;
  return isWhole ? before : `${before} There were more actions than are listed.`;
}

/** The kinds of objects whose entries could not be listed. */
export function unreadSinceLimit(kinds: ReadEvidence['unreadSince']): EvidenceLimit | false {
  const text = `Not checked: whether anyone else has changed the ${kinds.map(nounsOf).join(', ')} since then. The target refused to list the entries about them.`;
  return kinds.length > 0 && limit('not_listed', text);
}

/** What other lists omit, or this context cannot list. */
function listLimits({ items, roles, users, sessionsListed, unreadSince }: ReadEvidence): Limits {
  const unattributed = typeof roles === 'object' ? roles.unattributed : 0;
  return [
    items.some(({ object }) => object.kind === 'workflow_job') &&
      limit(
        'not_listed',
        'Workflow jobs start other jobs. Jobs from templates that the actor neither created nor changed are not listed.',
      ),
    unattributed > 0 &&
      limit(
        'no_actor',
        `${unattributed} role assignments in this period have no creator: the user was deleted, or the controller created them. List them at /api/v2/role_user_assignments/?created_by__isnull=true and role_team_assignments/.`,
      ),
    unreadSinceLimit(unreadSince),
    users === null &&
      limit('not_listed', 'Not checked: users who were created without an entry in the activity stream.'),
    !sessionsListed &&
      limit(
        'not_listed',
        'Not checked: sessions, refresh tokens and authorization codes. The REST API does not list them.',
      ),
  ];
}
