import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  type DirectoryUser,
  type DirectoryUsers,
  type FoundBy,
  hasValue,
  type Identifier,
} from '../../domain/directory-users.ts';
import type { DirectAnswer } from '../ports/directory.ts';
import {
  type DirectoryComparison,
  type DoubtfulUser,
  type GoneUser,
  type Question,
  stateText,
  type Unproven,
} from './compare-users.ts';

/** The maximum number of users queried one by one in a run. */
const MAX_ASKED = 1_000;

const KIND_TEXTS: Readonly<Record<FoundBy, string>> = {
  id: 'id',
  dn: 'LDAP name',
  login: 'login name',
  email: 'email address',
};

const KINDS = ['id', 'dn', 'login', 'email'] as const satisfies readonly FoundBy[];

/** A list with the users who have left according to it, and how to query its directory for one user. */
interface AskedAfter {
  readonly name: string;
  readonly users: DirectoryUsers;
  readonly unproven: ReadonlyMap<number, Unproven>;
  /** The ids of users who had left before: they are queried last. */
  readonly before: ReadonlySet<number>;
  lookUp(asked: readonly Identifier[]): Promise<readonly DirectAnswer[]>;
}

/**
 * Queries a directory for each user missing from its list, because a truncated list may look complete. Users
 * who are not found have left, with that as the evidence; users who cannot be queried are doubtful. For users
 * who have left because a user of their name is disabled, it checks whether another one exists.
 * @throws TokenctlError `target_misbehaved` if the directory has an active user who is not in its list;
 * `interrupted`
 */
export async function confirmAbsence(
  { gone, doubtful }: Pick<DirectoryComparison, 'gone' | 'doubtful'>,
  { name, users, unproven, before, lookUp }: AskedAfter,
): Promise<Pick<DirectoryComparison, 'gone' | 'doubtful'>> {
  const rank = ({ id }: GoneUser) => (unproven.get(id)?.isMissing ? 0 : 1) + (before.has(id) ? 2 : 0);
  const controls = controlsOf(users);
  // An answer proves nothing if the same question cannot be tested with a user of the list.
  const asksOf = ({ id }: GoneUser) =>
    (unproven.get(id)?.asks ?? []).filter(({ kind }) => controls.has(kind));
  const asked = gone
    .filter((user) => asksOf(user).some(({ isStrong }) => isStrong))
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, MAX_ASKED);
  const answerTo = await answersTo(asked.flatMap(asksOf), { users, controls, lookUp });
  const verdicts = new Map<number, GoneUser | DoubtfulUser>();
  for (const user of asked) {
    const found = asksOf(user).map((question) => [question, answerTo(question)] as const);
    requireListed(user, { name, users, found });
    if (unproven.get(user.id)?.isMissing) verdicts.set(user.id, judgeAbsent(user, found));
  }
  const judged = gone.map((user) => {
    const isUnasked = unproven.get(user.id)?.isMissing === true && !verdicts.has(user.id);
    const reason = asksOf(user).some(({ isStrong }) => isStrong)
      ? `the directory is asked for at most ${MAX_ASKED} users in one run`
      : 'no one in the list has a value of the kind that identifies this user';
    const why = `${user.evidence}, and the directory was not asked: ${reason}`;
    return isUnasked ? { id: user.id, username: user.username, why } : (verdicts.get(user.id) ?? user);
  });
  return {
    gone: judged.filter((user) => 'evidence' in user),
    doubtful: [...doubtful, ...judged.filter((user) => 'why' in user)],
  };
}

type Found = readonly (readonly [Question, DirectAnswer])[];

/** Asks each question once, and once for a listed user: if that one is not found, answers prove nothing. */
async function answersTo(
  questions: readonly Identifier[],
  {
    users,
    controls,
    lookUp,
  }: Pick<AskedAfter, 'users' | 'lookUp'> & { controls: ReadonlyMap<FoundBy, Identifier> },
): Promise<(question: Identifier) => DirectAnswer> {
  const asked = new Map<string, Identifier>();
  for (const each of questions)
    for (const question of [each, controls.get(each.kind)])
      if (question !== undefined) asked.set(keyOf(question), question);
  const answers = new Map<string, DirectAnswer>();
  let failure: DirectAnswer | undefined;
  try {
    const given = asked.size === 0 ? [] : await lookUp([...asked.values()]);
    for (const [index, key] of [...asked.keys()].entries()) answers.set(key, given[index] ?? NONE);
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    failure = { why: error.message };
  }
  const answerTo = (question: Identifier) => failure ?? answers.get(keyOf(question)) ?? NONE;
  return (question) => {
    const answer = answerTo(question);
    const control = controls.get(question.kind);
    if ('why' in answer || control === undefined) return answer;
    const known = answerTo(control);
    const isControl = (each: DirectoryUser) => isListed(users, each.id) && hasValue(each, control);
    if ('found' in known && known.found.some(isControl)) return answer;
    return 'why' in known
      ? known
      : { why: `the directory lists ${textOf(control)}, but does not find that user when asked` };
  };
}

