import {
  type Investigation,
  type InvestigationItem,
  isLeft,
  remains,
} from '../../../src/domain/investigation/investigation.ts';
import type { Actor, SimulatedEntry } from './controller.ts';
import { type Parts, withParts } from './fields.ts';
import type { FieldLog, History, ObjectLog, Operation } from './history.ts';

/** From which step on the acts of which users are an intruder's: its own, and those of users whom it made or whose password it set. */
type Chain = ReadonlyMap<number, number>;

/**
 * The chain that begins with a user. Without those whose passwords were set and who were deleted since: the controller drops the links
 * of their entries, and the investigation can only say who they may be.
 */
function chainOf({ takeovers, firstStep, controller }: History, subject: number) {
  const chain = new Map([[subject, firstStep]]);
  const lost: number[] = [];
  const wiped = new Set(controller.wiped.map(({ id }) => id));
  for (const { by, user, step, how, entry } of takeovers) {
    const since = by === null ? undefined : chain.get(by);
    if (since === undefined || since > step || chain.has(user) || wiped.has(entry ?? 0)) continue;
    if (how === 'password_set' && !controller.objects.has(`user:${user}`)) lost.push(user);
    else chain.set(user, step);
  }
  return { chain, lost };
}

function isOf(chain: Chain, by: Actor, step: number): boolean {
  return by !== null && (chain.get(by) ?? Number.POSITIVE_INFINITY) <= step;
}

/**
 * What is true of a field: `must` if it is not what the others alone would have made of it, which has to be named; `may` if it has
 * something that the intruder put there, though another put it there as well.
 */
function truthOf(log: FieldLog, chain: Chain): { readonly must: boolean; readonly may: boolean } {
  const { spec, initial, operations } = log;
  const isHostile = ({ by, step }: Operation) => isOf(chain, by, step);
  const hostile = operations.filter(isHostile);
  const without = operations
    .filter((operation) => !isHostile(operation))
    // What is reset as a whole has nothing of before.
    .reduce(
      (parts, { sets, after }) => (after.stored === undefined ? after.parts : withParts(parts, sets)),
      initial,
    );
  const now = log.parts;
  // A list that has nothing in common with what the intruder left was written anew.
  const left = hostile.at(-1)?.after.parts;
  const isNew = now.size > 0 && ![...now.keys()].some((part) => left?.has(part));
  const isHarmless = (part: string) =>
    !now.has(part) && (spec.shape === 'words' || (spec.shape === 'list' && isNew));
  const differs = [...new Set([...without.keys(), ...now.keys()])].some(
    (part) => partOf(without, part) !== partOf(now, part) && !isHarmless(part),
  );
  const isTheirs =
    hostile.some(({ sets }) => sets.some(([part, value]) => now.get(part) === value)) ||
    hostile.some(({ after }) => JSON.stringify(after.stored) === JSON.stringify(log.stored));
  const must = hostile.length > 0 && differs;
  return {
    must: must && spec.matters,
    // What cannot be read is named until someone looks at it.
    may: must || isTheirs || (spec.shape === 'withheld' && hostile.length > 0),
  };
}

/** The value of a part. An empty text is no value. */
function partOf(parts: Parts, part: string): unknown {
  return parts.get(part) === '' ? undefined : parts.get(part);
}

/** Compares an investigation of a user with what is true; a sentence for each difference. */
export function differences(
  history: History,
  asked: {
    readonly investigation: Pick<Investigation, 'items' | 'limits'> & {
      readonly stream: Pick<Investigation['stream'], 'hole'>;
    };
    readonly subject: number;
  },
): string[] {
  const { items: all, limits, stream } = asked.investigation;
  const hole = stream.hole ?? null;
  const { wiped } = history.controller;
  // No one may take what is left of a stream for all that was done; and an alarm that is always there says nothing.
  if (wiped.length > 0 && hole === null) return ['entries were deleted, and the stream is said to be whole'];
  if (wiped.length === 0 && hole !== null) return [`nothing was deleted, and: ${hole}`];
  // Whose name it was is not known any more: what the stream has not is all that can be said.
  if (wiped.some((entry) => isAboutName(entry, { history, subject: asked.subject }))) return [];
  const { chain, lost } = chainOf(history, asked.subject);
  const items = new Map(all.map((item) => [item.id, item]));
  const named = { history, chain, items, wiped: new Set(wiped.map(({ about }) => about)) };
  const found = [...history.logs.values()].flatMap((log) => missing(log, named));
  const extra = all.flatMap((item) => invented(item, named));
  const unsaid = lost.filter((id) => !limits.some(({ text }) => text.includes(`(${id})`)));
  return [
    ...found,
    ...extra,
    ...bulkMissing(named),
    ...tokensMissing(named),
    ...unsaid.map((id) => `no limit says that user ${id} may have been an intruder's`),
  ];
}

