import { isBelow, normalizedName } from '../../domain/distinguished-name.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { User } from '../../domain/token.ts';
import type { DirectoryUser, MatchRules } from '../ports/directory.ts';
import type { UserIdentities } from '../ports/target-parts.ts';

/** A user of the controller who is disabled in the directory, or not in it. */
interface GoneUser {
  readonly id: number;
  readonly username: string;
  /** What the user was matched by, as a phrase: `account 00u1 of oidc`. */
  readonly basis: string;
  /** What the directory shows, as a phrase: `status is SUSPENDED since 2026-11-20T10:00:00.000Z`. */
  readonly evidence: string;
}

/** A user who is listed and not acted on. */
interface DoubtfulUser {
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

/** What a comparison found out about the users' entries. */
export interface ComparedEntries {
  /** Whose entry is which, as far as it was not known. */
  readonly learned: readonly KnownEntry[];
  /** How many users have an entry that an earlier answer had. */
  readonly recognized: number;
  /** How many users match other entries than before, while theirs is not listed any more. */
  readonly replaced: number;
}

/** A user of the controller with how identity providers know it. */
export interface ComparedUser {
  readonly user: User;
  readonly identities: UserIdentities | undefined;
}

/** By what users match, the strongest first. */
type Basis = 'account' | 'dn' | 'login' | 'email';

type IndexedBy = 'id' | 'dn' | 'login' | 'email';

/** The users of a directory by the values that match them: letter case makes no difference in names and addresses. */
class DirectoryIndex {
  // Most values are of one user: an array for each would be most of what is kept.
  readonly #by: Readonly<Record<IndexedBy, Map<string, DirectoryUser | DirectoryUser[]>>> = {
    id: new Map(),
    dn: new Map(),
    login: new Map(),
    email: new Map(),
  };

  constructor(users: readonly DirectoryUser[]) {
    for (const user of users) {
      this.#add('id', user.id, user);
      if (user.dn !== undefined) this.#add('dn', nameForm(user.dn), user);
      for (const login of user.logins) this.#add('login', login.toLowerCase(), user);
      for (const email of user.emails) this.#add('email', email.toLowerCase(), user);
    }
  }

  #add(kind: IndexedBy, key: string, user: DirectoryUser): void {
    const known = this.#by[kind].get(key);
    if (known === undefined) this.#by[kind].set(key, user);
    // A user's own values come one after another.
    else if (!Array.isArray(known)) {
      if (known !== user) this.#by[kind].set(key, [known, user]);
    } else if (known.at(-1) !== user) known.push(user);
  }

  #find(kind: IndexedBy, key: string): readonly DirectoryUser[] {
    const found = this.#by[kind].get(key);
    return found === undefined ? [] : Array.isArray(found) ? found : [found];
  }

  /** By the id that the provider gave the account, or by the name or address that the backend keeps instead. */
  ofAccount(uid: string): readonly DirectoryUser[] {
    // SAML backends put the name of the identity provider before the id: `idp:name`. The bundled service puts the issuer of an
    // OpenID provider before the subject: `https://idp.example.org|subject`.
    const forms = new Set([
      uid,
      ...(/^https?:\/\/[^|]+\|/.test(uid)
        ? [uid.slice(uid.indexOf('|') + 1)]
        : [uid.slice(uid.indexOf(':') + 1)]),
    ]);
    const found = [...forms].flatMap((form) => [
      ...this.#find('id', form),
      ...this.#find('login', form.toLowerCase()),
      ...this.#find('email', form.toLowerCase()),
    ]);
    return [...new Set(found)];
  }

  ofName(dn: string): readonly DirectoryUser[] {
    return this.#find('dn', nameForm(dn));
  }

  ofEntry(id: string): DirectoryUser | undefined {
    return this.#find('id', id)[0];
  }

  of(kind: 'login' | 'email', value: string): readonly DirectoryUser[] {
    return this.#find(kind, value.toLowerCase());
  }
}

/** A name of an LDAP entry in the form in which names are compared. */
function nameForm(dn: string): string {
  return normalizedName(dn) ?? dn.toLowerCase();
}

/**
 * Compares the users of a controller with those of a directory. Gone is who matches a disabled user only, who has an account of this
 * directory that is not in it, or whose known entry is not in it any more. Never on a guess: who matches several, nobody, another
 * entry than before, or by mail address only is doubtful, unless the rules say otherwise. Local users, users of other directories,
 * the caller and exceptions stay, and so do superusers if no other would be left.
 */
