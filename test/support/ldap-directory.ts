import { BerReader } from 'ldapts';
import { mailOf, type Person, type Provided, pageOf, replyTo, type Source } from './directory-source.ts';
import { entryOf, ldapServer, type Request, result } from './ldap-wire.ts';

const PEOPLE = 'ou=people,dc=x';
const STAFF = 'cn=staff,dc=x';
const NESTED = 'cn=nested,dc=x';
const BASE = 0;
/** Results of RFC 4511 appendix A.1. */
const [NO_SUCH_OBJECT, SIZE_LIMIT, REFUSED, NOT_UNDERSTOOD] = [32, 4, 50, 18];

type Attributes = Readonly<Record<string, readonly string[]>>;

/** How the entries of a kind of directory look. */
interface Entries {
  readonly kind: 'ldap' | 'active-directory';
  readonly dnOf: (person: Person) => string;
  readonly attributesOf: (person: Person) => Attributes;
  /** The id of an entry as the program keeps it. */
  readonly idOf: (person: Person) => string;
  /** By what one user is asked for. */
  readonly asked: readonly string[];
  readonly groupClass: string;
}

const ldap: Entries = {
  kind: 'ldap',
  dnOf: ({ name }) => `uid=${name},${PEOPLE}`,
  attributesOf: (person) => ({
    ...{ objectclass: ['person'], entryuuid: [person.id], uid: [person.name], mail: [mailOf(person)] },
    ...(!person.isActive && { nsaccountlock: ['TRUE'] }),
  }),
  idOf: ({ id }) => id,
  asked: ['entryuuid', 'uid', 'mail'],
  groupClass: 'groupOfNames',
};

/** The sixteen bytes of an objectGUID, as text. */
const guidOf = ({ id }: Person) => id.padEnd(16, '-');

const activeDirectory: Entries = {
  kind: 'active-directory',
  dnOf: ({ name }) => `cn=${name},${PEOPLE}`,
  attributesOf: (person) => ({
    ...{ objectclass: ['user'], objectcategory: ['person'], objectguid: [guidOf(person)] },
    ...{ samaccountname: [person.name], userprincipalname: [mailOf(person)], mail: [mailOf(person)] },
    ...{ useraccountcontrol: [person.isActive ? '512' : '514'], primarygroupid: ['513'] },
    ...(person.group === 'staff' && { memberof: [STAFF] }),
    ...(person.group === 'nested' && { memberof: [NESTED] }),
  }),
  idOf(person) {
    const bytes = Buffer.from(guidOf(person));
    for (const [from, to] of [
      [0, 4],
      [4, 6],
      [6, 8],
    ])
      bytes.subarray(from, to).reverse();
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  },
  asked: ['objectguid', 'samaccountname', 'userprincipalname', 'mail'],
  groupClass: 'group',
};

/** A filter of a search, with the attributes that it looks at, in lower case. */
interface EntryFilter {
  readonly attributes: readonly string[];
  readonly matches: (entry: Attributes) => boolean;
}

/** Reads a filter (RFC 4511 §4.5.1.7). */
function filterAt(reader: BerReader): EntryFilter {
  const tag = reader.readSequence();
  const end = reader.offset + reader.length;
  const parts: EntryFilter[] = [];
  const has = (name: string, value: string): EntryFilter => {
    const attribute = name.toLowerCase();
    const isIt = (each: string) => each.toLowerCase() === value.toLowerCase();
    return { attributes: [attribute], matches: (entry) => entry[attribute]?.some(isIt) === true };
  };
  const text = (of?: number) => reader.readString(of) ?? '';
  switch (tag) {
    case 0xa0:
    case 0xa1:
    case 0xa2:
      while (reader.offset < end) parts.push(filterAt(reader));
      break;
    case 0xa3:
      return has(text(), text());
    case 0x87: {
      const attribute = reader.buffer.toString('utf8', reader.offset, end).toLowerCase();
      reader.offset = end;
      return { attributes: [attribute], matches: (entry) => entry[attribute] !== undefined };
    }
    case 0xa9: {
      // The groups within a group: there is one level of them.
      text(0x81);
      const inChain = has(text(0x82), text(0x83));
      reader.offset = end;
      return inChain;
    }
    default:
      throw new Error(`a filter that this server does not know: ${tag}`);
  }
  return {
    attributes: parts.flatMap(({ attributes }) => attributes),
    matches: (entry) => {
      const isOne = (part: EntryFilter) => part.matches(entry);
      return tag === 0xa0 ? parts.every(isOne) : tag === 0xa1 ? parts.some(isOne) : !parts.some(isOne);
    },
  };
}

