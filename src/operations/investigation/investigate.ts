import { remedyOf } from '../../domain/investigation/cleaning.ts';
import { type ItemDraft, summaryOf } from '../../domain/investigation/collect-items.ts';
import { type Rename, readDeed, type StreamEntry } from '../../domain/investigation/deed.ts';
import type {
  Actor,
  EvidenceLimit,
  Investigation,
  InvestigationItem,
  InvestigationSubject,
  LaterChange,
  UnattributedEntry,
} from '../../domain/investigation/investigation.ts';
import { itemGroups } from '../../domain/investigation/investigation.ts';
import { stateOf } from '../../domain/investigation/item-state.ts';
import { findingsOn } from '../../domain/investigation/risk.ts';
import { severities } from '../../domain/policy/rule.ts';
import type { Clock } from '../ports/clock.ts';
import type { Evidence, StreamReach, Window } from '../ports/evidence.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { type AssignedRoleItems, assignedRoleItems } from './assigned-roles.ts';
import { type FollowedChain, followChain } from './follow-chain.ts';
import { readCircumstances } from './read-circumstances.ts';
import { jobItems } from './read-jobs.ts';
import { remainingAccess } from './remaining-access.ts';
import { resolvedBefore, resolveSubject, type SubjectRequest } from './resolve-subject.ts';

export interface InvestigationOptions extends SubjectRequest {
  readonly target: Target;
  readonly evidence: Evidence;
  readonly description: TargetDescription;
  readonly clock: Clock;
  /** From this instant; by default from the creation of the token or application, or 30 days ago. */
  readonly since?: Date | undefined;
  /** Before this instant; by default now. */
  readonly until?: Date | undefined;
  /** The incident that it belongs to. */
  readonly incident?: string | null;
  /** An investigation to repeat: whose deeds, and when, are taken from it. */
  readonly repeats?: Investigation | undefined;
}

/** How far back a user is investigated by default, in milliseconds. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;
/** How many entries without an actor are named. */
const MAX_UNATTRIBUTED = 500;
const TOKEN = 'o_auth2_access_token';
/** Entries about these are named where they have no actor: they are about access. */
const ACCESS_KINDS: ReadonlySet<string> = new Set([
  ...['user', 'o_auth2_access_token', 'o_auth2_application', 'setting', 'credential', 'team', 'role'],
]);

/**
 * Finds out what a user, or who had a token or an application's tokens, did in a period; what was done by users that they made; what
 * remains of it; and what cannot be known. Reads only.
 *
 * @throws TokenctlError `not_found` for an unknown user, token or application, `permission_refused`, and as the target does.
 */
