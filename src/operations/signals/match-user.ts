import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  accountAddress,
  domainOf,
  identifiersOf,
  isSameAddress,
  type SimpleIdentifier,
  type SubjectIdentifier,
} from '@tokenctl/common/signals/subject-identifier.ts';
import type { User } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';

/** How a transmitter's subjects are matched with users. */
export interface MatchingRules {
  /** The issuers whose subjects the transmitter may report: its own, and the configured ones. */
  readonly issuers: readonly string[];
  /** The mail domains that it may report; empty for all. */
  readonly domains: readonly string[];
  /** Social accounts of its users; null if it has none here. */
  readonly accounts: {
    /** The backend or authenticator of the accounts, by the controller's name. */
    readonly provider: string;
    /** The account's id, with `{sub}`, `{iss}` and `{email}` replaced by the subject's values. */
    readonly uid: string;
  } | null;
}

/** The result of matching a subject. */
export type Match =
  | {
      readonly result: 'user';
      readonly user: User;
      readonly basis: string;
      /** Whether only the login name identifies the user. */
      readonly isByName: boolean;
    }
  | { readonly result: 'none' }
  /** It must not be acted on: several users match, or the transmitter may not report this subject. */
  | { readonly result: 'doubt'; readonly why: string };

/**
 * Finds the user of a subject: by the social account if the target shows it, else by an equal email address
 * or login name, if exactly one user matches. Never by part of a name. All aliases must match the same user.
 * A subject that could not be looked up here is doubtful: it is not known to match no one.
 * @throws TokenctlError whatever the target throws.
 */
export async function matchUser(
  target: Target,
  subject: SubjectIdentifier,
  rules: MatchingRules,
): Promise<Match> {
  const identifiers = identifiersOf(subject);
  for (const identifier of identifiers) {
    const doubt = doubtAbout(identifier, rules);
    if (doubt !== null) return { result: 'doubt', why: doubt };
  }
  const found = new Map<number, Basis>();
  let why: string | null = null;
  for (const identifier of identifiers) {
    const { users, unread } = await candidates(target, identifier, rules);
    why ??= unread;
    for (const [id, basis] of users) if (!found.has(id)) found.set(id, basis);
  }
  if (found.size === 0) return why === null ? { result: 'none' } : { result: 'doubt', why };
  const users = await Array.fromAsync(target.users.list({ ids: [...found.keys()] }));
  const [user, ...others] = users;
  // Deleted since.
  if (user === undefined) return { result: 'none' };
  if (others.length === 0)
    return { result: 'user', user, ...(found.get(user.id) ?? { basis: '', isByName: true }) };
  const names = users.map(({ username }) => username).sort();
  return { result: 'doubt', why: `Several users match: ${names.join(', ')}` };
}

/** The user with a name that a person chose. */
export async function namedUser(target: Target, name: string): Promise<Match> {
  const [user] = await Array.fromAsync(target.users.list({ names: [name] }));
  return user === undefined
    ? { result: 'none' }
    : { result: 'user', user, basis: 'chosen by a person', isByName: true };
}

function doubtAbout(identifier: SimpleIdentifier, { issuers, domains }: MatchingRules): string | null {
  if (identifier.format === 'iss_sub' && !issuers.includes(identifier.iss))
    return `The subject belongs to a different issuer: ${identifier.iss}`;
  const address = addressOf(identifier);
  if (address === null || domains.length === 0) return null;
  const domain = domainOf(address);
  return domains.includes(domain) ? null : `The subject belongs to a different mail domain: ${domain}`;
}

function addressOf(identifier: SimpleIdentifier): string | null {
  if (identifier.format === 'email') return identifier.email;
  return identifier.format === 'account' ? accountAddress(identifier.uri) : null;
}

/** What a user was matched by. */
type Basis = Pick<Match & { readonly result: 'user' }, 'basis' | 'isByName'>;

/** Users by id, with what they were matched by. */
interface Candidates {
  readonly users: ReadonlyMap<number, Basis>;
  /** Why the users of this identifier could not be read; null if they were. */
  readonly unread: string | null;
}

async function candidates(
  target: Target,
  identifier: SimpleIdentifier,
  { accounts }: MatchingRules,
): Promise<Candidates> {
  const uid = accounts && accountId(identifier, accounts.uid);
  const ids =
    accounts === null || uid === null
      ? null
      : await target.users.identified({ provider: accounts.provider, uid });
  if (ids !== null && ids.length > 0) {
    const basis = `account ${uid} of ${accounts?.provider}`;
    return { users: new Map(ids.map((id) => [id, { basis, isByName: false }])), unread: null };
  }
  const address = addressOf(identifier);
  if (address === null)
    return { users: new Map(), unread: ids === null ? unreadBecause(accounts, uid) : null };
  const users = new Map<number, Basis>();
  for (const id of (await byAddress(target, address)) ?? [])
    users.set(id, { basis: `email address ${address}`, isByName: false });
  for await (const { id, username } of target.users.list({ names: [address] }))
    if (isSameAddress(username, address)) users.set(id, { basis: `login name ${address}`, isByName: true });
  return { users, unread: null };
}

function unreadBecause(accounts: MatchingRules['accounts'], uid: string | null): string {
  if (accounts === null)
    return 'The configuration does not say how to match accounts: add `accounts` to the transmitter';
  if (uid === null) return `The subject lacks a value for the account ID ${accounts.uid}`;
  return `No account of ${accounts.provider} can be read here`;
}

function byAddress(target: Target, email: string): Promise<readonly number[] | null> {
  return target.users.identified({ email }).catch((error: unknown) => {
    if (!(error instanceof TokenctlError) || error.code !== 'permission_refused') throw error;
    throw new TokenctlError(
      'permission_refused',
      'Email addresses cannot be read, so no subject can be matched',
      { hint: error.hint, cause: error },
    );
  });
}

/** The id of an account from its template; null if the subject lacks a value that the template uses. */
function accountId(identifier: SimpleIdentifier, template: string): string | null {
  const values: Readonly<Record<string, string | null>> = {
    sub:
      identifier.format === 'iss_sub'
        ? identifier.sub
        : identifier.format === 'opaque'
          ? identifier.id
          : null,
    iss: identifier.format === 'iss_sub' ? identifier.iss : null,
    email: addressOf(identifier),
  };
  let complete = true;
  const uid = template.replace(/\{(sub|iss|email)\}/g, (_, name: string) => {
    const value = values[name] ?? null;
    if (value === null) complete = false;
    return value ?? '';
  });
  return complete ? uid : null;
}
