import { z } from 'zod';
import type { DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import type { ProviderClient } from './provider-client.ts';
import { given, type ProviderPage, readAs, readWholeList } from './provider-users.ts';

const keycloakUser = z.object({
  id: z.string().min(1),
  username: z.string().min(1),
  email: z.string().nullish(),
  enabled: z.boolean(),
});
const listResponse = z.array(keycloakUser);

const PAGE_SIZE = 500;

/**
 * Reads the users of a realm (`GET /admin/realms/{realm}/users` of Keycloak's admin REST API): a user whose `enabled` is false is
 * disabled. `users/count` announces how many there are. The client's service account needs the role `view-users` of
 * `realm-management`: with less, Keycloak leaves users out of both.
 *
 * @throws TokenctlError as {@link readWholeList}.
 */
export async function readKeycloakUsers(
  client: ProviderClient,
  { realm }: { readonly realm: string },
): Promise<DirectoryUsers> {
  const users = `admin/realms/${encodeURIComponent(realm)}/users`;
  return await readWholeList(client, () => pages(client, users));
}

async function* pages(client: ProviderClient, users: string): AsyncGenerator<ProviderPage> {
  const { body } = await client.get(`${users}/count`);
  const announced = readAs(z.number().int().nonnegative(), body, (what) => client.misbehaved(what));
  for (let first = 0; ; ) {
    const query = new URLSearchParams({
      first: String(first),
      max: String(PAGE_SIZE),
      briefRepresentation: 'true',
    });
    const page = await client.get(`${users}?${query}`);
    const list = readAs(listResponse, page.body, (what) => client.misbehaved(what));
    yield { users: list.map(userOf), announced };
    // Only an empty page is the end: Keycloak leaves out what the client may not see, so a page may be short.
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