export async function compareUsers(
  users: AsyncIterable<ComparedUser> | Iterable<ComparedUser>,
  options: {
    readonly directory: readonly DirectoryUser[];
    readonly rules: MatchRules;
    /** The id of the caller; null where the caller is no user. */
    readonly own: number | null;
    /** The ids of the users' entries as earlier answers had them, by the ids of the users. */
    readonly entries?: ReadonlyMap<number, string> | undefined;
  },
): Promise<DirectoryComparison & ComparedEntries> {
  const { rules, own, entries } = options;
  const index = new DirectoryIndex(options.directory);
  const gone: GoneUser[] = [];
  const doubtful: DoubtfulUser[] = [];
  const tally = { learned: [] as KnownEntry[], recognized: 0, replaced: 0 };
  const superusers: number[] = [];
  let [present, kept] = [0, 0];
  for await (const { user, identities } of users) {
    const { id, username } = user;
    if (user.isSuperuser && user.isActive !== false) superusers.push(id);
    const isKept = id === own || user.externalAccount === null || matchesAny(username, rules.except);
    const match = isKept ? null : matchOf({ user, identities }, index, rules);
    if (match === null) {
      kept += 1;
      continue;
    }
    const known = entries?.get(id);
    const verdict = known === undefined ? judge(match, rules) : judgeKnown(known, match, index, rules);
    if (known === undefined) tally.learned.push(...learnedOf(id, match));
    else if (index.ofEntry(known) !== undefined) tally.recognized += 1;
    else tally.replaced += Math.min(match.found.length, 1);
    if (verdict === 'present') present += 1;
    else if ('why' in verdict) doubtful.push({ id, username, ...verdict });
    else gone.push({ id, username, ...verdict });
  }
  const spared = lastSuperusers(superusers, gone);
  return {
    gone: gone.filter(({ id }) => !spared.has(id)),
    doubtful: [
      ...doubtful,
      ...gone
        .filter(({ id }) => spared.has(id))
        .map(({ id, username, evidence }) => ({
          id,
          username,
          why: `${evidence}, but no other active superuser would be left`,
        })),
    ],
    present,
    kept,
    ...tally,
  };
}

type Verdict = 'present' | { readonly why: string } | { readonly basis: string; readonly evidence: string };

/** Which users of the directory match, by the strongest basis by which any do. */
interface Match {
  readonly kind: Basis | null;
  /** As a phrase: `login name alice`. */
  readonly basis: string;
  /** Empty if nothing matches. */
  readonly found: readonly DirectoryUser[];
  /** Who has the login name, where something stronger matches. */
  readonly byLogin: readonly DirectoryUser[];
  /** What ties the user to this directory, as a phrase; null for nothing but the name. */
  readonly tie: string | null;
  /** Whether the tie is an account, whose id the controller has from the provider. */
  readonly hasAccount: boolean;
}

/** Null for a user of another directory. */
function matchOf({ user, identities }: ComparedUser, index: DirectoryIndex, rules: MatchRules): Match | null {
  const accounts = identities?.accounts ?? [];
  const own = accounts.filter(({ provider }) => rules.accounts.includes(provider));
  const dn = identities?.ldapDn ?? null;
  if (own.length === 0 && isOfAnother(user, { dn, hasAccounts: accounts.length > 0 }, rules)) return null;
  const login = rules.loginName.replaceAll('{username}', user.username);
  const email = identities?.email ?? null;
  const ofAccounts = (own.length > 0 ? own : accounts).map(
    ({ provider, uid }) => ['account', `account ${uid} of ${provider}`, () => index.ofAccount(uid)] as const,
  );
  const tries: readonly (readonly [Basis, string, () => readonly DirectoryUser[]])[] = [
    ...ofAccounts,
    ...(dn === null ? [] : [['dn', `LDAP name ${dn}`, () => index.ofName(dn)] as const]),
    // An account of this directory says which user it is: another user of the same name is another person.
    ...(own.length > 0 ? [] : [['login', `login name ${login}`, () => index.of('login', login)] as const]),
    ...(email === null ? [] : [['email', `mail address ${email}`, () => index.of('email', email)] as const]),
  ];
  const [account] = own;
  const tie =
    account !== undefined
      ? `account ${account.uid} of ${account.provider}`
      : dn === null
        ? null
        : `LDAP name ${dn}`;
  const shared = { tie, hasAccount: account !== undefined };
  for (const [kind, basis, find] of tries) {
    const found = find();
    if (found.length === 0) continue;
    return { ...shared, kind, basis, found, byLogin: kind === 'dn' ? index.of('login', login) : [] };
  }
  return { ...shared, kind: null, basis: '', found: [], byLogin: [] };
}