/** Whether an entry says who had the name of the subject. */
function isAboutName(
  { object1, operation, changes, about }: SimulatedEntry,
  { history, subject }: { history: History; subject: number },
): boolean {
  if (object1 !== 'user' || !Object.hasOwn(changes, 'username')) return false;
  return (
    operation === 'update' ||
    about === `user:${subject}` ||
    changes['username'] === history.names.get(subject)
  );
}

/** Whether the reset of a setting is named whose row was made before the activity stream began: it has only the id of the row. */
function isNamedByRow({ key }: ObjectLog, { history, items }: Compared): boolean {
  return history.controller.unnamed.some(
    ({ id, name }) => `setting:${name}` === key && items.has(`setting:${id}`),
  );
}

interface Compared {
  readonly history: History;
  readonly chain: Chain;
  readonly items: ReadonlyMap<string, InvestigationItem>;
  /** What deleted entries were about. */
  readonly wiped: ReadonlySet<string>;
}

/** Kinds whose lists say who changed an object last. */
const LISTED: ReadonlySet<string> = new Set(['job_template', 'host', 'inventory', 'project']);

/** What lists of objects and of users still show of one of which entries were deleted, and the investigation does not name. */
function missingByLists(log: ObjectLog, { history, chain, items }: Compared): string[] {
  const item = items.get(log.key);
  const object = history.controller.objects.get(log.key);
  if ((item !== undefined && remains(item)) || object === undefined || isOff(log, history)) return [];
  const { fields } = object;
  // What a user did before an intruder set its password is not of that intruder, whatever lists say.
  const isTheirs = (did: Pick<Operation, 'by' | 'step'> | null, by: unknown, at: unknown) =>
    did?.by === by && isOf(chain, did?.by ?? null, did?.step ?? 0) && new Date(String(at)) >= history.since;
  const lastChange = [...log.fields.values()]
    .flatMap(({ operations }) => operations)
    .reduce<Operation | null>((one, other) => (one !== null && one.step > other.step ? one : other), null);
  const isMade = log.made !== null && new Date(String(fields['date_joined'])) >= history.since;
  // An entry that is there explains the last change: what others before it put in place is not shown.
  const last = history.controller.entries.findLast(({ about }) => about === log.key)?.at ?? '';
  const isLeft =
    last < String(fields['modified']) && [...log.fields.values()].some((field) => truthOf(field, chain).must);
  const isShown =
    log.kind === 'user'
      ? isMade && log.made !== null && history.controller.wiped.some((entry) => isCreation(entry, log))
      : LISTED.has(log.kind) &&
        (isTheirs(log.made, fields['created_by'], fields['created']) ||
          (isLeft && isTheirs(lastChange, fields['modified_by'], fields['modified'])));
  return isShown ? [`${log.key} is shown by a list, and is not named (${item?.state ?? 'no item'})`] : [];
}

function isCreation({ operation, about }: SimulatedEntry, { key }: ObjectLog): boolean {
  return operation === 'create' && about === key;
}

