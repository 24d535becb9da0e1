import { TokenctlError } from '@tokenctl/common/errors.ts';
import { AndFilter, EqualityFilter, type Filter, FilterParser, OrFilter, type SearchEntry } from 'ldapts';
import { IdSet } from '../domain/compact-collections.ts';
import { type DirectoryUser, DirectoryUsers, type Identifier, nameForm } from '../domain/directory-users.ts';
import type { DirectAnswer } from '../operations/ports/directory.ts';
import { type LdapConnection, NO_SUCH_OBJECT } from './ldap-connection.ts';
import { DISABLED_ATTRIBUTES, disabledBy, firstText, LdapAttributes } from './ldap-disabled.ts';
import { chainMembers, type PosixMembers, walkGroups } from './ldap-groups.ts';
import { given } from './provider-users.ts';

/** Which entries of a directory are users, and which attributes disable them. */
export interface LdapSource {
  /** The directory's name in messages. */
  readonly name: string;
  /** Active Directory itself resolves nested groups, and shows `userAccountControl` of every user. */
  readonly isActiveDirectory: boolean;
  readonly bases: readonly string[];
  readonly filter: Filter;
  /** Entries that match this filter are disabled. */
  readonly disabledFilter?: Filter | undefined;
  /** The attribute with an immutable value, even if the entry is renamed. */
  readonly idAttribute: string;
  readonly loginAttributes: readonly string[];
  readonly mailAttribute: string;
  /** Group names: a user in none of them counts as disabled. Empty if groups do not matter. */
  readonly groups: readonly string[];
}

/**
 * Reads the users of an LDAP directory below its bases, each once.
 * @param now Accounts that expired before are disabled.
 * @throws TokenctlError `target_misbehaved` for an entry without its id, for two entries with the same id, for Active
 * Directory without `userAccountControl`, and for a required group without members; and as the connection.
 */
export async function readLdapUsers(
  connection: LdapConnection,
  source: LdapSource,
  now: Date,
): Promise<DirectoryUsers> {
  const { disabledFilter, groups, isActiveDirectory } = source;
  const users = new DirectoryUsers();
  for await (const entry of entriesOf(connection, source, source.filter, wanted(source))) {
    const user = userOf(entry, source, now);
    if (!users.add(user)) requireSameEntry(users, user, source);
  }
  const matching = (some: readonly Filter[]) => matchingUsers(connection, source, { users, some });
  const filtered = disabledFilter === undefined ? null : await matching([disabledFilter]);
  const members =
    groups.length === 0
      ? null
      : isActiveDirectory
        ? await chainMembers(connection, groups, { users, matching })
        : await walkGroups(connection, groups, {
            users,
            addPosixMembers: (found, posix) => addPosixMembers(connection, source, { users, found, posix }),
          });
  for (let number = 0; number < users.size; number += 1) {
    if (filtered?.has(number)) users.disable(number, FILTERED);
    if (members?.has(number) === false) users.disable(number, NO_GROUP);
  }
  return users;
}

/** How many identifiers one search contains: without an index, the server scans every entry for each search. */
const ASKED_AT_ONCE = 25;

/**
 * Queries users by ids, names and addresses, below the bases and with the filter. Ignores required groups.
 * @returns An answer to each question. An entry that matches a search, but no question by our comparison, is
 * an answer to each.
 * @throws TokenctlError as the connection, except for the server's result of a search.
 */
