import { words } from '@tokenctl/common/text.ts';
import type { Entry } from '../ports/audit-log.ts';
import { objectOf } from './journal.ts';

/** The users or applications to look for in entries. */
export interface EntrySubject {
  readonly kind: 'user' | 'application';
  /** Null if unknown: names are then compared, as in entries without ids. */
  readonly ids: ReadonlySet<number> | null;
  readonly names: ReadonlySet<string>;
}

/** Members whose text never names a user or an application. */
const OTHER_TEXTS: ReadonlySet<string> = new Set(
  words(`step result selection reason ticket digest what kind
  act item message description summary why how path file scope context incident`),
);

/** Members whose objects identify users or applications by `id`. Elsewhere, `id` may be of anything. */
const WITH_ID: ReadonlySet<string> = new Set([
  'users',
  'bound',
  'keepActiveBound',
  'application',
  'applications',
]);

/**
 * Whether an entry is about one of these users or applications. If it has an id, the id decides: a name may
 * have been reassigned since. Entries from before ids were recorded have only names.
 */
export function isAboutSubject(data: Entry['data'], subject: EntrySubject): boolean {
  return mentions(data, subject, { key: '', kind: 'user' });
}

/** The position of a value in an entry. */
interface Place {
  readonly key: string;
  /** What kind of names occur here. */
  readonly kind: EntrySubject['kind'];
  /** Set in a list: a number elsewhere is a count. */
  readonly isListed?: true;
}

function mentions(value: unknown, subject: EntrySubject, place: Place): boolean {
  const { key, kind } = place;
  const isMeant = kind === subject.kind;
  if (typeof value === 'string') return isMeant && !OTHER_TEXTS.has(key) && subject.names.has(value);
  if (typeof value === 'number') {
    const isId = place.isListed === true && (key === 'userIds' || key === 'users');
    return isMeant && isId && subject.ids?.has(value) === true;
  }
  if (Array.isArray(value))
    return value.some((each) => mentions(each, subject, { ...place, isListed: true }));
  const object = objectOf(value);
  if (object === undefined) return false;
  const id = object['userId'] ?? (WITH_ID.has(key) ? object['id'] : undefined);
  if (typeof id === 'number' && subject.ids !== null) return isMeant && subject.ids.has(id);
  return Object.entries(object).some(
    ([name, each]) =>
      !(subject.ids !== null && hasIdsBeside(name, { object, subject })) &&
      mentions(each, subject, { key: name, kind: kindOf(name, object, kind) }),
  );
}

/** Whether the names of a member belong to the ids beside them. A cleaning states those of its subject. */
function hasIdsBeside(
  name: string,
  { object, subject }: { object: Readonly<Record<string, unknown>>; subject: EntrySubject },
): boolean {
  if (name === 'names') return Array.isArray(object['bound']);
  const isOfUsers = name === 'users' || (name === 'subject' && subject.kind === 'user');
  return isOfUsers && Array.isArray(object['userIds']);
}

function kindOf(name: string, object: Readonly<Record<string, unknown>>, kind: EntrySubject['kind']) {
  if (name === 'application' || name === 'applications') return 'application';
  if (name === 'user' || name === 'users') return 'user';
  // A scope, or the subject of an investigation.
  return /^applications?$/.test(String(object['kind'] ?? '')) ? 'application' : kind;
}