/** What an intruder left on one object, and the investigation does not name. */
function missing(log: ObjectLog, compared: Compared): string[] {
  const { history, chain, items } = compared;
  if (compared.wiped.has(log.key)) return missingByLists(log, compared);
  const item = items.get(log.key);
  const isNamed = item !== undefined && remains(item);
  if (log.deleted !== null) {
    const { by, step } = log.deleted;
    const isTheirs = isOf(chain, by, step) && !(log.made !== null && isOf(chain, log.made.by, log.made.step));
    return isTheirs && item === undefined
      ? [`${log.key} was deleted by the intruder, and is not listed`]
      : [];
  }
  if (!isThere(log, history))
    return isUnlisted(log, compared) ? [`${log.key} was removed by the intruder, and is not listed`] : [];
  if (log.made !== null && isOf(chain, log.made.by, log.made.step))
    return isNamed || isOff(log, history) || isForgotten(log, history) || isNamedAsRole(log, compared)
      ? []
      : [`${log.key} was made by the intruder, and is not named`];
  return [...log.fields.values()].flatMap((field) => {
    if (!truthOf(field, chain).must || isNamedByRow(log, compared)) return [];
    const name = field.spec.field;
    if (!isNamed)
      return [
        `${name || 'the tie'} of ${log.key} is the intruder's, and is not named (${item?.state ?? 'no item'})`,
      ];
    if (name === 'organization' && !item.findings.some(({ rule }) => rule === 'moved'))
      return [`${log.key} was moved by the intruder, and who gained access is not said`];
    const change = item.changes.find((each) => each.field === name);
    if (name === '' || (change !== undefined && isLeft(change))) return [];
    return [`${name} of ${log.key} is the intruder's, and is ${change?.state ?? 'not among the changes'}`];
  });
}

/** Whether the objects that a role or link is about are there. */
function isThere({ key, kind }: ObjectLog, { controller }: History): boolean {
  if (kind === 'role_user_assignment') return controller.assignments.has(Number(key.split(':')[1]));
  if (kind === 'role') return controller.members.has(key.replace('role:', '').replace(':user', ''));
  if (kind === 'link')
    return controller.linked.has(
      key
        .split(':')
        .filter((_, index) => index === 3 || index === 5)
        .join(':'),
    );
  return true;
}

/** Whether an intruder took away a role or link that others gave, of objects that are there, and the investigation does not list it. */
function isUnlisted({ key, fields }: ObjectLog, { history, chain, items }: Compared): boolean {
  const [tie] = fields.values();
  const objects = key.match(/(user|job_template):\d+/g) ?? [];
  const role = /^role:(\d+):/.exec(key)?.[1];
  const isRole = role === undefined || history.controller.roles.some(({ id }) => id === Number(role));
  const isAbout = isRole && objects.every((each) => history.controller.objects.has(each));
  return isAbout && tie !== undefined && truthOf(tie, chain).must && !items.has(key);
}

/** Users who are deactivated, and hosts that are disabled, do nothing. */
function isOff({ key }: ObjectLog, { controller }: History): boolean {
  const fields = controller.objects.get(key)?.fields;
  return fields?.['is_active'] === false || fields?.['enabled'] === false;
}

/** Assignments lose who made them when that user is deleted; the investigation says that there are such. */
function isForgotten({ key, kind }: ObjectLog, { controller }: History): boolean {
  return (
    kind === 'role_user_assignment' && controller.assignments.get(Number(key.split(':')[1]))?.by === null
  );
}

/** Whether the role of an assignment is named as one of the older roles, which the user has as well. */
function isNamedAsRole({ key, kind }: ObjectLog, { history, items }: Compared): boolean {
  if (kind !== 'role_user_assignment') return false;
  const assignment = history.controller.assignments.get(Number(key.split(':')[1]));
  const item = items.get(`role:${assignment?.role.id}:user:${assignment?.user}`);
  return item !== undefined && remains(item);
}

