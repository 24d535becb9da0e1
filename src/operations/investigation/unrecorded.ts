import { remedyOf } from '../../domain/investigation/cleaning.ts';
import {
  groupOf,
  type ItemDraft,
  NOT_IN_STREAM,
  type RecordedChange,
  UNRECORDED_WAY_IN,
} from '../../domain/investigation/collect-items.ts';
import { isSameActor } from '../../domain/investigation/deed.ts';
import type { Actor, InvestigationItem, ItemFinding } from '../../domain/investigation/investigation.ts';
import { kindOf, UNRECORDED_FIELDS, unrecordedField } from '../../domain/investigation/kinds.ts';
import type { Evidence, ListedObject, MadeUser, Window } from '../ports/evidence.ts';
import type { FollowedChain } from './follow-chain.ts';

/** Drafts, including objects that are listed but missing from the activity stream. */
export interface WithUnrecorded {
  readonly drafts: readonly ItemDraft[];
  /** The kinds of objects whose lists could not be read. */
  readonly unread: readonly string[];
}

/**
 * Adds listed objects that users of the chain created and that the activity stream lacks: kinds that no
 * controller records, objects created while the stream was off, and those whose entry was deleted. If the
 * stream is incomplete, also adds what they last changed. A controller saves objects itself as well, which
 * looks like a later change by the same user.
 */
export async function withUnrecorded(
  evidence: Evidence,
  found: {
    readonly drafts: readonly ItemDraft[];
    readonly chain: FollowedChain;
    readonly window: Window;
    /** Whether the activity stream has entries of the whole period. */
    readonly isWhole: boolean;
  },
): Promise<WithUnrecorded> {
  const { drafts, chain, window, isWhole } = found;
  const by = chain.members.flatMap(({ user }) => user.id ?? []);
  const { objects, unread } = await evidence.madeBy({ ...window, by });
  const isOfChain = (actor: Actor | null, at: Date) =>
    actor !== null && chain.members.some(({ user, since }) => isSameActor(user, actor) && at >= since);
  const all = new Map(drafts.map((draft) => [draft.id, draft]));
  for (const each of objects) {
    const known = all.get(`${each.kind}:${each.id}`);
    const isMade = isOfChain(each.createdBy, each.created);
    const isChanged = isOfChain(each.modifiedBy, each.modified);
    if (isMade && known === undefined)
      all.set(`${each.kind}:${each.id}`, asMade(emptyDraft(each, each.created, each.createdBy), each));
    // Changed since, which is recorded, unlike its creation.
    else if (isMade && known?.act === 'changed') all.set(known.id, asMade(known, each));
    else if (!isMade && isChanged) {
      const draft = changedDraft(each, { known, isWhole });
      if (draft !== null) all.set(draft.id, draft);
    }
  }
  return { drafts: [...all.values()], unread };
}

function asMade(draft: ItemDraft, { kind, created }: ListedObject): ItemDraft {
  return {
    ...draft,
    act: 'made',
    group: kindOf(kind)?.group ?? 'other',
    first: created < draft.first ? created : draft.first,
  };
}

/** The list shows only that there was a change. */
const HIDDEN = 'hidden';

/** A change that the list shows; null for a recorded one, or for an object that was created or deleted. */
function changedDraft(
  each: ListedObject,
  { known, isWhole }: { known: ItemDraft | undefined; isWhole: boolean },
): ItemDraft | null {
  const isLater = known === undefined || each.modified > known.last;
  const field = unrecordedField(each.kind) ?? (isWhole || !isLater ? null : UNRECORDED_FIELDS);
  const draft = known ?? emptyDraft(each, each.modified, each.modifiedBy);
  if (field === null || draft.act !== 'changed' || draft.changes.has(field)) return null;
  // A gateway records a change of any other field: that is the last change.
  if (each.kind === 'o_auth2_application' && draft.changes.size > 0) return null;
  const entry = draft.entries[0] ?? 0;
  const change: RecordedChange = {
    field,
    before: HIDDEN,
    after: HIDDEN,
    entry,
    lastEntry: draft.lastEntry,
    edits: [{ entry, last: draft.lastEntry, before: HIDDEN, after: HIDDEN }],
  };
  const changes = new Map([...draft.changes, [field, change]]);
  return {
    ...draft,
    group: groupOf({ ...draft, changes }),
    last: new Date(Math.max(each.modified.getTime(), draft.last.getTime())),
    changes,
  };
}

