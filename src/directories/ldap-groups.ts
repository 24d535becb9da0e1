import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  AndFilter,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  NotFilter,
  OrFilter,
  PresenceFilter,
} from 'ldapts';
import { IdSet } from '../domain/compact-collections.ts';
import { type DirectoryUsers, nameForm } from '../domain/directory-users.ts';
import { ANY_ENTRY, type LdapConnection } from './ldap-connection.ts';
import { LdapAttributes } from './ldap-disabled.ts';

/** How many members of groups that are not among the users may be looked up. */
const MAX_LOOKUPS = 10_000;
/** The maximum number of nested groups in a required group of Active Directory. */
const MAX_NESTED = 1_000;
/** How many groups one search for members contains. */
const GROUPS_AT_ONCE = 50;
/** LDAP_MATCHING_RULE_IN_CHAIN of [MS-ADTS] §3.1.1.3.4.4.3. */
const IN_CHAIN = '1.2.840.113556.1.4.1941';

/**
 * Queries Active Directory for the members of groups, including nested ones. The chain rule only finds the
 * groups: a server follows it for each entry again, which takes Samba over a minute for 20,000 users. The
 * groups themselves are read too, because the account may not read every user's `memberOf`.
 * @param options.matching The users that match one of some filters.
 * @throws TokenctlError `target_misbehaved` for a group that does not exist, and for groups without any user.
 */
export async function chainMembers(
  connection: LdapConnection,
  groups: readonly string[],
  { users, matching }: { users: DirectoryUsers; matching: (some: readonly Filter[]) => Promise<IdSet> },
): Promise<IdSet> {
  const filters = new Map<string, Filter>();
  for (const group of groups) {
    const inChain = new ExtensibleFilter({ matchType: 'memberOf', rule: IN_CHAIN, value: group });
    const isGroup = new EqualityFilter({ attribute: 'objectClass', value: 'group' });
    const nested = new AndFilter({ filters: [isGroup, inChain] });
    await addMemberFilters(filters, connection, { base: group, scope: 'base', filter: ANY_ENTRY });
    await addMemberFilters(filters, connection, { base: domainOf(group), scope: 'sub', filter: nested });
  }
  const all = [...filters.values()];
  const searches: Filter[] = [];
  for (let from = 0; from < all.length; from += GROUPS_AT_ONCE)
    searches.push(new OrFilter({ filters: all.slice(from, from + GROUPS_AT_ONCE) }));
  const members = await matching(searches);
  for (const group of filters.keys()) {
    const { names } = await membersOf(connection, group, true);
    for (const name of names) addAll(members, users.find('dn', name));
  }
  if (members.size === 0) throw noMembers(groups);
  return members;
}

/**
 * Adds filters for the members of groups by name. Users who have a group as their primary group are not in
 * `memberOf`: its number is the last part of the group's SID ([MS-DTYP] §2.4.2).
 */
async function addMemberFilters(
  filters: Map<string, Filter>,
  connection: LdapConnection,
  search: Omit<Parameters<LdapConnection['search']>[0], 'attributes'>,
): Promise<void> {
  for await (const entry of connection.search({ ...search, attributes: ['objectSid'] })) {
    const [sid] = new LdapAttributes(entry).bytes('objectSid');
    if (sid === undefined || sid.length < 12) throw unreadable(entry.name, 'objectSid');
    const value = String(sid.readUInt32LE(sid.length - 4));
    const some = [
      new EqualityFilter({ attribute: 'memberOf', value: entry.name }),
      new EqualityFilter({ attribute: 'primaryGroupID', value }),
    ];
    filters.set(entry.name, new OrFilter({ filters: some }));
    if (filters.size > MAX_NESTED) {
      throw new TokenctlError(
        'unsupported',
        `${search.base} has more than ${MAX_NESTED} groups within a required group`,
      );
    }
  }
}

function domainOf(name: string): string {
  return /(?:^|(?<!\\),)\s*(dc=.*)$/i.exec(name)?.[1] ?? name;
}