/** What the investigation names as left by the intruder, and is not. */
function invented(item: InvestigationItem, compared: Compared): string[] {
  const { history, chain, wiped } = compared;
  const strangers = item.by.filter(({ id }) => id !== null && !chain.has(id));
  const by = strangers.map(
    ({ username }) => `${item.id} is said to be the work of ${username}, who is no intruder`,
  );
  // What is left of its entries does not show what others did to it.
  const isWiped = wiped.has(item.id) || isOfStream(item, compared) || isUnrecordedRole(item, compared);
  if (!remains(item) || item.object.kind === 'session' || isWiped) return by;
  if (item.object.kind === 'o_auth2_access_token') return [...by, ...tokenInvented(item, compared)];
  const row = history.controller.unnamed.find(({ id }) => item.id === `setting:${id}`);
  // Which setting that was is not known, and so not what it is.
  if (row !== undefined) return by;
  const log = history.logs.get(item.id);
  if (log === undefined) return [...by, `${item.id} is named, and nothing is known of it (${item.summary})`];
  if (log.deleted !== null) return [...by, `${item.id} is named as ${item.state}, and was deleted`];
  if (log.made !== null && isOf(chain, log.made.by, log.made.step)) return by;
  const truths = new Map([...log.fields].map(([name, field]) => [name, truthOf(field, chain)]));
  if (![...truths.values()].some(({ may }) => may))
    return [...by, `${item.id} is named as ${item.state}, and has nothing of the intruder`];
  const fields = item.changes.filter((change) => isLeft(change) && truths.get(change.field)?.may === false);
  return [
    ...by,
    ...fields.map(
      ({ field, state }) => `${field} of ${item.id} is named as ${state}, and is not the intruder's`,
    ),
  ];
}

/** Whether it is a role by the newer tables whose entry, by the older ones, was deleted. */
function isUnrecordedRole({ object }: InvestigationItem, { history, wiped }: Compared): boolean {
  const found = object.kind === 'role_user_assignment' && history.controller.assignments.get(object.id ?? 0);
  return found ? wiped.has(`role:${found.role.id}:user:${found.user}`) : false;
}

/** Whether it is about the stream, of which something was deleted; or about hosts that were made in bulk, or whose entries were deleted. */
function isOfStream({ id }: InvestigationItem, { history, chain, wiped }: Compared): boolean {
  if (id === 'activity_stream:period') return wiped.size > 0;
  const isHost = (each: string) => each.startsWith('host:');
  return (
    id.endsWith(':hosts') &&
    ([...wiped].some(isHost) ||
      history.bulk.some(
        ({ by, step, inventory }) => isOf(chain, by, step) && id === `inventory:${inventory}:hosts`,
      ))
  );
}

/** Hosts that an intruder made in bulk and that are there, in an inventory that is not named. */
function bulkMissing({ history, chain, items }: Compared): string[] {
  const wiped = new Set(history.controller.wiped.map(({ id }) => id));
  return history.bulk.flatMap(({ by, step, inventory, entry, hosts }) => {
    const item = items.get(`inventory:${inventory}:hosts`);
    const isThere = hosts.some((id) => history.controller.objects.has(`host:${id}`));
    if (!isThere || !isOf(chain, by, step) || wiped.has(entry ?? 0) || (item && remains(item))) return [];
    return [`hosts ${hosts.join(', ')} were made in bulk by the intruder, and are not named`];
  });
}

/** Applications that an intruder made: each of their tokens may be its own. */
function isOfTheirs(application: number | null, { history, chain }: Compared): boolean {
  const made = history.logs.get(`o_auth2_application:${application}`)?.made;
  return made != null && isOf(chain, made.by, made.step);
}

function tokensMissing(compared: Compared): string[] {
  const { history, chain, items } = compared;
  return history.tokens.flatMap(({ id, by, step, application }) => {
    const key = `o_auth2_access_token:${id}`;
    const item = items.get(key);
    if (!history.controller.objects.has(key) || (item !== undefined && remains(item))) return [];
    return isOf(chain, by, step) || isOfTheirs(application, compared)
      ? [`${key} is the intruder's, and is not named`]
      : [];
  });
}

function tokenInvented(item: InvestigationItem, compared: Compared): string[] {
  const { history, chain } = compared;
  const token = history.tokens.find(({ id }) => `o_auth2_access_token:${id}` === item.id);
  if (token === undefined || !history.controller.objects.has(item.id))
    return [`${item.id} is named, and does not exist`];
  return isOf(chain, token.by, token.step) || isOfTheirs(token.application, compared)
    ? []
    : [`${item.id} is named, and is not the intruder's`];
}