function emptyDraft({ kind, id, name }: ListedObject, at: Date, by: Actor | null): ItemDraft {
  return {
    id: `${kind}:${id}`,
    group: kindOf(kind)?.group ?? 'other',
    act: 'changed',
    object: { kind, id, name },
    other: null,
    role: null,
    link: '',
    by: by === null ? [] : [by],
    first: at,
    last: at,
    entries: [],
    entryCount: 0,
    firstEntry: Number.MAX_SAFE_INTEGER,
    lastEntry: 0,
    changes: new Map(),
    category: null,
  };
}

/**
 * Users deleted since the chain set the password of a user that the entry no longer names: the controller
 * drops the links of deleted users. Empty if the user of every password is known.
 */
export async function ownersOfPasswords(
  evidence: Evidence,
  { drafts, since }: { drafts: readonly ItemDraft[]; since: Date },
): Promise<readonly Actor[]> {
  const lost = drafts.filter(
    ({ object, act, changes }) =>
      object.kind === 'user' && object.id === null && act === 'changed' && changes.has('password'),
  );
  if (lost.length === 0) return [];
  const first = Math.min(...lost.map(({ firstEntry }) => firstEntry));
  const names = await evidence.nameChanges(since);
  return names.flatMap(({ entry, userId, from, to }) =>
    to === null && from !== null && entry > first ? [{ id: userId, username: from }] : [],
  );
}

/**
 * Users whose creation has no entry, although the activity stream covers that time: it was off, the entry was
 * deleted, or SQL created them.
 */
export async function unrecordedUsers(
  evidence: Evidence,
  found: {
    readonly users: readonly MadeUser[];
    readonly items: readonly InvestigationItem[];
    readonly oldest: Date | null;
    /** Whether entries of the period were removed: users older than the stream then count as well. */
    readonly isEmptied: boolean;
    readonly context: string;
  },
): Promise<readonly InvestigationItem[]> {
  const { oldest, isEmptied, items, context } = found;
  const known = new Set(items.map(({ id }) => id));
  const some = found.users.filter(
    ({ id, at, isRecorded }) =>
      !isRecorded && !known.has(`user:${id}`) && (isEmptied || (oldest !== null && at >= oldest)),
  );
  const now =
    some.length === 0
      ? null
      : await evidence.objects(
          'user',
          some.map(({ id }) => id),
        );
  return some.map((each) =>
    userItem(each, { isOff: now?.get(each.id)?.fields['is_active'] === false, context }),
  );
}

function userItem(
  { id, username, at, isSuperuser }: MadeUser,
  { isOff, context }: { isOff: boolean; context: string },
): InvestigationItem {
  const findings: ItemFinding[] = [
    {
      rule: 'unrecorded-user',
      severity: isSuperuser ? 'critical' : 'high',
      message: `${isSuperuser ? 'A superuser' : 'A user'}, and no entry shows who created it.`,
    },
  ];
  const object = { kind: 'user', id, name: username };
  const item: InvestigationItem = {
    id: `user:${id}`,
    ...UNRECORDED_WAY_IN,
    object,
    summary: `${isSuperuser ? 'superuser' : 'user'} ${username} (${id}) was created${NOT_IN_STREAM}`,
    by: [],
    first: at.toISOString(),
    last: at.toISOString(),
    state: isOff ? 'undone' : 'there',
    findings,
    risk: findings[0]?.severity ?? null,
    remedy: null,
  };
  return { ...item, remedy: remedyOf(item, context) };
}