export async function investigate(options: InvestigationOptions): Promise<Investigation> {
  const { target, evidence, description, clock, incident = null } = options;
  const now = clock.now();
  const { repeats } = options;
  const until = repeats === undefined ? (options.until ?? now) : new Date(repeats.until);
  const searched = { since: options.since ?? new Date(until.getTime() - DEFAULT_PERIOD_MS), until };
  const found =
    repeats === undefined
      ? await resolveSubject({ target, evidence, ...searched }, options)
      : resolvedBefore(repeats);
  const since = options.since ?? found.since ?? searched.since;
  const window = { since, until };
  const chain = await followChain(evidence, {
    ...window,
    subjects: found.actors.map((actor) => ({
      user: actor.user,
      since: actor.since === null || actor.since < since ? since : actor.since,
    })),
    existing: (users) => existingUsers(evidence, users),
  });
  const drafts = await withRoles(evidence, chain.items.drafts());
  const circumstances = await readCircumstances(evidence, { drafts, chain, description });
  const context = description.context;
  const items = drafts
    .filter((draft) => draft.group !== 'ran')
    .map((draft) => itemOf(draft, { ...circumstances.of(draft), context }));
  const ran = await jobItems(evidence, { drafts, items, chain, window, context });
  const roles = await assignedRoleItems(evidence, { chain, items, window, context });
  const access = await remainingAccess(target, { chain, items, window, description });
  const all = [...items, ...ran.items, ...roles.items, ...access.items].sort(byGroupAndRisk);
  const missing = await evidence.withoutActor(window);
  const extent = await evidence.extent(window);
  const unattributed = unattributedEntries(missing.some);
  const present = await existingUsers(
    evidence,
    chain.members.map(({ user }) => user),
  );
  return {
    format: 'tokenctl-investigation',
    version: 1,
    madeAt: now.toISOString(),
    target: {
      ...{ context, address: description.address, installUuid: description.installUuid },
      ...{ dialect: description.dialect, version: description.version },
    },
    as: description.identity.username,
    visibility: description.visibility,
    incident,
    subject: found.subject,
    since: since.toISOString(),
    until: until.toISOString(),
    chain: chain.members.map((member) => ({
      ...member,
      since: member.since.toISOString(),
      exists:
        member.user.id !== null && present.has(member.user.id)
          ? true
          : description.visibility.kind === 'all'
            ? false
            : null,
    })),
    items: all,
    mayHaveRead: mayHaveRead(all),
    unattributed: await withOwners(evidence, unattributed.slice(0, MAX_UNATTRIBUTED)),
    unattributedCount: unattributed.length,
    stream: {
      enabled: extent.enabled,
      oldest: extent.oldest?.toISOString() ?? null,
      read: chain.read,
      withoutActor: missing.count,
    },
    limits: limitsOf({
      ...{ description, chain, window, extent, access, roles, items: all, subject: found.subject },
      renames: found.renames ?? [],
      ...{ withoutActor: missing.count, jobsBound: ran.isBounded, bounded: circumstances.isBounded },
    }),
  };
}

/** The entries about access among those without an actor, newest first. */
function unattributedEntries(entries: readonly StreamEntry[]): UnattributedEntry[] {
  return entries.flatMap((entry) => {
    const deed = readDeed(entry);
    if (deed === null || !ACCESS_KINDS.has(deed.object.kind)) return [];
    const { id, at, operation, object, changes } = deed;
    const fields = operation === 'update' ? Object.keys(changes) : [];
    return [{ entry: id, at: at.toISOString(), operation, object, owner: null, fields }];
  });
}

/** Names the owners of the tokens: entries of the token endpoints have no user. */
async function withOwners(
  evidence: Evidence,
  entries: readonly UnattributedEntry[],
): Promise<UnattributedEntry[]> {
  const ids = entries.flatMap(({ object: { kind, id } }) => (kind === TOKEN && id !== null ? [id] : []));
  const tokens = ids.length === 0 ? null : await evidence.objects(TOKEN, [...new Set(ids)]);
  const ownerOf = ({ object: { kind, id } }: UnattributedEntry): number | null => {
    const user = kind === TOKEN && id !== null ? tokens?.get(id)?.fields['user'] : null;
    return typeof user === 'number' ? user : null;
  };
  const owners = [...new Set(entries.map(ownerOf).filter((id) => id !== null))];
  const users = owners.length === 0 ? null : await evidence.objects('user', owners);
  return entries.map((entry) => ({ ...entry, owner: users?.get(ownerOf(entry) ?? 0)?.name ?? null }));
}

/** The users that there are, by id with their names: a user may have been renamed, and another one may have its name now. */
async function existingUsers(
  evidence: Evidence,
  users: readonly Actor[],
): Promise<ReadonlyMap<number, string>> {
  const named = new Map(users.flatMap(({ id, username }) => (id === null ? [] : [[id, username]])));
  const found = named.size === 0 ? new Map() : await evidence.objects('user', [...named.keys()]);
  if (found === null) return named;
  return new Map([...found].map(([id, { name }]) => [id, name ?? named.get(id) ?? '']));
}

