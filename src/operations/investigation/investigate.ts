import { remedyOf } from '../../domain/investigation/cleaning.ts';
import { type ItemDraft, summaryOf } from '../../domain/investigation/collect-items.ts';
import { readDeed, type StreamEntry } from '../../domain/investigation/deed.ts';
import { withGatewayRemedy } from '../../domain/investigation/gateway-remedies.ts';
import {
  type Actor,
  type BeforeToken,
  type Investigation,
  type InvestigationItem,
  itemGroups,
  type UnattributedEntry,
} from '../../domain/investigation/investigation.ts';
import { type Since, stateOf } from '../../domain/investigation/item-state.ts';
import { findingsOn } from '../../domain/investigation/risk.ts';
import { severities } from '../../domain/policy/rule.ts';
import { endOfNow } from '../ports/clock.ts';
import type { Evidence, Window } from '../ports/evidence.ts';
import type { ReadTarget } from '../ports/target.ts';
import { ifReadable } from '../scope/known-settings.ts';
import { assignedRoleItems } from './assigned-roles.ts';
import { followChain } from './follow-chain.ts';
import { GATEWAY_MAY_HAVE_READ, gatewayLimits } from './gateway-limits.ts';
import { limitsOf, type ReadEvidence, unknownTokenLimit } from './limits.ts';
import { withMoves, withoutConsequences } from './moves.ts';
import { readCircumstances } from './read-circumstances.ts';
import { jobItems } from './read-jobs.ts';
import { remainingAccess } from './remaining-access.ts';
import { resolvedBefore, resolveSubject, type SubjectRequest } from './resolve-subject.ts';
import { SettingNames } from './setting-names.ts';
import { contradicted, readStream, streamItem } from './stream-hole.ts';
import { ownersOfPasswords, unrecordedUsers, withUnrecorded } from './unrecorded.ts';

export interface InvestigationOptions extends ReadTarget, SubjectRequest {
  readonly evidence: Evidence;
  /** The start. Default: the creation of the token or application, or 30 days ago. */
  readonly since?: Date | undefined;
  /** The end, exclusive. Default: now, or that of the repeated investigation. */
  readonly until?: Date | undefined;
  readonly incident?: string | null;
  /** An investigation to repeat, with its subjects and period. */
  readonly repeats?: Investigation | undefined;
}

/** The default period of a user's investigation, in milliseconds. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;
/** The maximum number of entries without an actor to name. */
const MAX_UNATTRIBUTED = 500;
const TOKEN = 'o_auth2_access_token';
/** Entries without an actor are named if they are about these objects, which affect access. */
const ACCESS_KINDS: ReadonlySet<string> = new Set([
  ...['user', 'o_auth2_access_token', 'o_auth2_application', 'setting', 'credential', 'team', 'role'],
]);

/**
 * Finds out what a user, or the holders of a token or of an application's tokens, did in a period; what users
 * they created did; what remains of it; and what cannot be known. Reads only.
 * @throws TokenctlError `not_found` for an unknown user, token or application, `permission_refused`, and as
 * the target does.
 */