export async function findLdapUsers(
  connection: LdapConnection,
  source: LdapSource,
  { asked, now }: { asked: readonly Identifier[]; now: Date },
): Promise<readonly DirectAnswer[]> {
  const answers: DirectAnswer[] = [];
  const numbered = [...asked.entries()];
  for (const [index, { value }] of numbered.filter(([, { kind }]) => kind === 'dn')) {
    const entries = connection.search({
      base: value,
      scope: 'base',
      filter: source.filter,
      attributes: wanted(source),
    });
    const found = await usersIn(entries, source, now);
    answers[index] = 'why' in found ? found : { found: [...found.users] };
  }
  const others = numbered.filter(([, { kind }]) => kind !== 'dn');
  for (let from = 0; from < others.length; from += ASKED_AT_ONCE) {
    const batch = others.slice(from, from + ASKED_AT_ONCE);
    const some = new OrFilter({ filters: batch.flatMap(([, each]) => filtersFor(each, source)) });
    const filter = new AndFilter({ filters: [source.filter, some] });
    const found = await usersIn(entriesOf(connection, source, filter, wanted(source)), source, now);
    const numbers = batch.map(([, { kind, value }]) => ('why' in found ? [] : found.users.find(kind, value)));
    const known = new Set(numbers.flat());
    const rest = 'why' in found ? [] : [...found.users].filter((_, number) => !known.has(number));
    for (const [place, [index]] of batch.entries())
      answers[index] =
        'why' in found
          ? found
          : { found: [...(numbers[place] ?? []).map((number) => found.users.at(number)), ...rest] };
  }
  return answers;
}

async function usersIn(
  entries: AsyncIterable<SearchEntry>,
  source: LdapSource,
  now: Date,
): Promise<{ readonly users: DirectoryUsers } | { readonly why: string }> {
  const users = new DirectoryUsers();
  try {
    for await (const entry of entries) users.add(userOf(entry, source, now));
  } catch (error) {
    const result = error instanceof TokenctlError ? error.details?.['result'] : undefined;
    if (result === NO_SUCH_OBJECT) return { users };
    if (result === undefined || !(error instanceof TokenctlError)) throw error;
    return { why: error.message };
  }
  return { users };
}

function filtersFor({ kind, value }: Identifier, source: LdapSource): readonly Filter[] {
  const equal = (attribute: string, of: string | Buffer = value) =>
    new EqualityFilter({ attribute, value: of });
  if (kind === 'email') return [equal(source.mailAttribute)];
  if (kind === 'login') return source.loginAttributes.map((attribute) => equal(attribute));
  // An id that is not text was stored as hexadecimal digits: see idOf.
  const bytes = Buffer.from(value.replaceAll('-', ''), 'hex');
  const hasBytes = bytes.toString('hex') === value.replaceAll('-', '').toLowerCase() && bytes.length > 0;
  const isGuid = isObjectGuid(source, bytes);
  return [
    equal(source.idAttribute),
    ...(hasBytes ? [equal(source.idAttribute, isGuid ? guidBytes(bytes) : bytes)] : []),
  ];
}

/** Parses a filter (RFC 4515). Throws `configuration`. */
export function readFilter(text: string, setting: string): Filter {
  try {
    return FilterParser.parseString(text);
  } catch {
    throw new TokenctlError('configuration', `${setting} is not an LDAP filter: ${text}`, {
      hint: 'Use the syntax of RFC 4515, for example (&(objectClass=person)(!(employeeType=guest))).',
    });
  }
}

const FILTERED = { attribute: 'disabledFilter', value: 'true', since: null };
const NO_GROUP = { attribute: 'membership', value: 'outside the required groups', since: null };

function wanted({ idAttribute, loginAttributes, mailAttribute }: LdapSource): readonly string[] {
  return [idAttribute, ...loginAttributes, mailAttribute, ...DISABLED_ATTRIBUTES];
}

/** The numbers of the users that also match one of some filters, with one search for each. */
async function matchingUsers(
  connection: LdapConnection,
  source: LdapSource,
  { users, some }: { users: DirectoryUsers; some: readonly Filter[] },
): Promise<IdSet> {
  const found = new IdSet();
  for (const also of some) {
    const filter = new AndFilter({ filters: [source.filter, also] });
    for await (const entry of entriesOf(connection, source, filter, [source.idAttribute]))
      for (const number of users.find('id', idOf(entry.name, new LdapAttributes(entry), source)))
        found.add(number);
  }
  return found;
}