/** Names the roles that entries name by number only. */
async function withRoles(evidence: Evidence, drafts: readonly ItemDraft[]): Promise<ItemDraft[]> {
  const ids = drafts.flatMap(({ role }) => (role?.id == null || role.field !== null ? [] : [role.id]));
  const roles = ids.length === 0 ? null : await evidence.roles([...new Set(ids)]);
  return drafts.map((draft) => {
    const found = draft.role?.id == null ? undefined : roles?.get(draft.role.id);
    if (found === undefined || draft.role === null) return draft;
    const field = draft.role.field ?? found.field;
    return {
      ...draft,
      role: { ...draft.role, field },
      other: draft.other?.id == null ? found.about : draft.other,
    };
  });
}

/** An item, with what was found about it. */
function itemOf(
  draft: ItemDraft,
  found: {
    readonly now: Parameters<typeof stateOf>[1];
    readonly later: readonly LaterChange[];
    readonly context: string;
  },
): InvestigationItem {
  const { id, group, act, object, other, role, link, by, first, last, entries, entryCount } = draft;
  const findings = findingsOn(draft);
  const item: InvestigationItem = {
    ...{ id, group, act, object, other, role, link, by, entries, entryCount, findings },
    summary: summaryOf(draft),
    first: first.toISOString(),
    last: last.toISOString(),
    ...stateOf(draft, found.now, found.later),
    changedSince: found.later,
    job: null,
    risk: findings[0]?.severity ?? null,
    remedy: null,
  };
  return { ...item, remedy: remedyOf(item, found.context) };
}

function byGroupAndRisk(a: InvestigationItem, b: InvestigationItem): number {
  const rank = ({ risk }: InvestigationItem) => (risk === null ? -1 : severities.indexOf(risk));
  return (
    itemGroups.indexOf(a.group) - itemGroups.indexOf(b.group) ||
    rank(b) - rank(a) ||
    a.first.localeCompare(b.first) ||
    a.id.localeCompare(b.id)
  );
}

/** What the log of a controller cannot show. */
function mayHaveRead(items: readonly InvestigationItem[]): string[] {
  const credentials = new Set(items.flatMap(({ job }) => job?.credentials ?? []));
  const ran = items.filter(({ group }) => group === 'ran').length;
  return [
    'A controller records no reads: what was read of settings, inventories, variables and job output is not known.',
    ...(ran === 0
      ? []
      : [
          `Code ran in ${ran} ${ran === 1 ? 'job' : 'jobs'}: it could read what the hosts and the job's files hold.`,
        ]),
    ...(credentials.size === 0
      ? []
      : [`These jobs used credentials, which their code could read: ${[...credentials].sort().join(', ')}.`]),
  ];
}

/** Whose name the name of the subject was, and when. */
function renamed(
  subject: InvestigationSubject,
  { renames, chain }: { readonly renames: readonly Rename[]; readonly chain: FollowedChain },
): EvidenceLimit[] {
  if (renames.length === 0 || subject.kind !== 'user') return [];
  const { name } = subject;
  const ids = chain.members.filter(({ how }) => how === 'subject').map(({ user }) => user.id);
  const what = renames.map(({ at, userId, from, to }) =>
    from === name
      ? `user ${userId} gave it up at ${at.toISOString()} and became ${to}`
      : `user ${userId} (${from} before) got it at ${at.toISOString()}`,
  );
  const others = [...new Set(renames.map(({ userId }) => userId))].filter((id) => !ids.includes(id));
  const text = `The name ${name} was not always the same user's: ${what.join('; ')}. This investigation follows user ${ids.join(', ')}.${
    others.length === 0 ? '' : ` Not included: what user ${others.join(', ')} did under this name.`
  }`;
  return [{ limit: 'renamed', text }];
}

