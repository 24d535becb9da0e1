import { z } from 'zod';
import type { DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import type { ProviderClient } from './provider-client.ts';
import {
  type FindUsers,
  findByPath,
  given,
  type ProviderPage,
  readPage,
  readWholeList,
} from './provider-users.ts';

const keycloakUser = z.object({
  id: z.string().min(1),
  username: z.string().min(1),
  email: z.string().nullish(),
  enabled: z.boolean(),
});
const listResponse = z.array(keycloakUser);

const PAGE_SIZE = 500;

/**
 * Reads the users of a realm (`GET /admin/realms/{realm}/users` of Keycloak's admin REST API): a user whose
 * `enabled` is false is disabled. `users/count` announces the number of users. The client's service account
 * needs the role `view-users` of `realm-management`: with less, Keycloak omits users from both.
 * @throws TokenctlError as {@link readWholeList}.
 */
export async function readKeycloakUsers(
  client: ProviderClient,
  { realm }: { realm: string },
): Promise<DirectoryUsers> {
  return await readWholeList(client, () => pages(client, usersOf(realm)));
}

/** Queries the users of a realm with an id, or exactly this name or address. */
export function findKeycloakUsers({ realm }: { realm: string }): FindUsers {
  const users = usersOf(realm);
  return async (client, { kind, value }) => {
    if (kind === 'id') return await findByPath(client, [users, value], { schema: keycloakUser, userOf });
    const query = new URLSearchParams({
      [kind === 'email' ? 'email' : 'username']: value,
      exact: 'true',
      briefRepresentation: 'true',
    });
    return (await readPage(client, `${users}?${query}`, { schema: listResponse })).body.map(userOf);
  };
}

function usersOf(realm: string): string {
  return `admin/realms/${encodeURIComponent(realm)}/users`;
}

async function* pages(client: ProviderClient, users: string): AsyncGenerator<ProviderPage> {
  const count = z.number().int().nonnegative();
  const { body: announced } = await readPage(client, `${users}/count`, { schema: count });
  for (let first = 0; ; ) {
    const query = new URLSearchParams({
      first: String(first),
      max: String(PAGE_SIZE),
      briefRepresentation: 'true',
    });
    const { body: list } = await readPage(client, `${users}?${query}`, { schema: listResponse });
    yield { users: list.map(userOf), announced };
    // Only an empty page is the end: Keycloak omits what the client may not see, so a page may be short.
    if (list.length === 0) return;
    first += list.length;
  }
}

function userOf({ id, username, email, enabled }: z.output<typeof keycloakUser>): DirectoryUser {
  return {
    id,
    logins: [username],
    emails: given([email]),
    disabled: enabled ? null : { attribute: 'enabled', value: 'false', since: null },
  };
}
