import {
  type DirectoryUser,
  type DirectoryUsers,
  type Identifier,
  nameForm,
} from '../../domain/directory-users.ts';
import { isBelow } from '../../domain/distinguished-name.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { User } from '../../domain/token.ts';
import type { MatchRules } from '../ports/directory.ts';
import type { UserIdentities } from '../ports/target-parts.ts';
import type { IdentifiedUser } from '../scope/users-with-identities.ts';
import { AccountIds, calledAs, formsOf, ofAccount, UNDER } from './account-ids.ts';

/** A user of the controller who is disabled in the directory, or not in it. */
export interface GoneUser {
  readonly id: number;
  readonly username: string;
  /** The basis of the match, as a phrase: `account 00u1 of oidc`. */
  readonly basis: string;
  /** What the directory shows, as a phrase: `status is SUSPENDED since 2026-11-20T10:00:00.000Z`. */
  readonly evidence: string;
}

/** A user who is reported but not acted on. */
export interface DoubtfulUser {
  readonly id: number;
  readonly username: string;
  /** As a clause: `several users of the directory match by login name`. */
  readonly why: string;
}

export interface DirectoryComparison {
  readonly gone: readonly GoneUser[];
  readonly doubtful: readonly DoubtfulUser[];
  /** Number of external users who are listed and not disabled. */
  readonly present: number;
  /** Number of users who stay because they are local, of another provider, the caller, or exceptions. */
  readonly kept: number;
}

/** Which directory entry belongs to a user, by its permanent id. */
export interface KnownEntry {
  readonly userId: number;
  readonly entry: string;
}

/** The number of a user's entry, or its id if it is no longer in the directory; undefined if unknown. */
export interface EarlierEntries {
  get(userId: number): number | string | undefined;
}

/** Newly learned entries of users, stored as numbers: there may be a hundred thousand. */
class LearnedEntries {
  readonly #directory: DirectoryUsers;
  readonly #users: number[] = [];
  readonly #entries: number[] = [];

  constructor(directory: DirectoryUsers) {
    this.#directory = directory;
  }

  /** Adds the entry of a user if it is the only match and not by email address. */
  add(userId: number, { kind, found }: Match): void {
    const [entry, ...others] = found;
    if (kind === 'email' || entry === undefined || others.length > 0) return;
    this.#users.push(userId);
    this.#entries.push(entry);
  }

