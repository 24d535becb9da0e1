import { z } from 'zod';
import { TokenctlError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';
import type { UserReference } from '../../domain/token.ts';
import type { HeldRole, UserFlag } from '../../operations/ports/access-changes.ts';
import type { Contact } from '../../operations/ports/target.ts';
import { type Api, id } from './api.ts';
import { authorizationHeader } from './connection.ts';
import { type Listing, listFilter, listItems, userQueries } from './listing.ts';
import { isUnauthenticated, parseJson, responseError } from './responses.ts';

/**
 * Sets the password of a user. A controller 24.6.1 answers the same for an external account, whose password it leaves as it is
 * [seen]: only {@link acceptsPassword} tells.
 *
 * @throws TokenctlError `unsupported` where the target rejects the password, and as requests do.
 */
export async function setPassword(api: Api, userId: number, password: Secret): Promise<void> {
  const response = await api.send({
    method: 'PATCH',
    path: `users/${userId}/`,
    json: { password: password.reveal() },
  });
  parseJson(response, api, `a new password of user ${userId}`);
}

/**
 * Sends one request with a name and password.
 *
 * @throws TokenctlError as requests do, unless the answer is that the password is refused.
 */
export async function acceptsPassword(
  api: Api,
  { id: userId, username }: UserReference,
  password: Secret,
): Promise<boolean> {
  // RFC 7617 §2: such a name cannot be sent.
  if (username.includes(':')) return false;
  const authorization = authorizationHeader({ kind: 'password', username, password });
  const response = await api.send({ method: 'GET', path: 'me/', authorization });
  if (isUnauthenticated(response) || response.status === 403) return false;
  const found = me.safeParse(parseJson(response, api, 'the current user')).data;
  return found?.results.some((each) => each.id === userId) === true;
}

const me = z.object({ results: z.array(z.object({ id })) });

const FLAGS: readonly UserFlag[] = ['superuser', 'system_auditor'];
const FLAG_NAMES: Readonly<Record<UserFlag, string>> = {
  superuser: 'superuser',
  system_auditor: 'system auditor',
};

const flags = z.object({ is_superuser: z.boolean(), is_system_auditor: z.boolean().nullish() });

const role = z
  .object({
    id,
    name: z.string(),
    summary_fields: z.object({ resource_name: z.string(), resource_type: z.string() }).partial().optional(),
  })
  .transform(({ id: roleId, name, summary_fields: of = {} }) => ({
    id: roleId,
    name:
      of.resource_name === undefined ? name : `${name} of ${kindText(of.resource_type)} ${of.resource_name}`,
  }));

/** `job_template` as people write it. */
function kindText(kind = 'object'): string {
  return kind.replaceAll('_', ' ');
}

/**
 * The roles that a user holds directly, the flags first. Membership in teams and organizations is a role of theirs.
 *
 * @throws TokenctlError `unsupported` where there is no such list, `not_found` for an unknown user, and as requests do.
 */
export async function listRoles(api: Api, userId: number): Promise<readonly HeldRole[]> {
  const response = await api.send({ method: 'GET', path: `users/${userId}/` });
  const { data } = flags.safeParse(parseJson(response, api, `user ${userId}`));
  const held = FLAGS.filter((flag) => data?.[`is_${flag}`] === true);
  const listing: Listing<{ readonly id: number; readonly name: string }> = {
    path: `users/${userId}/roles/`,
    what: `the roles of user ${userId}`,
    read: (body) => role.safeParse(body).data ?? null,
  };
  try {
    const roles = await Array.fromAsync(listItems(api, [[]], listing));
    return [
      ...held.map((flag) => ({ role: flag, name: FLAG_NAMES[flag] })),
      ...roles.map(({ id: roleId, name }) => ({ role: roleId, name })),
    ];
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'not_found') throw error;
    throw new TokenctlError('unsupported', `${api.address} does not list the roles of users`, {
      cause: error,
    });
  }
}

/**
 * Gives a user a role or flag, or takes it. What is so already stays so.
 *
 * @throws TokenctlError as requests do.
 */
export async function setRole(
  api: Api,
  change: { readonly userId: number; readonly role: HeldRole['role']; readonly held: boolean },
): Promise<void> {
  const { userId, role: changed, held } = change;
  const isFlag = typeof changed === 'string';
  const response = await api.send(
    isFlag
      ? { method: 'PATCH', path: `users/${userId}/`, json: { [`is_${changed}`]: held } }
      : {
          method: 'POST',
          path: `users/${userId}/roles/`,
          json: { id: changed, ...(held ? {} : { disassociate: true }) },
        },
  );
  if (response.status < 200 || response.status > 299)
    throw responseError(response, api, `a change of the roles of user ${userId}`);
}

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
