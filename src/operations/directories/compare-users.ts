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
  /** What the user was matched by, as a phrase: `account 00u1 of oidc`. */
  readonly basis: string;
  /** What the directory shows, as a phrase: `status is SUSPENDED since 2026-11-20T10:00:00.000Z`. */
  readonly evidence: string;
}

/** A user who is listed and not acted on. */
export interface DoubtfulUser {
  readonly id: number;
  readonly username: string;
  /** As a clause: `several users of the directory match by login name`. */
  readonly why: string;
}

/** What became of the users of a controller in a directory. */
export interface DirectoryComparison {
  readonly gone: readonly GoneUser[];
  readonly doubtful: readonly DoubtfulUser[];
  /** How many external users are there and not disabled. */
  readonly present: number;
  /** How many users stay because they are local, of another provider, the caller, or exceptions. */
  readonly kept: number;
}

/** Which entry of a directory is a user's, by the id that never changes there. */
export interface KnownEntry {
  readonly userId: number;
  readonly entry: string;
}

/** The number of a user's entry, or the id of one that is not in the directory any more; undefined if none is known. */
export interface EarlierEntries {
  get(userId: number): number | string | undefined;
}

/** Whose entry is known from now on, by numbers: there may be a hundred thousand. */
class LearnedEntries {
  readonly #directory: DirectoryUsers;
  readonly #users: number[] = [];
  readonly #entries: number[] = [];

  constructor(directory: DirectoryUsers) {
    this.#directory = directory;
  }

  /** Adds the entry of a user: the only one that matches, but not by email address. */
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

/** What a comparison found out about the users' entries. */
export interface ComparedEntries {
  /** Whose entry is which, as far as it was not known. */
  readonly learned: Iterable<KnownEntry>;
  /** How many users have an entry that an earlier answer had. */
  readonly recognized: number;
  /** How many users match other entries than before, while theirs is not listed any more. */
  readonly replaced: number;
  /** What the list does not prove of those who are gone, by their ids. */
  readonly unproven: ReadonlyMap<number, Unproven>;
}

/** What a list alone does not prove of a user who is gone by it. */
export interface Unproven {
  /** Whether no one in the list is the user. Otherwise it shows that one with the name is disabled, who may not be the only one. */
  readonly isMissing: boolean;
  /** By what the directory is asked for the user; empty if there is no need. */
  readonly asks: readonly Question[];
  /** The accounts with which the user is missing only if their ids never change. */
  readonly ids?: UserIdentities['accounts'];
}

/** A question for one user. */
export interface Question extends Identifier {
  /** Whether a user with this value is the one: then there is no proof without an answer. */
  readonly isStrong: boolean;
}

/** By what users match, the strongest first. */
type Basis = 'account' | 'dn' | 'login' | 'email';

/**
 * Compares the users of a controller with those of a directory. Gone is who matches a disabled user only, who has an account of this
 * directory with an id that is not in it, or whose known entry is not in it any more. Never on a guess: who matches several, no one, another
 * entry than before, or by email address only is doubtful, unless the rules say otherwise. Local users, users of other directories,
 * the caller and exceptions stay, and so do superusers if no other would be left.
 */
export async function compareUsers(
  users: AsyncIterable<IdentifiedUser> | Iterable<IdentifiedUser>,
  options: {
    readonly directory: DirectoryUsers;
    readonly rules: MatchRules;
    /** The id of the caller; null where the caller is no user. */
    readonly own: number | null;
    /** The users' entries as earlier answers had them, by the ids of the users. */
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
 * What a list proves of a user: that the very entry is disabled, that one of this name is, or nothing but that it has none; `id`
 * where it has none for an account whose id may be a name.
 */
type Proof = 'whole' | 'name' | 'none' | 'id';

type Verdict =
  | 'present'
  | { readonly why: string }
  | { readonly basis: string; readonly evidence: string; readonly proof: Proof };

/** Users who may be meant as well, and what they have, as a phrase: `the login name`. */
interface Rivals {
  readonly what: string;
  readonly find: () => readonly number[];
}

const NO_RIVALS: Rivals = { what: '', find: () => [] };

/** Which users of the directory match, by the strongest basis by which any do. */
interface Match {
  readonly kind: Basis | null;
  /** As a phrase: `login name alice`. */
  readonly basis: string;
  /** Their numbers; empty if nothing matches. */
  readonly found: readonly number[];
  /** Who matches by something weaker, where that is not to be ignored: see {@link Rivals}. */
  readonly rivals: Rivals;
  /** What ties the user to this directory, as a phrase; null for nothing but the name. */
  readonly tie: string | null;
  /** The accounts of this directory, whose ids the controller has from the provider. */
  readonly accounts: UserIdentities['accounts'];
  /** By what the directory is asked for the user alone. */
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
  // Of several accounts, one that may sign in is enough.
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
    // An account of this directory says which user it is: another user of the same name is another person.
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

/** A basis, as a phrase, who matches by it, and who by something weaker. */
type Try = readonly [Basis, string, () => readonly number[], Rivals];

/** Whether a user without an account of this directory is tied to another one. */
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

/** Whether a user matches by the id of an account, which no one else has. */
function isById({ asks, found }: Match, directory: DirectoryUsers): boolean {
  return asks.some(({ kind, value }) => kind === 'id' && directory.find(kind, value)[0] === found[0]);
}

/**
 * The verdict on a user whose entry an earlier answer had: the entry says more than its names, which may be changed or given to
 * another person.
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

/** What a list shows of a user who is not in it. What the directory answers to questions for the user comes behind it. */
const MISSING = 'not in the list';

function knownText(id: string): string {
  return `entry ${id}, known from an earlier response`;
}

function judgeMissing({ tie, accounts }: Match, { unmatched, bases }: MatchRules): Verdict {
  if (unmatched) return { basis: tie ?? 'external user without a match', evidence: MISSING, proof: 'none' };
  // The id of an account may be the provider's; an LDAP name, and the name that a gateway keeps for LDAP, change with the entry.
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

/** What shows that a user is disabled, as a phrase. */
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

/** The active superusers, if all of them are gone: no other would be left. */
function lastSuperusers(superusers: readonly number[], gone: readonly GoneUser[]): ReadonlySet<number> {
  const ids = new Set(gone.map(({ id }) => id));
  return new Set(superusers.some((id) => !ids.has(id)) ? [] : superusers);
}