  *[Symbol.iterator](): Generator<KnownEntry> {
    for (const [index, userId] of this.#users.entries())
      yield { userId, entry: this.#directory.idOf(this.#entries[index] ?? 0) };
  }
}

export interface ComparedEntries {
  /** Newly learned entries of users. */
  readonly learned: Iterable<KnownEntry>;
  /** Number of users with an entry that an earlier answer had. */
  readonly recognized: number;
  /** Number of users who match other entries than before, while their own is no longer listed. */
  readonly replaced: number;
  /** What the list does not prove about departed users, by user id. */
  readonly unproven: ReadonlyMap<number, Unproven>;
}

/** What a list alone does not prove about a user who has left according to it. */
export interface Unproven {
  /** Whether no one in the list is the user. Otherwise a disabled user has the name, maybe among others. */
  readonly isMissing: boolean;
  /** The questions to the directory about the user; empty if none are needed. */
  readonly asks: readonly Question[];
  /** The accounts whose absence proves that the user has left only if their ids never change. */
  readonly ids?: UserIdentities['accounts'];
}

export interface Question extends Identifier {
  /** Whether a user with this value is the same user. Absence is then not proven without an answer. */
  readonly isStrong: boolean;
}

/** The bases of a match, strongest first. */
type Basis = 'account' | 'dn' | 'login' | 'email';

/**
 * Compares the users of a controller with those of a directory. A user has left if they match only disabled
 * users, if they have an account of this directory whose id is not in it, or if their known entry is no
 * longer in it. Users who match several users, none, another entry than before, or by email address only are
 * doubtful unless the rules say otherwise. Local users, users of other directories, the caller and exceptions
 * stay. Superusers stay if no other would remain.
 */
export async function compareUsers(
  users: AsyncIterable<IdentifiedUser> | Iterable<IdentifiedUser>,
  options: {
    readonly directory: DirectoryUsers;
    readonly rules: MatchRules;
    /** The id of the caller; null if the caller is not a user. */
    readonly own: number | null;
    /** The users' entries from earlier answers, by user id. */
    readonly entries?: EarlierEntries | undefined;
  },
): Promise<DirectoryComparison & ComparedEntries> {
  const { directory, rules, own, entries } = options;
  const listedGone: GoneUser[] = [];
  const doubtful: DoubtfulUser[] = [];
  const tally = { recognized: 0, replaced: 0 };
  const learned = new LearnedEntries(directory);
  const superusers: number[] = [];
  const unproven = new Map<number, Unproven>();
  const uids = new AccountIds(directory);
  let [present, kept] = [0, 0];
  for await (const { user, identities } of users) {
    const { id, username } = user;
    if (user.isSuperuser && user.isActive !== false) superusers.push(id);
    const isKept = id === own || user.externalAccount === null || matchesAny(username, rules.except);
    const match = isKept ? null : matchOf({ user, identities }, directory, rules);
    if (match === null) {
      kept += 1;
      continue;
    }
    uids.add(match.accounts);
    const known = entries?.get(id);
    const verdict =
      known === undefined ? judge(match, directory, rules) : judgeKnown(known, match, directory, rules);
    if (known === undefined) learned.add(id, match);
    else if (typeof known === 'number') tally.recognized += 1;
    else tally.replaced += Math.min(match.found.length, 1);
    if (verdict === 'present') present += 1;
    else if ('why' in verdict) doubtful.push({ id, username, ...verdict });
    else {
      listedGone.push({ id, username, basis: verdict.basis, evidence: verdict.evidence });
      unproven.set(id, unprovenBy(verdict.proof, known, match));
    }
  }
  const isRenamable = ({ id }: GoneUser) => !uids.areIds(unproven.get(id)?.ids ?? []);
  const gone = listedGone.filter((user) => !isRenamable(user));
  const spared = lastSuperusers(superusers, gone);
  return {
    gone: gone.filter(({ id }) => !spared.has(id)),
    doubtful: [
      ...doubtful,
      ...doubtsOf(listedGone.filter(isRenamable), ({ basis }) => renamable(basis)),
      ...doubtsOf(
        gone.filter(({ id }) => spared.has(id)),
        ({ evidence }) => `${evidence}, but no other active superuser would remain`,
      ),
    ],
    present,
    kept,
    learned,
    unproven,
    ...tally,
  };
}

function doubtsOf(gone: readonly GoneUser[], why: (user: GoneUser) => string): readonly DoubtfulUser[] {
  return gone.map((user) => ({ id: user.id, username: user.username, why: why(user) }));
}

function unprovenBy(proof: Proof, known: number | string | undefined, { asks, accounts }: Match): Unproven {
  const isMissing = proof === 'none' || proof === 'id';
  const entry: readonly Question[] =
    typeof known === 'string' ? [{ kind: 'id', value: known, isStrong: true }] : [];
  const some = [...entry, ...asks].filter(({ isStrong }) => isMissing || isStrong);
  return { isMissing, asks: proof === 'whole' ? [] : some, ids: proof === 'id' ? accounts : [] };
}

/**
 * What a list proves about a user: `whole`, that the user's own entry is disabled; `name`, that a user of
 * this name is disabled; `none`, only that the user is missing; `id`, the same for an account whose id may be
 * a name.
 */
type Proof = 'whole' | 'name' | 'none' | 'id';

type Verdict =
  | 'present'
  | { readonly why: string }
  | { readonly basis: string; readonly evidence: string; readonly proof: Proof };

/** Other users who could be the user, and what they share, as a phrase: `the login name`. */
interface Rivals {
  readonly what: string;
  readonly find: () => readonly number[];
}

const NO_RIVALS: Rivals = { what: '', find: () => [] };

/** The directory users that match, by the strongest basis with any match. */
interface Match {
  readonly kind: Basis | null;
  /** As a phrase: `login name alice`. */
  readonly basis: string;
  /** Their numbers; empty for no match. */
  readonly found: readonly number[];
  /** Users who match by a weaker basis that must not be ignored: see {@link Rivals}. */
  readonly rivals: Rivals;
  /** What links the user to this directory, as a phrase; null if only the name does. */
  readonly tie: string | null;
  /** The accounts of this directory, whose ids the controller got from the provider. */
  readonly accounts: UserIdentities['accounts'];
  /** The questions to the directory about this user. */
  readonly asks: readonly Question[];
}

/** Null for a user of another directory. */
function matchOf(
  { user, identities }: IdentifiedUser,
  directory: DirectoryUsers,
  rules: MatchRules,
): Match | null {
  const accounts = identities?.accounts ?? [];
  const own = accounts.filter(({ provider }) => rules.accounts.includes(provider));
  const dn = identities?.ldapDn ?? null;
  if (own.length === 0 && isOfAnother(user, { dn, hasAccounts: accounts.length > 0 }, rules)) return null;
  const login = rules.loginName.replaceAll('{username}', user.username);
  const email = identities?.email ?? null;
  const byLogin = () => directory.find('login', login);
  const ofAccounts = (own.length > 0 ? own : accounts).map(({ provider, uid }): Try => {
    const find = () => UNDER.flatMap((kind) => calledAs(directory, uid, kind));
    const rivals = { what: `the account ID ${uid} as a name`, find };
    return ['account', `account ${uid} of ${provider}`, () => ofAccount(directory, uid), rivals];
  });
  // One active account among several is enough.
  const isThere = (number: number) => directory.disabledOf(number) === null;
  const active = ofAccounts.find(([, , find]) => find().some(isThere));
  const tries: readonly Try[] = [
    ...(active === undefined ? ofAccounts : [active]),
    ...(dn === null
      ? []
      : [
          [
            'dn',
            `LDAP name ${dn}`,
            () => directory.find('dn', dn),
            { what: 'the login name', find: byLogin },
          ] satisfies Try,
        ]),
    // An account of this directory identifies the user: another user with the same name is another person.
    ...(own.length > 0 ? [] : [['login', `login name ${login}`, byLogin, NO_RIVALS] satisfies Try]),
    ...(email === null
      ? []
      : [['email', `email address ${email}`, () => directory.find('email', email), NO_RIVALS] satisfies Try]),
  ];
  const [account] = own;
  const tie =
    account !== undefined
      ? `account ${account.uid} of ${account.provider}`
      : dn === null
        ? null
        : `LDAP name ${dn}`;
  const asks: readonly Question[] = [
    ...(own.length > 0 ? own : accounts).flatMap(({ uid }) =>
      formsOf(uid).flatMap((value) =>
        UNDER.filter((kind) => kind !== 'email' || value.includes('@')).map((kind) => ({
          ...{ kind, value },
          isStrong: true,
        })),
      ),
    ),
    ...(dn === null ? [] : [{ kind: 'dn', value: dn, isStrong: true } as const]),
    { kind: 'login', value: login, isStrong: own.length === 0 },
    ...(email === null ? [] : [{ kind: 'email', value: email, isStrong: rules.byEmail } as const]),
  ];
  const shared = { tie, accounts: own, asks };
  for (const [kind, basis, find, rivals] of tries) {
    const found = find();
    if (found.length > 0) return { ...shared, kind, basis, found, rivals };
  }
  return { ...shared, kind: null, basis: '', found: [], rivals: NO_RIVALS };
}

/** A basis, as a phrase, its matches, and the weaker matches. */
type Try = readonly [Basis, string, () => readonly number[], Rivals];

/** Whether a user without an account of this directory is linked to another one. */
function isOfAnother(
  user: User,
  { dn, hasAccounts }: { dn: string | null; hasAccounts: boolean },
  { bases, accounts }: MatchRules,
): boolean {
  if (bases === undefined) return accounts.length > 0 && (hasAccounts || dn !== null);
  if (dn !== null) return !bases.some((base) => isBelow(nameForm(dn), base));
  return hasAccounts || user.externalAccount !== 'ldap';
}

function judge(match: Match, directory: DirectoryUsers, rules: MatchRules): Verdict {
  const { kind, basis, found, rivals } = match;
  const isThere = (user: number) => directory.disabledOf(user) === null;
  if (kind === null) return judgeMissing(match, rules);
  if (kind === 'email' && !rules.byEmail)
    return match.accounts.length === 0 && found.some(isThere)
      ? 'present'
      : { why: `matches by ${basis} only` };
  const verdict = judgeMatch(found, basis, directory);
  if (verdict === 'present' || 'why' in verdict) return verdict;
  const other = rivals.find().find((user) => isThere(user) && !found.includes(user));
  if (other === undefined) return isById(match, directory) ? { ...verdict, proof: 'whole' } : verdict;
  return { why: `${verdict.evidence}, but ${entryText(directory, other)} has ${rivals.what}` };
}

/** Whether a user matches by an account id that no other user has. */
function isById({ asks, found }: Match, directory: DirectoryUsers): boolean {
  return asks.some(({ kind, value }) => kind === 'id' && directory.find(kind, value)[0] === found[0]);
}

/**
 * The verdict on a user whose entry is known from an earlier answer: the entry counts more than its names,
 * which can be changed or given to another person.
 */
function judgeKnown(
  known: number | string,
  match: Match,
  directory: DirectoryUsers,
  rules: MatchRules,
): Verdict {
  const { kind, basis, found } = match;
  const isThere = (user: number) => directory.disabledOf(user) === null;
  const isNamed = kind !== null && kind !== 'email';
  if (typeof known === 'number') {
    if (isNamed && found.includes(known)) return judge(match, directory, rules);
    const verdict = judgeMatch([known], knownText(directory.idOf(known)), directory);
    const other = isNamed ? found.find(isThere) : undefined;
    if (verdict === 'present' || 'why' in verdict || other === undefined) return verdict;
    return { why: `${verdict.evidence}, but ${basis} now belongs to ${entryText(directory, other)}` };
  }
  if (kind === null) return { basis: knownText(known), evidence: MISSING, proof: 'none' };
  if (found.some(isThere))
    return {
      why: `matches a different entry than before by ${basis}: ${known} is not in the directory any more`,
    };
  const verdict = judge(match, directory, rules);
  return typeof verdict === 'object' && 'proof' in verdict ? { ...verdict, proof: 'none' } : verdict;
}

/** The evidence for a user who is not in the list. The directory's answers about the user follow it. */
const MISSING = 'not in the list';

function knownText(id: string): string {
  return `entry ${id}, known from an earlier response`;
}

function judgeMissing({ tie, accounts }: Match, { unmatched, bases }: MatchRules): Verdict {
  if (unmatched) return { basis: tie ?? 'external user without a match', evidence: MISSING, proof: 'none' };
  // An account id may come from the provider; an LDAP name, and the name that a gateway stores for LDAP,
  // change with the entry.
  if (accounts.length > 0 && tie !== null && bases === undefined)
    return { basis: tie, evidence: MISSING, proof: 'id' };
  return { why: tie === null || bases === undefined ? 'matches no user in the directory' : renamable(tie) };
}

function renamable(tie: string): string {
  return `${tie} is not in the directory: deleted, or renamed before its entry was known`;
}

function judgeMatch(found: readonly number[], basis: string, directory: DirectoryUsers): Verdict {
  if (found.some((user) => directory.disabledOf(user) === null)) return 'present';
  const [only, ...others] = found;
  const disabled = only === undefined ? null : directory.disabledOf(only);
  if (only === undefined || disabled === null) return 'present';
  if (others.length > 0) return { why: `matches ${found.length} disabled users by ${basis}` };
  return { basis, evidence: stateText(disabled, directory.dnOf(only)), proof: 'name' };
}

/** The evidence that a user is disabled, as a phrase. */
export function stateText(
  { attribute, value, since }: NonNullable<DirectoryUser['disabled']>,
  dn: string | undefined,
): string {
  const of = dn === undefined ? '' : ` of ${dn}`;
  return `${attribute}${of} is ${value}${since === null ? '' : ` since ${since}`}`;
}

function entryText(directory: DirectoryUsers, user: number): string {
  return directory.dnOf(user) ?? `user ${directory.idOf(user)}`;
}

/** The active superusers if all of them have left: no other would remain. */
function lastSuperusers(superusers: readonly number[], gone: readonly GoneUser[]): ReadonlySet<number> {
  const ids = new Set(gone.map(({ id }) => id));
  return new Set(superusers.some((id) => !ids.has(id)) ? [] : superusers);
}