const NONE: DirectAnswer = { why: 'the directory gave no response' };

/** For each kind, the value of the last listed user who has one. */
function controlsOf(users: DirectoryUsers): ReadonlyMap<FoundBy, Identifier> {
  const controls = new Map<FoundBy, Identifier>();
  for (let place = users.size - 1; place >= 0 && controls.size < KINDS.length; place -= 1) {
    const { id, dn, logins, emails } = users.at(place);
    const values = { id, dn, login: logins[0], email: emails[0] };
    for (const kind of KINDS) {
      const value = values[kind];
      if (value !== undefined && !controls.has(kind)) controls.set(kind, { kind, value });
    }
  }
  return controls;
}

/** An active user who is missing from the list proves it incomplete: no one has then left according to it. */
function requireListed(
  { id, username }: GoneUser,
  { name, users, found }: Pick<AskedAfter, 'name' | 'users'> & { found: Found },
): void {
  for (const [question, answer] of found) {
    const listed = 'found' in answer ? answer.found : [];
    const other = listed.find((each) => each.disabled === null && !isListed(users, each.id));
    if (other === undefined) continue;
    throw new TokenctlError(
      'target_misbehaved',
      `The directory ${name} lists ${users.size} users without ${username}, but returns ${entryText(other)} when asked for the ${textOf(question)}, so its list is incomplete. Nothing was changed`,
      {
        hint: 'Check which users the account that reads the directory can list, its limits and its pages. If the directory was just changed, run the command again.',
        details: { userId: id, username, entry: other.id, listed: users.size },
      },
    );
  }
}

function isListed(users: DirectoryUsers, id: string): boolean {
  return users.find('id', id).length > 0;
}

/** The verdict on a user who is not in the list, from the answers about them. */
function judgeAbsent({ id, username, basis, evidence }: GoneUser, found: Found): GoneUser | DoubtfulUser {
  const strong = found.filter(([{ isStrong }]) => isStrong);
  for (const [question, answer] of strong)
    if ('why' in answer)
      return {
        id,
        username,
        why: `${evidence}, and not confirmed by its ${textOf(question)}: ${answer.why}`,
      };
  const entries = new Map<string, readonly [Question, DirectoryUser]>();
  for (const [question, answer] of strong)
    for (const each of 'found' in answer ? answer.found : []) entries.set(each.id, [question, each]);
  const [entry, ...others] = [...entries.values()];
  if (entry === undefined) {
    const texts = found.filter(([, answer]) => 'found' in answer).map(([question]) => textOf(question));
    return { id, username, basis, evidence: `${evidence}, and not found when asked for ${texts.join(', ')}` };
  }
  const [question, { disabled, dn }] = entry;
  const by = `when asked for the ${textOf(question)}`;
  // Some directories answer with a different user than the one asked for.
  const isMeant = strong.some(
    ([asked, answer]) => 'found' in answer && answer.found.some((each) => hasValue(each, asked)),
  );
  if (others.length === 0 && disabled !== null && isMeant)
    return { id, username, basis, evidence: `${evidence}, but ${by}: ${stateText(disabled, dn)}` };
  const has = [entry, ...others].map(([, each]) => entryText(each)).join(', ');
  return { id, username, why: `${evidence}, but ${by}: ${has}` };
}

function keyOf({ kind, value }: Identifier): string {
  return `${kind} ${value}`;
}

function textOf({ kind, value }: Identifier): string {
  return `${KIND_TEXTS[kind]} ${value}`;
}

function entryText({ id, dn, logins }: DirectoryUser): string {
  return dn ?? `user ${logins[0] ?? id} (${id})`;
}
