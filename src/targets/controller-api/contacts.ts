import { z } from 'zod';
import type { Contact } from '../../operations/ports/target.ts';
import { type Api, id } from './api.ts';
import { type Listing, listFilter, listItems, userQueries } from './listing.ts';

const user = z.object({ id, username: z.string(), email: z.string().nullish() });
const organization = z.object({ id, name: z.string() });

const USERS: Listing<z.output<typeof user>> = {
  path: 'users/',
  what: 'the list of users',
  read: (body) => user.safeParse(body).data ?? null,
};

const ORGANIZATIONS: Listing<z.output<typeof organization>> = {
  path: 'organizations/',
  what: 'the list of organizations',
  read: (body) => organization.safeParse(body).data ?? null,
};

/**
 * The mail addresses of users, and to which of some organizations they belong. Each organization takes one request for every
 * two hundred members.
 *
 * @throws TokenctlError as requests do.
 */
export async function readContacts(
  api: Api,
  { names, organizations }: { readonly names: readonly string[]; readonly organizations: readonly string[] },
): Promise<Contact[]> {
  const users =
    names.length === 0 ? [] : await Array.fromAsync(listItems(api, userQueries({ names }), USERS));
  const members = new Map<string, ReadonlySet<number>>();
  if (users.length > 0 && organizations.length > 0) {
    const found = listItems(api, listFilter('name', organizations), ORGANIZATIONS);
    for await (const { id: organizationId, name } of found) {
      members.set(name, await membersOf(api, organizationId));
    }
  }
  return users.map(({ id: userId, username, email }) => ({
    ...{ id: userId, username, email: email === undefined || email === '' ? null : email },
    organizations: organizations.filter((name) => members.get(name)?.has(userId) === true),
  }));
}

/** The ids of the members of an organization; none where the target has no such list. */
async function membersOf(api: Api, organizationId: number): Promise<ReadonlySet<number>> {
  const path = `organizations/${organizationId}/users/`;
  const members = new Set<number>();
  const { status } = await api.send({ method: 'GET', path: `${path}?page_size=1` });
  if (status === 404) return members;
  for await (const { id: userId } of listItems(api, [[]], { ...USERS, path })) members.add(userId);
  return members;
}