function limitsOf(found: {
  readonly description: TargetDescription;
  readonly chain: FollowedChain;
  readonly window: Window;
  readonly extent: StreamReach;
  readonly access: { readonly sessionsListed: boolean };
  readonly roles: AssignedRoleItems;
  readonly items: readonly InvestigationItem[];
  readonly subject: InvestigationSubject;
  readonly renames: readonly Rename[];
  readonly withoutActor: number | null;
  readonly jobsBound: boolean;
  readonly bounded: boolean;
}): EvidenceLimit[] {
  const { description, chain, window, extent, subject, withoutActor, items } = found;
  const limit = (name: EvidenceLimit['limit'], text: string): EvidenceLimit => ({ limit: name, text });
  const shared = chain.members.filter(({ how }) => how === 'password_set').map(({ user }) => user.username);
  const lost = items.filter(({ object }) => object.id === null && object.kind !== 'session').length;
  return [
    ...(extent.enabled === false
      ? [limit('stream_off', 'The activity stream is off now: later deeds are not recorded.')]
      : []),
    limit(
      'stream_off',
      extent.switched === null
        ? 'Not checked: whether the activity stream was on all the time. A controller 24.6.1 does not always record that it was switched off, and not that it was switched on.'
        : `The setting ACTIVITY_STREAM_ENABLED was changed at ${extent.switched.toISOString()} or later: nothing was recorded while it was off.`,
    ),
    ...(extent.oldest === null || extent.oldest > window.since
      ? [
          limit(
            'stream_pruned',
            `The activity stream has no entries before ${extent.oldest?.toISOString() ?? 'now'}: what was done earlier is not known.`,
          ),
        ]
      : []),
    ...(withoutActor === 0
      ? []
      : [
          limit(
            'no_actor',
            `${withoutActor === null ? 'More than 2,000' : withoutActor} entries in the period have no actor: management commands, token endpoints and the controller itself write such entries, and changes of is_system_auditor over REST. Direct SQL writes none.`,
          ),
        ]),
    ...renamed(subject, found),
    limit('clock', 'Times are those of the controller.'),
    ...(description.visibility.kind === 'all'
      ? []
      : [
          limit(
            'visibility',
            `${description.identity.username} sees only ${description.visibility.users}: the activity stream leaves out what this account may not see.`,
          ),
        ]),
    limit(
      'not_recorded',
      'A controller 24.6.1 does not record: logins, uses of tokens, reads, new webhook keys, cancelled jobs, hosts that were created in bulk, credentials and notifications that were added to an inventory source, removed role assignments, and what was copied together with a template.',
    ),
    ...(subject.kind === 'user'
      ? []
      : [
          limit(
            'token_unknown',
            'The activity stream names users, not tokens: everything that the owners did in the period is included.',
          ),
        ]),
    ...(shared.length === 0
      ? []
      : [
          limit(
            'token_unknown',
            `The password of ${shared.join(', ')} was set: what they did since may be their own work, or the actor's.`,
          ),
        ]),
    ...(lost === 0
      ? []
      : [
          limit(
            'links_lost',
            `${lost === 1 ? '1 item is about an object that was' : `${lost} items are about objects that were`} deleted since: the activity stream no longer says which.`,
          ),
        ]),
    ...[
      ...chain.bounds,
      ...(found.jobsBound ? ['More jobs ran than are listed'] : []),
      ...(found.bounded ? ['More was changed since than was read'] : []),
    ].map((text) => limit('bound_reached', `${text}: the rest was not read.`)),
    ...(items.some(({ object }) => object.kind === 'workflow_job')
      ? [
          limit(
            'not_listed',
            'Workflow jobs start other jobs. Those from templates that the actor neither made nor changed are not listed.',
          ),
        ]
      : []),
    ...(found.roles.unattributed === null
      ? [
          limit(
            'not_listed',
            'Not checked: role assignments, which the activity stream does not record. This context cannot list them.',
          ),
        ]
      : []),
    ...(found.roles.unattributed
      ? [
          limit(
            'no_actor',
            `${found.roles.unattributed} role assignments of the period do not name who made them: the user was deleted, or the controller made them. List them at /api/v2/role_user_assignments/?created_by__isnull=true and role_team_assignments/.`,
          ),
        ]
      : []),
    ...(found.access.sessionsListed
      ? []
      : [
          limit(
            'not_listed',
            'Not checked: sessions, refresh tokens and authorization codes. The REST API does not list them.',
          ),
        ]),
  ];
}
