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

/** A user of the controller with how identity providers know it. */
export interface ComparedUser {
  readonly user: User;
  readonly identities: UserIdentities | undefined;
}

/** By what users match, the strongest first. */
type Basis = 'account' | 'dn' | 'login' | 'email';

/** The users of a directory by the values that match them: letter case makes no difference in names and addresses. */
class DirectoryIndex {
  readonly #by: Readonly<Record<'id' | 'dn' | 'login' | 'email', Map<string, DirectoryUser[]>>> = {
    id: new Map(),
    dn: new Map(),
    login: new Map(),
    email: new Map(),
  };

  constructor(users: readonly DirectoryUser[]) {
    for (const user of users) {
      this.#add('id', user.id, user);
      if (user.dn !== undefined) this.#add('dn', user.dn.toLowerCase(), user);
      for (const login of user.logins) this.#add('login', login.toLowerCase(), user);
      for (const email of user.emails) this.#add('email', email.toLowerCase(), user);
    }
  }

  #add(kind: 'id' | 'dn' | 'login' | 'email', key: string, user: DirectoryUser): void {
    const known = this.#by[kind].get(key);
    if (known === undefined) this.#by[kind].set(key, [user]);
    else if (!known.includes(user)) known.push(user);
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
      ...(this.#by.id.get(form) ?? []),
      ...(this.#by.login.get(form.toLowerCase()) ?? []),
      ...(this.#by.email.get(form.toLowerCase()) ?? []),
    ]);
    return [...new Set(found)];
  }

  of(kind: 'dn' | 'login' | 'email', value: string): readonly DirectoryUser[] {
    return this.#by[kind].get(value.toLowerCase()) ?? [];
  }
}

/**
 * Compares the users of a controller with those of a directory. Gone is who matches a disabled user only, or who has an account
 * or an LDAP name of this directory that is not in it. Never on a guess: who matches several, nobody, or by mail address only is
 * doubtful, unless the rules say otherwise. Local users, the caller and exceptions stay, and so do superusers if no other would
 * be left.
 */
export function compareUsers(
  users: readonly ComparedUser[],
  options: {
    readonly directory: readonly DirectoryUser[];
    readonly rules: MatchRules;
    /** The id of the caller; null where the caller is no user. */
    readonly own: number | null;
  },
): DirectoryComparison {
  const { rules, own } = options;
  const index = new DirectoryIndex(options.directory);
  const gone: GoneUser[] = [];
  const doubtful: DoubtfulUser[] = [];
  let [present, kept] = [0, 0];
  for (const { user, identities } of users) {
    const { id, username } = user;
    if (id === own || user.externalAccount === null || matchesAny(username, rules.except)) {
      kept += 1;
      continue;
    }
    const verdict = judge({ user, identities }, index, rules);
    if (verdict === 'kept') kept += 1;
    else if (verdict === 'present') present += 1;
    else if ('why' in verdict) doubtful.push({ id, username, ...verdict });
    else gone.push({ id, username, ...verdict });
  }
  const spared = lastSuperusers(users, gone);
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
  };
}

type Verdict =
  | 'kept'
  | 'present'
  | { readonly why: string }
  | { readonly basis: string; readonly evidence: string };

function judge({ user, identities }: ComparedUser, index: DirectoryIndex, rules: MatchRules): Verdict {
  const accounts = identities?.accounts ?? [];
  const own = accounts.filter(({ provider }) => rules.accounts.includes(provider));
  // An account of another provider: this directory does not speak for the user.
  if (rules.accounts.length > 0 && accounts.length > 0 && own.length === 0) return 'kept';
  const login = rules.loginName.replaceAll('{username}', user.username);
  const dn = identities?.ldapDn ?? null;
  const email = identities?.email ?? null;
  const tries: readonly (readonly [Basis, string, () => readonly DirectoryUser[]])[] = [
    ...(own.length > 0 ? own : accounts).map(
      ({ provider, uid }) =>
        ['account', `account ${uid} of ${provider}`, () => index.ofAccount(uid)] as const,
    ),
    ...(dn === null ? [] : [['dn', `LDAP name ${dn}`, () => index.of('dn', dn)] as const]),
    // An account of this directory says which user it is: another user of the same name is another person.
    ...(own.length > 0 ? [] : [['login', `login name ${login}`, () => index.of('login', login)] as const]),
    ...(email === null ? [] : [['email', `mail address ${email}`, () => index.of('email', email)] as const]),
  ];
  for (const [kind, basis, find] of tries) {
    const found = find();
    if (found.length === 0) continue;
    if (kind !== 'email' || rules.byEmail) return judgeMatch(found, basis);
    const isThere = found.some(({ disabled }) => disabled === null);
    return own.length === 0 && isThere ? 'present' : { why: `matches by ${basis} only` };
  }
  return judgeMissing(own, rules);
}

function judgeMissing([account]: UserIdentities['accounts'], { unmatched }: MatchRules): Verdict {
  const evidence = 'not in the directory';
  if (account !== undefined) return { basis: `account ${account.uid} of ${account.provider}`, evidence };
  if (unmatched) return { basis: 'external user without a match', evidence };
  return { why: 'matches no user of the directory' };
}

function judgeMatch(found: readonly DirectoryUser[], basis: string): Verdict {
  if (found.some(({ disabled }) => disabled === null)) return 'present';
  const [only, ...others] = found;
  if (only === undefined || only.disabled === null) return 'present';
  if (others.length > 0) return { why: `matches ${found.length} disabled users by ${basis}` };
  const { attribute, value, since } = only.disabled;
  return { basis, evidence: `${attribute} is ${value}${since === null ? '' : ` since ${since}`}` };
}

/** The superusers among those who are gone, if no other active superuser would be left. */
function lastSuperusers(users: readonly ComparedUser[], gone: readonly GoneUser[]): ReadonlySet<number> {
  const ids = new Set(gone.map(({ id }) => id));
  const superusers = users.filter(({ user }) => user.isSuperuser && user.isActive !== false);
  const isSafe = superusers.some(({ user }) => !ids.has(user.id));
  return new Set(isSafe ? [] : superusers.map(({ user }) => user.id));
}