/** Reads a search (RFC 4511 §4.5.1) with the cookie of its paging control (RFC 2696 §2). */
function searchIn({ reader }: Request) {
  reader.readSequence();
  const base = (reader.readString() ?? '').toLowerCase();
  const scope = reader.readEnumeration();
  // Of aliases, limits, and whether only types are wanted.
  reader.readEnumeration();
  reader.readInt();
  reader.readInt();
  reader.readBoolean();
  const filter = filterAt(reader);
  reader.readSequence();
  reader.offset += reader.length;
  let cookie = '';
  if (reader.remain > 0) {
    reader.readSequence();
    reader.readSequence();
    reader.readString();
    if (reader.peek() === 0x01) reader.readBoolean();
    const value = new BerReader(reader.readString(0x04, true) ?? Buffer.alloc(0));
    value.readSequence();
    value.readInt();
    cookie = value.readString() ?? '';
  }
  return { base, scope, filter, cookie };
}

function groupsOf(
  people: readonly Person[],
  { dnOf, groupClass }: Entries,
): Readonly<Record<string, Attributes>> {
  const inGroup = (group: Person['group']) => people.filter((each) => each.group === group).map(dnOf);
  const group = (member: readonly string[], sid: string) => ({
    objectclass: [groupClass],
    ...(member.length > 0 && { member }),
    // The last four characters are the number of the group.
    objectsid: [`S-----------${sid}`],
  });
  return {
    [STAFF]: group([...inGroup('staff'), NESTED], 'staf'),
    [NESTED]: { ...group(inGroup('nested'), 'nest'), memberof: [STAFF] },
  };
}

/** A search as a server answers it: messages, or bytes that are none. */
function answer(entries: Entries, provided: Provided, request: Request): readonly Buffer[] {
  const { id } = request;
  const { base, scope, filter, cookie } = searchIn(request);
  const { asked, attributesOf, dnOf } = entries;
  const isMeant = (person: Person) => filter.matches(attributesOf(person));
  const sent = (people: readonly Person[], next: number | null = null) => [
    ...people.map((each) => entryOf(id, dnOf(each), attributesOf(each))),
    result(id, 'done', 0, { cookie: scope === BASE ? undefined : String(next ?? '') }),
  ];
  const groups = groupsOf(provided.people, entries);
  const group = groups[base];
  if (group !== undefined || !base.endsWith(PEOPLE)) {
    const found = Object.entries(scope === BASE ? { [base]: group } : groups).flatMap(([name, attributes]) =>
      attributes !== undefined && filter.matches(attributes) ? [entryOf(id, name, attributes)] : [],
    );
    if (scope === BASE && group === undefined) return [result(id, 'done', NO_SUCH_OBJECT)];
    return [...found, result(id, 'done', 0, { cookie: '' })];
  }
  const isOne = (person: Person) => dnOf(person).toLowerCase() === base;
  const question =
    scope === BASE
      ? ({ by: 'id', matches: (person: Person) => isOne(person) && isMeant(person) } as const)
      : filter.attributes.some((each) => asked.includes(each))
        ? ({ by: 'filter', matches: isMeant } as const)
        : null;
  if (question === null) {
    const listed = provided.listed.filter(isMeant);
    const read = pageOf({ ...provided, listed }, Number(cookie));
    return read === 'refused' ? [result(id, 'done', SIZE_LIMIT)] : sent(read.page, read.next);
  }
  const reply = replyTo(provided, question);
  if (reply === 'refused') return [result(id, 'done', REFUSED)];
  if (reply === 'not understood') return [result(id, 'done', NOT_UNDERSTOOD)];
  if (reply === 'unexpected form') return [Buffer.from('hello')];
  if (scope === BASE && reply.length === 0) return [result(id, 'done', NO_SUCH_OBJECT)];
  return sent(reply);
}

function source(entries: Entries): Source {
  const { kind, dnOf, idOf } = entries;
  return {
    idOf,
    ties: [
      { name: 'LDAP name', isId: false, kind: 'dn', of: dnOf },
      { name: 'login name', isId: false, kind: 'account', of: ({ name }) => name },
    ],
    hasGroup: true,
    async serve(provided) {
      const { url } = await ldapServer((request, socket) => {
        if (request.kind === 'search') socket.write(Buffer.concat(answer(entries, provided(), request)));
      });
      const reader = { bindDn: 'cn=reader,dc=x', bindPassword: { env: 'SECRET' } };
      return { kind, url: url.href, ...reader, base: PEOPLE, groups: STAFF };
    },
  };
}

/** LDAP directories, which are asked over the protocol itself. */
export const LDAP_DIRECTORIES: Readonly<Record<string, Source>> = {
  LDAP: source(ldap),
  'Active Directory': source(activeDirectory),
};