/** Re-reads the users: `uid` may not be among their login names. It is case-insensitive (RFC 4519 §2.39). */
async function addPosixMembers(
  connection: LdapConnection,
  source: LdapSource,
  { users, found, posix }: { users: DirectoryUsers; found: IdSet; posix: PosixMembers },
): Promise<void> {
  const form = (text: string) => text.normalize('NFC').toLowerCase();
  const uids = new Set(Array.from(posix.uids, form));
  for await (const entry of entriesOf(connection, source, source.filter, [
    source.idAttribute,
    'uid',
    'gidNumber',
  ])) {
    const attributes = new LdapAttributes(entry);
    const isMember =
      attributes.texts('uid').some((uid) => uids.has(form(uid))) ||
      attributes.texts('gidNumber').some((number) => posix.gidNumbers.has(number));
    if (!isMember) continue;
    for (const number of users.find('id', idOf(entry.name, attributes, source))) found.add(number);
  }
}

async function* entriesOf(
  connection: LdapConnection,
  { bases }: LdapSource,
  filter: Filter,
  attributes: readonly string[],
): AsyncGenerator<SearchEntry> {
  for (const base of bases) yield* connection.search({ base, scope: 'sub', filter, attributes });
}

function userOf(entry: SearchEntry, source: LdapSource, now: Date): DirectoryUser {
  const attributes = new LdapAttributes(entry);
  const id = idOf(entry.name, attributes, source);
  if (source.isActiveDirectory && firstText(attributes, 'userAccountControl') === null) {
    throw new TokenctlError(
      'target_misbehaved',
      `${source.name} does not show userAccountControl of ${entry.name}, so no one there would count as disabled`,
      { hint: 'Give the account permission to read this attribute for all users.' },
    );
  }
  return {
    id,
    dn: entry.name,
    logins: given(source.loginAttributes.flatMap((name) => attributes.texts(name))),
    emails: given(attributes.texts(source.mailAttribute)),
    disabled: disabledBy(entry.name, attributes, now),
  };
}

/** An entry below two bases appears twice. Of two entries with one id, one user would count as deleted. */
function requireSameEntry(
  users: DirectoryUsers,
  { id, dn = '' }: DirectoryUser,
  { name, idAttribute }: LdapSource,
): void {
  const known = users.find('id', id).map((number) => users.dnOf(number) ?? '');
  if (known.some((each) => nameForm(each) === nameForm(dn))) return;
  throw new TokenctlError(
    'target_misbehaved',
    `${name} shows the same ${idAttribute} for two entries: ${known.join(', ')} and ${dn}`,
    {
      hint: 'Set `idAttribute` to an attribute that is unique for each entry. If an entry was renamed, run the command again.',
    },
  );
}

function idOf(dn: string, attributes: LdapAttributes, { name, idAttribute }: LdapSource): string {
  const [value] = attributes.bytes(idAttribute);
  if (value === undefined || value.length === 0) {
    throw new TokenctlError('target_misbehaved', `${name} does not show ${idAttribute} of ${dn}`, {
      hint: 'Give the account permission to read it, or set `idAttribute` to another attribute that never changes.',
    });
  }
  if (isObjectGuid({ idAttribute }, value)) {
    const hex = guidBytes(value).toString('hex');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }
  const text = value.toString('utf8');
  return text.includes('\ufffd') ? value.toString('hex') : text;
}

function isObjectGuid({ idAttribute }: Pick<LdapSource, 'idAttribute'>, value: Buffer): boolean {
  return idAttribute.toLowerCase() === 'objectguid' && value.length === 16;
}

/** Converts a GUID to Active Directory's notation or back: three groups are little-endian ([MS-DTYP] §2.3.4). */
function guidBytes(value: Buffer): Buffer {
  const bytes = Buffer.from(value);
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return bytes;
}
