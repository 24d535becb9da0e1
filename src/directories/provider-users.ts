import { createHash } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { z } from 'zod';
import { type DirectoryUser, DirectoryUsers, type Identifier } from '../domain/directory-users.ts';
import type { DirectAnswer } from '../operations/ports/directory.ts';
import { isAnswer, type ProviderAnswer, type ProviderClient } from './provider-client.ts';

export interface ProviderPage {
  readonly users: readonly DirectoryUser[];
  /** The announced number of users; absent if the provider announces none. */
  readonly announced?: number | undefined;
}

/** How often a list that changes during the reading is re-read. */
const MAX_READINGS = 3;
/** The maximum number of pages: ten million users. */
const MAX_PAGES = 100_000;

/**
 * Reads all pages of a list. Users may move between pages during the reading: a list with a user twice, with fewer
 * users than announced, or with a changing number, is re-read, since missing users would count as deleted.
 * @param options.isExact Whether more users than announced are a contradiction, because nothing else marks the end of
 * the list.
 * @returns Each user once.
 * @throws TokenctlError `target_misbehaved` for a list that is still incomplete at the third reading, and as the
 * client.
 */
export async function readWholeList(
  client: ProviderClient,
  pages: () => AsyncIterable<ProviderPage>,
  { isExact = false }: { isExact?: boolean } = {},
): Promise<DirectoryUsers> {
  let problem = '';
  for (let reading = 0; reading < MAX_READINGS; reading += 1) {
    const { users, seen, totals } = await readPages(client, pages());
    // A user who is deleted meanwhile moves others to pages that were already read.
    const isOther = (total: number) => users.size < total || (isExact && users.size > total);
    if (users.size < seen) problem = `listed ${seen - users.size} of ${seen} users twice`;
    else if (totals.size > 1 || [...totals].some(isOther)) {
      const announced = [...totals].slice(0, 3).join(', then ');
      problem = `listed ${users.size} users, but announced ${announced}`;
    } else return users;
  }
  throw client.misbehaved(`${problem}: the list is not complete`);
}

/** Reads all pages. Also returns how many users they contained and which numbers they announced. */
async function readPages(client: ProviderClient, pages: AsyncIterable<ProviderPage>) {
  const users = new DirectoryUsers();
  const totals = new Set<number>();
  let seen = 0;
  let count = 0;
  for await (const page of pages) {
    if (page.announced !== undefined) totals.add(page.announced);
    const before = users.size;
    seen += page.users.length;
    for (const user of page.users) users.add(user);
    // A provider that sends the same page again and again would never end.
    if (page.users.length > 0 && users.size === before) break;
    count += 1;
    if (count > MAX_PAGES) throw client.misbehaved(`has more than ${MAX_PAGES} pages of users`);
  }
  return { users, seen, totals };
}

/** Follows the URLs of next pages, which `read` returns or null. Throws `target_misbehaved` for a repeated URL. */
export async function* followPages(
  client: ProviderClient,
  first: string,
  read: (address: string) => Promise<ProviderPage & { readonly next: string | null }>,
): AsyncGenerator<ProviderPage> {
  const seen = new Set<string>();
  for (let address: string | null = first; address !== null; ) {
    // Hashed, because the provider determines the length of a URL.
    const asked = createHash('sha256').update(address).digest('base64');
    if (seen.has(asked)) throw client.misbehaved('sent the same next page twice');
    seen.add(asked);
    const { next, ...page }: ProviderPage & { readonly next: string | null } = await read(address);
    yield page;
    address = next;
  }
}

/** Requests and validates a page. Throws `target_misbehaved` with the invalid member and user; and as the client. */
export async function readPage<Schema extends z.ZodType>(
  client: ProviderClient,
  address: string,
  { schema, headers }: { schema: Schema; headers?: Readonly<Record<string, string>> },
): Promise<{ readonly body: z.output<Schema>; readonly headers: ProviderAnswer['headers'] }> {
  const answer = await client.get(address, headers);
  const read = schema.safeParse(answer.body);
  if (read.success) return { body: read.data, headers: answer.headers };
  const path = read.error.issues[0]?.path ?? [];
  const member = path.map((part) => (typeof part === 'number' ? '#' : part)).join('.');
  const owner = ownerOf(answer.body, path);
  throw client.misbehaved(
    `sent users in an unexpected format (${path.length === 0 ? 'the whole' : `${member}${owner}`})`,
  );
}

/** The user id that a member of a response belongs to. */
function ownerOf(body: unknown, path: readonly PropertyKey[]): string {
  let owner = '';
  let part = body;
  for (const key of path) {
    if (typeof part !== 'object' || part === null) break;
    if ('id' in part && typeof part.id === 'string') owner = ` of ${part.id}`;
    part = (part as Record<PropertyKey, unknown>)[key];
  }
  return owner;
}

/** Queries a provider for the users with one value. */
export type FindUsers = (client: ProviderClient, asked: Identifier) => Promise<readonly DirectoryUser[]>;

/** Requests one user by a path segment; empty if the provider answers that there is none. */
export async function findByPath<Schema extends z.ZodType>(
  client: ProviderClient,
  [users, value]: readonly [string, string],
  options: {
    schema: Schema;
    userOf: (user: z.output<Schema>) => DirectoryUser;
    query?: string;
    headers?: Readonly<Record<string, string>>;
  },
): Promise<readonly DirectoryUser[]> {
  const { schema, userOf, ...more } = options;
  // A text that cannot be a path segment is not an id.
  if (/^\.{0,2}$|\//.test(value)) return [];
  try {
    const address = `${users}/${encodeURIComponent(value)}${more.query ?? ''}`;
    const { body } = await readPage(client, address, { schema, ...more });
    return [userOf(body)];
  } catch (error) {
    if (isAnswer(error, [404])) return [];
    throw error;
  }
}

/** How many queries run at the same time. */
const CONCURRENCY = 4;

/** Sends queries. A refused query does not end the others, but a general error does. Throws `interrupted`. */
export async function askEach(
  client: ProviderClient,
  asked: readonly Identifier[],
  find: FindUsers,
): Promise<readonly DirectAnswer[]> {
  const answers: DirectAnswer[] = [];
  const waiting = asked.entries();
  let failure: TokenctlError | undefined;
  const work = async () => {
    for (const [index, identifier] of waiting) {
      try {
        answers[index] = failure ? { why: failure.message } : { found: await find(client, identifier) };
      } catch (error) {
        if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
        answers[index] = { why: error.message };
        if (!isAnswer(error, [400, 403, 404, 501]) && error.code !== 'target_misbehaved') failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return answers;
}

/** The existing values, without duplicates. */
export function given(values: readonly (string | null | undefined)[]): readonly string[] {
  return [...new Set(values.filter((value) => typeof value === 'string' && value !== ''))] as string[];
}