/** The members of POSIX groups. */
export interface PosixMembers {
  readonly uids: ReadonlySet<string>;
  readonly gidNumbers: ReadonlySet<string>;
}

interface GroupUsers {
  readonly users: DirectoryUsers;
  /** Adds the users with one of these values of `uid`, or with one of these numbers as their primary group. */
  addPosixMembers(found: IdSet, groups: PosixMembers): Promise<void>;
}

/**
 * Finds the members of groups, including nested ones, by following the members that are not users. A group
 * that contains itself does no harm.
 *
 * A POSIX group lists the `uid` of its members, and also contains users with the same `gidNumber` (RFC 2307
 * §3): the controller counts both (`PosixGroupType` of django-auth-ldap).
 * @returns The numbers of the users.
 * @throws TokenctlError `target_misbehaved` for a group that does not exist, and for groups without any user;
 * `unsupported` for too many members that are not among the users.
 */
export async function walkGroups(
  connection: LdapConnection,
  groups: readonly string[],
  { users, addPosixMembers }: GroupUsers,
): Promise<IdSet> {
  const found = new IdSet();
  const uids = new Set<string>();
  const gidNumbers = new Set<string>();
  const seen = new Set(groups.map(nameForm));
  const waiting = [...groups];
  let lookups = 0;
  for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
    const isRequired = lookups < groups.length;
    lookups += 1;
    if (lookups > MAX_LOOKUPS) {
      throw new TokenctlError(
        'unsupported',
        `The required groups have more than ${MAX_LOOKUPS} members that are not among the users`,
        { hint: 'Choose a filter and base that include these members, or remove members that do not exist.' },
      );
    }
    const members = await membersOf(connection, group, isRequired);
    for (const uid of members.uids) uids.add(uid);
    for (const gidNumber of members.gidNumbers) gidNumbers.add(gidNumber);
    for (const member of members.names) {
      const named = users.find('dn', member);
      addAll(found, named);
      const form = nameForm(member);
      if (named.length > 0 || seen.has(form)) continue;
      seen.add(form);
      waiting.push(member);
    }
  }
  if (uids.size + gidNumbers.size > 0) await addPosixMembers(found, { uids, gidNumbers });
  if (found.size === 0) throw noMembers(groups);
  return found;
}

function addAll(found: IdSet, numbers: readonly number[]): void {
  for (const number of numbers) found.add(number);
}

/** The member attributes by group class (RFC 4519 §3.5, §3.6, §3.10; RFC 2307 §4; Active Directory). */
const MEMBERS_IN: Readonly<Record<string, readonly string[]>> = {
  groupofnames: ['member'],
  groupofentries: ['member'],
  groupofmembers: ['member'],
  group: ['member'],
  groupofuniquenames: ['uniqueMember'],
  organizationalrole: ['roleOccupant'],
  posixgroup: ['memberUid', 'gidNumber'],
};
/** Groups whose members the server computes (OpenLDAP and others, eDirectory), and roles of 389 Directory Server. */
const DYNAMIC = /^(?:groupOfURLs|dynamicGroup|dynamicGroupAux|ns(?:Managed|Filtered|Nested)RoleDefinition)$/i;
const QUERIES = ['memberURL', 'memberQueryURL'];
const MEMBER_ATTRIBUTES = [...new Set(Object.values(MEMBERS_IN).flat()), 'objectClass', ...QUERIES];

