import type { DirectoryUsers } from '../../domain/directory-users.ts';
import type { UserIdentities } from '../ports/target-parts.ts';

/** User fields that a backend stores as the account's id, most reliable first: users may choose others. */
export const UNDER = ['id', 'login', 'email'] as const;

/**
 * The forms of an account's id. SAML backends put the name of the identity provider before it: `idp:name`.
 * The bundled service puts the issuer of an OpenID provider before the subject:
 * `https://idp.example.org|subject`.
 */
export function formsOf(uid: string): readonly string[] {
  const place = /^https?:\/\/[^|]+\|/.test(uid) ? uid.indexOf('|') : uid.indexOf(':');
  return [...new Set([uid, uid.slice(place + 1)])];
}

/** The users whose name matches an account. */
export function calledAs(
  users: DirectoryUsers,
  uid: string,
  kind: (typeof UNDER)[number],
): readonly number[] {
  return [...new Set(formsOf(uid).flatMap((form) => users.find(kind, form)))];
}

/** The users with this account id; if none, those with the name or address that a backend stores instead. */
export function ofAccount(users: DirectoryUsers, uid: string): readonly number[] {
  for (const kind of UNDER) {
    const found = calledAs(users, uid, kind);
    if (found.length > 0) return found;
  }
  return [];
}

/** Whether a provider's account ids are stable ids or changeable names, judged by accounts in a directory. */
export class AccountIds {
  readonly #directory: DirectoryUsers;
  readonly #kinds = new Map<string, Set<(typeof UNDER)[number]>>();

  constructor(directory: DirectoryUsers) {
    this.#directory = directory;
  }

  /** Adds the accounts of a user. An account that matches no one in the directory is ignored. */
  add(accounts: UserIdentities['accounts']): void {
    for (const { provider, uid } of accounts) {
      const kind = UNDER.find((each) => calledAs(this.#directory, uid, each).length > 0);
      const kinds = this.#kinds.get(provider) ?? new Set();
      if (kind !== undefined) this.#kinds.set(provider, kinds.add(kind));
    }
  }

  /** Whether accounts of these providers were found, each by an id. */
  areIds(accounts: UserIdentities['accounts']): boolean {
    return accounts.every(({ provider }) => [...(this.#kinds.get(provider) ?? [])].join() === 'id');
  }
}
