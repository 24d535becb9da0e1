import { z } from 'zod';
import type { DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import { isAnswer, type ProviderClient } from './provider-client.ts';
import {
  type FindUsers,
  findByPath,
  followPages,
  given,
  type ProviderPage,
  readPage,
  readWholeList,
} from './provider-users.ts';

/** The used part of a user (RFC 7643 §4.1). `active` may be missing or text; other words have no known meaning. */
const scimUser = z.object({
  id: z.string().min(1),
  externalId: z.string().nullish(),
  userName: z.string().min(1),
  active: z.union([z.boolean(), z.stringbool({ truthy: ['true'], falsy: ['false'] })]).nullish(),
  emails: z.array(z.object({ value: z.string().nullish() })).nullish(),
});

/** A list response (RFC 7644 §3.4.2, RFC 9865 §2). */
const listResponse = z.object({
  totalResults: z.number().int().nonnegative().optional(),
  itemsPerPage: z.number().int().nonnegative().optional(),
  nextCursor: z.string().nullish(),
  // RFC 7644 §3.4.2: missing if there are no results.
  Resources: z.array(scimUser).default([]),
});

const serviceProviderConfig = z.object({
  pagination: z.object({ cursor: z.boolean().optional() }).nullish(),
});

/** How a list is paged. `auto` uses the provider's ServiceProviderConfig (RFC 9865 §4). */
export type ScimPaging = 'auto' | 'index' | 'cursor';

const PAGE_SIZE = 200;
const ATTRIBUTES = 'userName,externalId,active,emails';
const HEADERS = { accept: 'application/scim+json, application/json' };

/**
 * Reads the users of a SCIM 2.0 service provider, active or not: a user whose `active` is false is disabled.
 * Reads pages by index (RFC 7644 §3.4.2.4) or by cursor (RFC 9865).
 * @throws TokenctlError as {@link readWholeList}.
 */
export async function readScimUsers(
  client: ProviderClient,
  { paging = 'auto' }: { paging?: ScimPaging } = {},
): Promise<DirectoryUsers> {
  const byCursor = paging === 'cursor' || (paging === 'auto' && (await offersCursors(client)));
  const pages = () => (byCursor ? cursorPages(client) : indexPages(client));
  return await readWholeList(client, pages, { isExact: true });
}

/** The attributes in filters that find a user (RFC 7644 §3.4.2.2), after the id (§3.4.1). */
const FILTERS: Readonly<Record<string, readonly string[]>> = {
  login: ['userName', 'externalId'],
  email: ['emails.value'],
};

/** Queries one user by id, and users by name or address. */
export const findScimUsers: FindUsers = async (client, { kind, value }) => {
  const query = new URLSearchParams({ attributes: ATTRIBUTES });
  const byId = { schema: scimUser, userOf, query: `?${query}`, headers: HEADERS };
  if (kind === 'id') return await findByPath(client, ['Users', value], byId);
  const found: DirectoryUser[] = [];
  for (const attribute of FILTERS[kind] ?? []) {
    // Some providers are case-sensitive, contrary to RFC 7643 §4.1.1.
    for (const text of new Set([value, value.toLowerCase()])) {
      const { page } = await listPage(client, { filter: `${attribute} eq ${JSON.stringify(text)}` });
      found.push(...page.users);
    }
  }
  return found;
};

/** Reads until a page is empty or repeated: for some providers, `totalResults` is the page's or has a limit. */
async function* indexPages(client: ProviderClient): AsyncGenerator<ProviderPage> {
  let last = { ids: '', count: 0, announced: 0 };
  let fullPage = PAGE_SIZE;
  for (let startIndex = 1; ; ) {
    const next = await pageBehind(client, startIndex, last.announced);
    const ids = next?.page.users.map(({ id }) => id).join('\n') ?? last.ids;
    if (startIndex > 1 && ids === last.ids) {
      if (last.count >= fullPage)
        throw client.misbehaved(`sends no page after ${startIndex - 1} users, not even an empty one`);
      yield { users: [], announced: await confirmedTotal(client) };
      return;
    }
    if (next === null) return;
    const { page, count } = next;
    if (page.announced === undefined) throw client.misbehaved('sent a list without totalResults');
    // RFC 7644 §3.4.2.4: fewer than requested is allowed. Some providers announce 0 after the last page.
    yield { ...page, announced: count === 0 && page.announced === 0 ? undefined : page.announced };
    if (count === 0) return;
    // If there are several pages, the first one is full.
    if (startIndex > 1 && fullPage === PAGE_SIZE) fullPage = last.count;
    last = { ids, count, announced: page.announced };
    startIndex += count;
  }
}

/** Reads a page; null if the provider refuses one after the last announced user. */
async function pageBehind(client: ProviderClient, startIndex: number, announced: number) {
  try {
    return await listPage(client, { startIndex: String(startIndex) });
  } catch (error) {
    if (startIndex > 1 && startIndex > announced && isAnswer(error, [400, 404])) return null;
    throw error;
  }
}

/** The total announced by a page with one user: a provider that announces the users of the page sends 1. */
async function confirmedTotal(client: ProviderClient): Promise<number | undefined> {
  return (await listPage(client, { startIndex: '1', count: '1' })).page.announced;
}

async function* cursorPages(client: ProviderClient): AsyncGenerator<ProviderPage> {
  // RFC 9865 §2: an empty cursor requests the first page, and the last page has no next cursor.
  yield* followPages(client, '', async (cursor) => {
    const { page, next } = await listPage(client, { cursor });
    return { ...page, next };
  });
}

async function listPage(client: ProviderClient, place: Readonly<Record<string, string>>) {
  const query = new URLSearchParams({ attributes: ATTRIBUTES, count: String(PAGE_SIZE), ...place });
  const { body: list } = await readPage(client, `Users?${query}`, { schema: listResponse, headers: HEADERS });
  const page = { users: list.Resources.map(userOf), announced: list.totalResults };
  return { page, count: list.Resources.length, next: list.nextCursor || null };
}

function userOf(user: z.output<typeof scimUser>): DirectoryUser {
  return {
    id: user.id,
    logins: given([user.userName, user.externalId]),
    emails: given((user.emails ?? []).map(({ value }) => value)),
    disabled: user.active !== false ? null : { attribute: 'active', value: 'false', since: null },
  };
}

/** Providers without a ServiceProviderConfig are older than cursors (RFC 9865 §4). */
async function offersCursors(client: ProviderClient): Promise<boolean> {
  try {
    const { body } = await readPage(client, 'ServiceProviderConfig', {
      schema: serviceProviderConfig,
      headers: HEADERS,
    });
    return body.pagination?.cursor === true;
  } catch (error) {
    if (isAnswer(error, [404, 501])) return false;
    throw error;
  }
}
