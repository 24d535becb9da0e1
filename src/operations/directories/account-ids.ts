import type { DirectoryUsers } from '../../domain/directory-users.ts';
import type { UserIdentities } from '../ports/target-parts.ts';

/** What of a directory's user a backend keeps as the id of an account, the strongest first: users may choose a name or an address. */
export const UNDER = ['id', 'login', 'email'] as const;

/**
 * The forms of an account's id. SAML backends put the name of the identity provider before it: `idp:name`. The bundled service puts
 * the issuer of an OpenID provider before the subject: `https://idp.example.org|subject`.
 */
export function formsOf(uid: string): readonly string[] {
  const place = /^https?:\/\/[^|]+\|/.test(uid) ? uid.indexOf('|') : uid.indexOf(':');
  return [...new Set([uid, uid.slice(place + 1)])];
}

/** The users who are called as an account is. */
export function calledAs(
  users: DirectoryUsers,
  uid: string,
  kind: (typeof UNDER)[number],
): readonly number[] {
  return [...new Set(formsOf(uid).flatMap((form) => users.find(kind, form)))];
}

/** The users with an account's id as theirs; if there is none, with the name or address that the backend keeps instead. */
export function ofAccount(users: DirectoryUsers, uid: string): readonly number[] {
  for (const kind of UNDER) {
    const found = calledAs(users, uid, kind);
    if (found.length > 0) return found;
  }
  return [];
}

/** Whether the accounts of each provider have ids that never change, or names, which do: by those that are in a directory. */
export class AccountIds {
  readonly #directory: DirectoryUsers;
  readonly #kinds = new Map<string, Set<(typeof UNDER)[number]>>();

  constructor(directory: DirectoryUsers) {
    this.#directory = directory;
  }

  /** Adds the accounts of a user: one that is no one's in the directory says nothing. */
  add(accounts: UserIdentities['accounts']): void {
    for (const { provider, uid } of accounts) {
      const kind = UNDER.find((each) => calledAs(this.#directory, uid, each).length > 0);
      const kinds = this.#kinds.get(provider) ?? new Set();
      if (kind !== undefined) this.#kinds.set(provider, kinds.add(kind));
    }
  }

  /** Whether accounts of the providers of some were found, and each by an id. */
  areIds(accounts: UserIdentities['accounts']): boolean {
    return accounts.every(({ provider }) => [...(this.#kinds.get(provider) ?? [])].join() === 'id');
  }
}
