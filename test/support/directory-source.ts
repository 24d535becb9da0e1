/** A user of a directory in a test. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly isActive: boolean;
  /** Where users must be in the group `staff`: in it, in a group within it, or in neither. */
  readonly group?: 'staff' | 'nested' | 'none';
}

/** What is wrong with the pages of a list. */
export const PAGINGS = ['no fault', 'lost page', 'repeated page', 'empty page', 'refused page'] as const;

/** What is wrong with the answers to questions for one user. */
export const REPLIES = [
  'no fault',
  'no one found',
  'no one found by id',
  'refused',
  'filter not understood',
  'filter ignored',
  'unexpected form',
  'another user',
] as const;

/** What a directory in a test has, what of it its list shows, and what it does wrong. */
export interface Provided<User = Person> {
  readonly people: readonly User[];
  readonly listed: readonly User[];
  /** The number of users that is announced; absent for that of the list. */
  readonly announced?: number;
  readonly paging?: (typeof PAGINGS)[number];
  readonly replies?: (typeof REPLIES)[number];
}

/** By what a controller knows the users of a directory. */
export interface Tie {
  readonly name: string;
  /** Whether it stays the same when the user gets another name. */
  readonly isId: boolean;
  /** Of which kind it is: the id of an account, or an LDAP name. */
  readonly kind: 'account' | 'dn';
  readonly of: (person: Person) => string;
}

/** A kind of directory that is asked in a test. */
export interface Source {
  readonly ties: readonly Tie[];
  /** The id of a user's entry, as the program keeps it. */
  readonly idOf: (person: Person) => string;
  /** Whether users must be in the group `staff`. */
  readonly hasGroup: boolean;
  /**
   * Starts a server until the test has finished.
   * @returns The settings of a directory; secrets are in the variable SECRET.
   */
  serve(provided: () => Provided): Promise<object>;
}

const PAGE = 3;

export const mailOf = ({ name }: Person): string => `${name}@example.org`;

/**
 * A page of a list.
 * @param from How many users came before; not whole behind an empty page.
 * @returns Where the next page begins, null for the last page; `refused` where the server refuses the page.
 */
export function pageOf<User>(
  { listed, paging }: Pick<Provided<User>, 'listed' | 'paging'>,
  from: number,
  size = PAGE,
): { readonly page: readonly User[]; readonly next: number | null } | 'refused' {
  const count = Math.min(size, PAGE);
  if (from > 0 && paging === 'refused page') return 'refused';
  if (from > 0 && paging === 'lost page') return { page: [], next: null };
  if (from === PAGE && paging === 'empty page') return { page: [], next: PAGE + 0.5 };
  const start = paging === 'repeated page' ? 0 : Math.floor(from);
  const isLast = listed.length <= start + count || paging === 'lost page';
  return { page: listed.slice(start, start + count), next: isLast ? null : start + count };
}

/** A question for the user with an id, or for those whom a filter matches. */
export interface Question<User> {
  readonly by: 'id' | 'filter';
  readonly matches: (user: User) => boolean;
}

/** What a directory does with a question for one user: whom it finds, or how it fails. */
export function replyTo<User>(
  { people, replies }: Pick<Provided<User>, 'people' | 'replies'>,
  { by, matches }: Question<User>,
): readonly User[] | 'refused' | 'not understood' | 'unexpected form' {
  const isId = by === 'id';
  switch (replies) {
    case 'no one found':
      return [];
    case 'no one found by id':
      return isId ? [] : people.filter(matches);
    case 'filter not understood':
      return isId ? people.filter(matches) : 'not understood';
    case 'filter ignored':
      return isId ? people.filter(matches) : people;
    case 'another user':
      return people.filter((each) => !matches(each)).slice(-1);
    case 'refused':
    case 'unexpected form':
      return replies;
    default:
      return people.filter(matches);
  }
}