export async function investigate(options: InvestigationOptions): Promise<Investigation> {
  const { target, evidence, description, clock, incident = null } = options;
  const now = clock.now();
  const { repeats } = options;
  const until =
    options.until ?? (repeats === undefined ? endOfNow(clock, description) : new Date(repeats.until));
  const searched = { since: options.since ?? new Date(until.getTime() - DEFAULT_PERIOD_MS), until };
  const found =
    repeats === undefined
      ? await resolveSubject({ target, evidence, ...searched }, options)
      : resolvedBefore(repeats);
  const since = options.since ?? found.since ?? searched.since;
  const window = { since, until };
  const begins = options.since === undefined ? beginningOf(found.since, repeats) : 'given';
  // Counting takes a while and needs none of the other results.
  const missing = noticed(evidence.missingEntries(since));
  const missingOfJobs = noticed(evidence.missingJobs(since));
  const settingNames = new SettingNames(evidence);
  const chain = await followChain(evidence, {
    ...window,
    subjects: found.actors.map((actor) => ({
      user: actor.user,
      since: actor.since === null || actor.since < since ? since : actor.since,
    })),
    existing: (users) => existingUsers(evidence, users),
    settingNames,
  });
  const beforeToken = await readBeforeToken(evidence, { found, window, settingNames });
  const recorded = withoutConsequences(await withRoles(evidence, chain.items.drafts()));
  const whole = await readStream(evidence, { missing, window, description });
  const { extent, users, hole: gap, ...stream } = whole;
  const isWhole = gap === null;
  const { drafts: listed, unread } = await withUnrecorded(evidence, {
    ...{ drafts: recorded, chain, window, isWhole },
  });
  const hole = contradicted(whole, listed);
  const drafts = await withDefaults(evidence, listed);
  const circumstances = await readCircumstances(evidence, { drafts, chain, description, settingNames });
  const context = description.context;
  const items = await withMoves(evidence, {
    items: drafts
      .filter((draft) => draft.group !== 'ran')
      .map((draft) => itemOf(draft, { ...circumstances.of(draft), context })),
    seesAll: description.visibility.kind === 'all',
  });
  const ran = await jobItems(evidence, { drafts, items, chain, window, context });
  const roles = await assignedRoleItems(evidence, { chain, items, window, context });
  const access = await remainingAccess(target, { chain, items, window, description });
  const made = await unrecordedUsers(evidence, {
    ...{ users: users ?? [], items, oldest: extent.oldest, context },
    isEmptied: hole?.isEmptied === true,
  });
  const isGateway = description.dialect === 'gateway';
  const emptied = hole?.isEmptied === true ? [streamItem(hole, window)] : [];
  const hosts = chain.counts.items();
  const gathered = [
    ...[...emptied, ...items, ...ran.items, ...roles.items],
    ...[...access.items, ...made, ...hosts],
  ].sort(byGroupAndRisk);
  const all = isGateway ? gathered.map((item) => withGatewayRemedy(item, context)) : gathered;
  const nameless = await evidence.withoutActor(window);
  const unattributed = unattributedEntries(nameless.some);
  const present = await existingUsers(
    evidence,
    chain.members.map(({ user }) => user),
  );
  const read: ReadEvidence = {
    description,
    chain,
    window,
    extent,
    users,
    missingEntries: stream.missing,
    missingJobs: await missingOfJobs,
    items: all,
    subject: found.subject,
    begins,
    beforeToken,
    names: found.names ?? [],
    withoutActor: nameless.count,
    unreadKinds: unread,
    unreadSince: circumstances.unread,
    roles: roles.read,
    sessionsListed: access.sessionsListed,
    passwordsOf: await ownersOfPasswords(evidence, { drafts, since }),
    bounds: [
      ...chain.bounds,
      ...(ran.isBounded ? ['More jobs ran than are listed'] : []),
      ...(circumstances.isBounded ? ['More was changed since then than was read'] : []),
    ],
  };
  const deleted = chain.members.filter(({ user }) => user.id === null || !present.has(user.id));
  return {
    format: 'tokenctl-investigation',
    version: 1,
    madeAt: now.toISOString(),
    target: {
      context,
      address: description.address,
      installUuid: description.installUuid,
      dialect: description.dialect,
      version: description.version,
    },
    as: description.identity.username,
    visibility: description.visibility,
    incident,
    subject: found.subject,
    since: since.toISOString(),
    begins,
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
    ...(beforeToken !== undefined && { beforeToken }),
    mayHaveRead: isGateway ? GATEWAY_MAY_HAVE_READ : mayHaveRead(all),
    unattributed: await withOwners(evidence, unattributed.slice(0, MAX_UNATTRIBUTED)),
    unattributedCount: unattributed.length,
    stream: {
      enabled: extent.enabled,
      oldest: extent.oldest?.toISOString() ?? null,
      hole: hole?.text ?? null,
      read: chain.read,
      withoutActor: nameless.count,
    },
    limits: [
      ...(found.unknownToken === undefined ? [] : [unknownTokenLimit(found.unknownToken, found.subject)]),
      ...(isGateway
        ? gatewayLimits(
            read,
            deleted.map(({ user }) => user.username),
          )
        : limitsOf(read)),
    ],
  };
}

/** What the start is if the caller gave none. */
function beginningOf(created: Date | null, repeats: Investigation | undefined): Investigation['begins'] {
  if (repeats !== undefined) return repeats.begins;
  return created === null ? 'default' : 'created';
}

/** A promise that is awaited later: until then, its failure must not be an unhandled rejection. */
function noticed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/**
 * What the owner of a token did in the period before the token was created. It is read separately: what the
 * intruder changed is restored to the owner's state, and users that the owner created are the owner's.
 */
async function readBeforeToken(
  evidence: Evidence,
  {
    found: { subject, actors },
    window: { since, until },
    settingNames,
  }: {
    found: Pick<Awaited<ReturnType<typeof resolveSubject>>, 'subject' | 'actors'>;
    window: Window;
    settingNames: SettingNames;
  },
): Promise<BeforeToken | undefined> {
  const [owner] = actors;
  if (subject.kind !== 'token' || owner === undefined || owner.since === null || owner.since <= since)
    return undefined;
  const { items } = await followChain(evidence, {
    since,
    until: owner.since < until ? owner.since : until,
    subjects: [{ user: owner.user, since }],
    existing: (users) => existingUsers(evidence, users),
    settingNames,
    isFollowed: false,
  });
  const drafts = await withRoles(evidence, items.drafts());
  return {
    madeAt: owner.since.toISOString(),
    items: drafts.map(unreadItem).sort((one, other) => one.first.localeCompare(other.first)),
    isWhole: !items.isFull,
  };
}