/** Whether a user without an account of this directory is tied to another one. */
function isOfAnother(
  user: User,
  { dn, hasAccounts }: { readonly dn: string | null; readonly hasAccounts: boolean },
  { bases, accounts }: MatchRules,
): boolean {
  if (bases === undefined) return accounts.length > 0 && (hasAccounts || dn !== null);
  if (dn !== null) return !bases.some((base) => isBelow(nameForm(dn), base));
  return hasAccounts || user.externalAccount !== 'ldap';
}

/** Whose entry is known from now on: the only one that matches, but not by mail address. */
function learnedOf(userId: number, { kind, found }: Match): readonly KnownEntry[] {
  const [entry, ...others] = found;
  return kind === 'email' || entry === undefined || others.length > 0 ? [] : [{ userId, entry: entry.id }];
}

function judge(match: Match, rules: MatchRules): Verdict {
  const { kind, basis, found, byLogin } = match;
  if (kind === null) return judgeMissing(match, rules);
  if (kind === 'email' && !rules.byEmail) {
    const isThere = found.some(({ disabled }) => disabled === null);
    return !match.hasAccount && isThere ? 'present' : { why: `matches by ${basis} only` };
  }
  const verdict = judgeMatch(found, basis);
  const other = byLogin.find((user) => user.disabled === null && !found.includes(user));
  if (verdict === 'present' || 'why' in verdict || other === undefined) return verdict;
  return { why: `${verdict.evidence}, but ${entryText(other)} has the login name` };
}

/**
 * The verdict on a user whose entry an earlier answer had: the entry says more than its names, which may be changed or given to
 * another person.
 */
function judgeKnown(id: string, match: Match, index: DirectoryIndex, rules: MatchRules): Verdict {
  const entry = index.ofEntry(id);
  const { kind, basis, found } = match;
  const isNamed = kind !== null && kind !== 'email';
  if (entry !== undefined) {
    if (isNamed && found.includes(entry)) return judge(match, rules);
    const verdict = judgeMatch([entry], `entry ${id}, known since an earlier answer`);
    const other = isNamed ? found.find(({ disabled }) => disabled === null) : undefined;
    if (verdict === 'present' || 'why' in verdict || other === undefined) return verdict;
    return { why: `${verdict.evidence}, but ${basis} is now of ${entryText(other)}` };
  }
  if (kind === null)
    return {
      basis: `entry ${id}, known since an earlier answer`,
      evidence: 'the entry is not in the directory any more',
    };
  return found.some(({ disabled }) => disabled === null)
    ? { why: `matches another entry than before by ${basis}: ${id} is not in the directory any more` }
    : judge(match, rules);
}

function judgeMissing({ tie, hasAccount }: Match, { unmatched, bases }: MatchRules): Verdict {
  const evidence = 'not in the directory';
  // The id of an account is the provider's; an LDAP name, and the name that a gateway keeps for LDAP, change with the entry.
  if (hasAccount && tie !== null && bases === undefined) return { basis: tie, evidence };
  if (unmatched) return { basis: tie ?? 'external user without a match', evidence };
  return {
    why:
      tie === null || bases === undefined
        ? 'matches no user of the directory'
        : `${tie} is not in the directory: deleted, or renamed before its entry was known`,
  };
}

function judgeMatch(found: readonly DirectoryUser[], basis: string): Verdict {
  if (found.some(({ disabled }) => disabled === null)) return 'present';
  const [only, ...others] = found;
  if (only === undefined || only.disabled === null) return 'present';
  if (others.length > 0) return { why: `matches ${found.length} disabled users by ${basis}` };
  const { attribute, value, since } = only.disabled;
  const of = only.dn === undefined ? '' : ` of ${only.dn}`;
  return { basis, evidence: `${attribute}${of} is ${value}${since === null ? '' : ` since ${since}`}` };
}

function entryText({ id, dn }: DirectoryUser): string {
  return dn ?? `user ${id}`;
}

/** The active superusers, if all of them are gone: no other would be left. */
function lastSuperusers(superusers: readonly number[], gone: readonly GoneUser[]): ReadonlySet<number> {
  const ids = new Set(gone.map(({ id }) => id));
  return new Set(superusers.some((id) => !ids.has(id)) ? [] : superusers);
}