/** The members of a group; empty for an entry that is not a group, or does not exist although a group lists it. */
async function membersOf(connection: LdapConnection, group: string, isRequired: boolean) {
  const names: string[] = [];
  const uids: string[] = [];
  const gidNumbers: string[] = [];
  let attributes: readonly string[] = MEMBER_ATTRIBUTES;
  for (let from = 0; attributes.length > 0; ) {
    const entry = await connection.entry(group, attributes);
    if (entry === null && isRequired) {
      throw new TokenctlError('target_misbehaved', `The required group ${group} does not exist`, {
        hint: 'Check its name, and that the account that reads the directory has permission to read it.',
      });
    }
    const found = entry === null ? null : new LdapAttributes(entry);
    if (from === 0 && found !== null) await requireMembers(connection, group, { found, isRequired });
    addTexts(names, found?.texts('member'));
    addTexts(names, found?.texts('uniqueMember').map(withoutUniqueId));
    addTexts(names, found?.texts('roleOccupant'));
    addTexts(uids, found?.texts('memberUid'));
    // Members that are not groups also have a gidNumber: that of their own primary group.
    const isGroup = isRequired || found?.texts('objectClass').some((each) => /^posixGroup$/i.test(each));
    if (isGroup) addTexts(gidNumbers, found?.texts('gidNumber'));
    // Active Directory sends the members of large groups in parts ([MS-ADTS] §3.1.1.3.1.3.3).
    const part = found?.names
      .map((name) => /^member;range=(\d+)-(\d+|\*)$/.exec(name))
      .find((match) => match !== null);
    const [name = '', start = from, end = '*'] = part ?? [];
    // Members in a missing part would count as outside the group.
    const others = found?.names.some((each) => each.includes(';range=') && !each.startsWith('member;'));
    if (others || (from > 0 && part === undefined) || Number(start) !== from || Number(end) < from)
      throw notWhole(group);
    addTexts(names, found?.texts(name));
    from = Number(end) + 1;
    attributes = end === '*' ? [] : [`member;range=${from}-*`];
  }
  return { names, uids, gidNumbers };
}

/**
 * Refuses a group whose members are not in its entry or not readable: they would count as outside the group.
 * A group without members is confirmed with a filter, which matches only if the account may read members (RFC
 * 4511 §4.5.1.7: otherwise Undefined).
 */
async function requireMembers(
  connection: LdapConnection,
  group: string,
  { found, isRequired }: { found: LdapAttributes; isRequired: boolean },
): Promise<void> {
  const classes = found.texts('objectClass');
  if (classes.some((each) => DYNAMIC.test(each)) || QUERIES.some((each) => found.texts(each).length > 0)) {
    throw new TokenctlError(
      'unsupported',
      `The group ${group} is dynamic, so its members would count as outside it`,
      { hint: "Use its condition as the directory's `filter`, or specify a group that lists its members." },
    );
  }
  const shows = (attribute: string) =>
    found.names.some((name) => name.split(';')[0] === attribute.toLowerCase());
  const places = [...new Set(classes.flatMap((each) => MEMBERS_IN[each.toLowerCase()] ?? []))];
  const isGroup = places.length > 0 || Object.values(MEMBERS_IN).flat().some(shows);
  if (!isGroup && !isRequired && classes.length > 0) return;
  const silent = places.filter((place) => !shows(place));
  if (isGroup && silent.length === 0) return;
  const filters = silent.map((attribute) => new NotFilter({ filter: new PresenceFilter({ attribute }) }));
  const search = {
    base: group,
    scope: 'base',
    filter: new AndFilter({ filters }),
    attributes: ['1.1'],
  } as const;
  const isEmpty = filters.length > 0 && (await Array.fromAsync(connection.search(search))).length > 0;
  if (!isEmpty) throw unreadable(group, silent.join(', ') || 'members');
}

function unreadable(group: string, attributes: string): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `The group ${group} does not show its ${attributes}, so its members would count as outside it`,
    { hint: 'Give the account that reads the directory permission to read the members of this group.' },
  );
}

/** Spreading a group of a million members would exceed the limit of arguments. */
function addTexts(to: string[], texts: readonly string[] = []): void {
  for (const text of texts) to.push(text);
}

function notWhole(group: string): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `The members of the group ${group} came in parts that do not match, so some of them would count as outside it`,
    { hint: 'Run the command again: the group may have changed in the meantime.' },
  );
}

/** RFC 4517 §3.3.21: a bit string may follow a name. */
function withoutUniqueId(value: string): string {
  return value.replace(/#'[01]*'B$/, '');
}

function noMembers(groups: readonly string[]): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `No user is in a required group (${groups.join('; ')}), so everyone would be gone`,
    {
      hint: 'Check the group names, and that the account that reads the directory has permission to read their members.',
    },
  );
}