function kept({ id, group, act, object, other, role, link, by, entries, entryCount }: ItemDraft) {
  return { id, group, act, object, other, role, link, by, entries, entryCount };
}

function told(draft: ItemDraft) {
  const { first, last } = draft;
  return { summary: summaryOf(draft), first: first.toISOString(), last: last.toISOString() };
}

/** An item whose current state is not read: without values or a remedy. */
function unreadItem(draft: ItemDraft): InvestigationItem {
  return {
    ...kept(draft),
    ...told(draft),
    ...{ state: 'unknown', stateReason: 'Not read because it is from before the stolen token was created' },
    ...{ changes: [], changedSince: [], job: null, findings: [], risk: null, remedy: null },
  };
}

/** Entries without an actor that are about access, newest first. */
function unattributedEntries(entries: readonly StreamEntry[]): UnattributedEntry[] {
  return entries.flatMap((entry) => {
    const deed = readDeed(entry);
    if (deed === null || !ACCESS_KINDS.has(deed.object.kind)) return [];
    const { id, at, operation, object, other, changes } = deed;
    const fields = operation === 'update' ? Object.keys(changes) : [];
    const ends = { object, ...(other !== null && { other }) };
    return [{ entry: id, at: at.toISOString(), operation, ...ends, owner: null, fields }];
  });
}

/** Adds the names of token owners: entries of the token endpoints have no user. */
async function withOwners(evidence: Evidence, entries: readonly UnattributedEntry[]) {
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

/** The existing users, by id with their names: a name may have passed to another user by a rename. */
async function existingUsers(evidence: Evidence, users: readonly Actor[]) {
  const named = new Map(users.flatMap(({ id, username }) => (id === null ? [] : [[id, username]])));
  const found = named.size === 0 ? new Map() : await evidence.objects('user', [...named.keys()]);
  if (found === null) return named;
  return new Map([...found].map(([id, { name }]) => [id, name ?? named.get(id) ?? '']));
}

/** Adds the names of roles for which entries only have a number. */
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

/** Adds the default as the previous value of settings that the actor set first: no entry has it. */
async function withDefaults(evidence: Evidence, drafts: readonly ItemDraft[]): Promise<ItemDraft[]> {
  const wanted = drafts.flatMap(({ object, category, changes }) => {
    const isFirst = [...changes.values()].some(({ edits }) =>
      edits?.some(({ before }) => before === undefined),
    );
    return object.kind === 'setting' && object.name !== null && isFirst
      ? [{ name: object.name, category }]
      : [];
  });
  const defaults = wanted.length === 0 ? null : await ifReadable(evidence.settingDefaults(wanted));
  return drafts.map((draft) => {
    const found = draft.object.kind === 'setting' ? defaults?.get(draft.object.name ?? '') : undefined;
    if (found === undefined) return draft;
    const before: unknown = found === 'unset' ? undefined : found.value;
    const filled = [...draft.changes].map(([field, change]) => {
      const edits = change.edits?.map((edit) =>
        edit.before === undefined ? { ...edit, before, isDefault: true as const } : edit,
      );
      return [field, { ...change, before: change.before ?? before, edits: edits ?? null }] as const;
    });
    return { ...draft, changes: new Map(filled) };
  });
}

function itemOf(draft: ItemDraft, found: Since & { readonly context: string }): InvestigationItem {
  const findings = findingsOn(draft, found.now.kind === 'exists' ? found.now.fields : {});
  const item: InvestigationItem = {
    ...kept(draft),
    findings,
    ...told(draft),
    ...stateOf(draft, found),
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

/** What a controller's log cannot show. */
function mayHaveRead(items: readonly InvestigationItem[]): string[] {
  const credentials = new Set(items.flatMap(({ job }) => job?.credentials ?? []));
  const ran = items.filter(({ group }) => group === 'ran').length;
  return [
    'A controller does not record reads, so it is not known which settings, inventories, variables and job output were read.',
    ...(ran === 0
      ? []
      : [
          `Code ran in ${ran} ${ran === 1 ? 'job' : 'jobs'}. It could read the data on the hosts and in the job's files.`,
        ]),
    ...(credentials.size === 0
      ? []
      : [`These jobs used credentials, which their code could read: ${[...credentials].sort().join(', ')}.`]),
  ];
}
