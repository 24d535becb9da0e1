import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { type DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import type { TokenctlError } from '../domain/errors.ts';
import type { ProviderClient } from './provider-client.ts';

export interface ProviderPage {
  readonly users: readonly DirectoryUser[];
  /** How many users the provider announced; absent where it announces none. */
  readonly announced?: number | undefined;
}

/** How often a list that changes while it is read is read anew. */
const MAX_READINGS = 3;
/** The most pages: ten million users. */
const MAX_PAGES = 100_000;

/**
 * Reads all pages of a list. Users may move between pages while they are read: a list with a user twice, with fewer users than
 * any page announced, or whose announced number changes, is read anew, since missing users would count as gone.
 *
 * @param options.isExact Whether more users than announced are a contradiction: where nothing else says where the list ends.
 * @returns Each user once.
 * @throws TokenctlError `target_misbehaved` for a list that is still incomplete when it is read for the third time, and what the
 * client throws.
 */
export async function readWholeList(
  client: ProviderClient,
  pages: () => AsyncIterable<ProviderPage>,
  { isExact = false }: { readonly isExact?: boolean } = {},
): Promise<DirectoryUsers> {
  let problem = '';
  for (let reading = 0; reading < MAX_READINGS; reading += 1) {
    const users = new DirectoryUsers();
    const totals = new Set<number>();
    let seen = 0;
    let count = 0;
    for await (const page of pages()) {
      if (page.announced !== undefined) totals.add(page.announced);
      seen += page.users.length;
      for (const user of page.users) users.add(user);
      count += 1;
      if (count > MAX_PAGES) throw client.misbehaved(`has more than ${MAX_PAGES} pages of users`);
    }
    // A user who is deleted meanwhile moves others to pages that were read already.
    const isOther = (total: number) => users.size < total || (isExact && users.size > total);
    if (users.size < seen) problem = `listed ${seen - users.size} of ${seen} users twice`;
    else if (totals.size > 1 || [...totals].some(isOther)) {
      const announced = [...totals].slice(0, 3).join(', then ');
      problem = `listed ${users.size} users, but announced ${announced}`;
    } else return users;
  }
  throw client.misbehaved(`${problem}: the list is not complete`);
}

/**
 * Follows addresses of next pages.
 *
 * @param read Reads the page of an address, and names the next one; null for the last page.
 * @throws TokenctlError `target_misbehaved` for an address that comes back.
 */
export async function* followPages(
  client: ProviderClient,
  first: string,
  read: (address: string) => Promise<ProviderPage & { readonly next: string | null }>,
): AsyncGenerator<ProviderPage> {
  const seen = new Set<string>();
  for (let address: string | null = first; address !== null; ) {
    // Hashed: the provider decides how long an address is.
    const asked = createHash('sha256').update(address).digest('base64');
    if (seen.has(asked)) throw client.misbehaved('names the same next page twice');
    seen.add(asked);
    const { next, ...page }: ProviderPage & { readonly next: string | null } = await read(address);
    yield page;
    address = next;
  }
}

/**
 * Reads a response by its schema.
 *
 * @throws TokenctlError `target_misbehaved`, naming the member that differs
 */
export function readAs<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  fail: (what: string) => TokenctlError,
): z.output<Schema> {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const path = read.error.issues[0]?.path.map((part) => (typeof part === 'number' ? '#' : part)).join('.');
  throw fail(`sent a list of users in an unexpected form (${path === '' ? 'the whole' : path})`);
}

/** The values that are there, each once. */
export function given(values: readonly (string | null | undefined)[]): readonly string[] {
  return [...new Set(values.filter((value) => typeof value === 'string' && value !== ''))] as string[];
}
