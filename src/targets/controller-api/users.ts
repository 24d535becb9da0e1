import { randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { isSameAddress } from '@tokenctl/common/signals/subject-identifier.ts';
import { z } from 'zod';
import type { UserReference } from '../../domain/token.ts';
import type {
  Contact,
  HeldRole,
  UserFlag,
  UserIdentities,
  UserIdentity,
} from '../../operations/ports/target-parts.ts';
import { type Api, id, namedUser, type Query } from './api.ts';
import { authorizationHeader } from './connection.ts';
import { listItems, listOf } from './listing.ts';
import { listFilter, userQueries } from './queries.ts';
import { isJson, isUnauthenticated, orNull, parseJson, responseError } from './responses.ts';

/**
 * Sets a user's password. A controller 24.6.1 gives the same response for an external account, whose password
 * it does not change [seen]. Only {@link acceptsPassword} shows the difference.
 * @throws TokenctlError `unsupported` if the target rejects the password, and as requests do.
 */
export async function setPassword(api: Api, userId: number, password: Secret): Promise<void> {
  const response = await api.send({
    method: 'PATCH',
    path: `users/${userId}/`,
    json: { password: password.reveal() },
  });
  parseJson(response, api, `a new password of user ${userId}`);
}

/** Whether the target accepts this name and password. Throws other errors of the request. */
export async function acceptsPassword(
  api: Api,
  { id: userId, username }: UserReference,
  password: Secret,
): Promise<boolean> {
  // RFC 7617 §2: such a name cannot be sent.
  if (username.includes(':')) return false;
  const authorization = authorizationHeader({ kind: 'password', username, password });
  const response = await api.send({ method: 'GET', path: 'me/', authorization });
  if (isUnauthenticated(response) || (response.status === 403 && isJson(response))) return false;
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
    summary_fields: z
      .object({ resource_name: z.string(), resource_type: z.string(), resource_id: id })
      .partial()
      .optional(),
  })
  .transform(({ id: roleId, name, summary_fields: of = {} }) => ({
    id: roleId,
    name:
      of.resource_name === undefined ? name : `${name} of ${kindText(of.resource_type)} ${of.resource_name}`,
    key: roleKey({ type: of.resource_type ?? '', about: of.resource_id ?? '', title: name }),
  }));

/** Identifies a role by its object and title. Equal for the old and the new role tables if both have the role. */
function roleKey(of: { readonly type: string; readonly about: number | string; readonly title: string }) {
  const title = of.title.toLowerCase().replace(/ |( compat$)/g, '');
  return `${of.type.replaceAll('_', '')}:${of.about}:${title}`;
}

const assignment = z
  .object({
    id,
    content_type: z.string().nullish(),
    object_id: z.string().nullish(),
    summary_fields: z.object({
      role_definition: z.object({ id, name: z.string(), managed: z.boolean() }),
      content_object: z.looseObject({ name: z.string().nullish() }).nullish(),
    }),
  })
  .transform(({ id: number, content_type: type, object_id: about, summary_fields: of }) => {
    const { id: definition, name, managed } = of.role_definition;
    // `JobTemplate Execute`, `Organization Audit`, `Organization NotificationTemplate Admin`; old ones differ.
    const title = name
      .replace(/^\w+ /, '')
      .replace(/(Notification|Workflow)(Job)?Template/, '$1')
      .replace(/^Audit$/, 'Auditor');
    const model = type?.replace(/^.*\./, '') ?? '';
    return {
      id: number,
      key: managed ? roleKey({ type: model, about: about ?? '', title }) : null,
      role: `definition:${definition}:${about ?? ''}` as const,
      name: model === '' ? name : `${name} of ${model} ${of.content_object?.name ?? about ?? ''}`,
    };
  });

const ASSIGNMENTS = 'role_user_assignments/';

/** The roles of a user in the new role tables; empty if a controller has no such list. */
async function listAssignments(
  api: Api,
  userId: number,
  restrict: readonly (readonly [string, string])[] = [],
): Promise<readonly z.output<typeof assignment>[]> {
  const listing = listOf(ASSIGNMENTS, `the role assignments of user ${userId}`, assignment);
  const probe = await api.send({ method: 'GET', path: `${ASSIGNMENTS}?user__id=${userId}&page_size=1` });
  if (probe.status === 404) return [];
  return await Array.fromAsync(listItems(api, [[['user__id', String(userId)], ...restrict]], listing));
}

/** For example, `job template` for `job_template`. */
function kindText(kind = 'object'): string {
  return kind.replaceAll('_', ' ');
}

/**
 * The roles that a user holds directly, flags first. Membership in teams and organizations counts as a role of
 * theirs. A controller 24.6.1 lists roles granted at `role_user_assignments` only there, and old roles in both lists
 * [seen].
 * @throws TokenctlError `unsupported` if there is no such list, `not_found` for an unknown user, and as requests do.
 */
export async function listRoles(api: Api, userId: number): Promise<readonly HeldRole[]> {
  const { data } = flags.safeParse(await api.getJson(`users/${userId}/`, `user ${userId}`));
  const held = FLAGS.filter((flag) => data?.[`is_${flag}`] === true);
  const listing = listOf(`users/${userId}/roles/`, `the roles of user ${userId}`, role);
  try {
    const roles = await Array.fromAsync(listItems(api, [[]], listing));
    const known = new Set([...roles.map(({ key }) => key), ...held.map(() => '::auditor')]);
    const assigned = (await listAssignments(api, userId)).filter(
      ({ key }) => key === null || !known.has(key),
    );
    return [
      ...held.map((flag) => ({ role: flag, name: FLAG_NAMES[flag] })),
      ...roles.map(({ id: roleId, name }) => ({ role: roleId, name })),
      ...assigned.map(({ role: assignedRole, name }) => ({ role: assignedRole, name })),
    ];
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'not_found') throw error;
    throw new TokenctlError('unsupported', `${api.address} does not list the roles of users`, {
      cause: error,
    });
  }
}

/** Grants a role or flag to a user, or removes it. Does nothing if that changes nothing. */
export async function setRole(
  api: Api,
  change: { readonly userId: number; readonly role: HeldRole['role']; readonly held: boolean },
): Promise<void> {
  const { userId, role: changed, held } = change;
  if (typeof changed === 'string' && changed !== 'superuser' && changed !== 'system_auditor') {
    await setAssignment(api, { userId, role: changed, held });
    return;
  }
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

async function setAssignment(
  api: Api,
  { userId, role: named, held }: { userId: number; role: string; held: boolean },
): Promise<void> {
  const [, definition = '', about = ''] = named.split(':');
  const of: readonly (readonly [string, string])[] = [
    ['role_definition__id', definition],
    about === '' ? ['object_id__isnull', 'true'] : ['object_id', about],
  ];
  const present = await listAssignments(api, userId, of);
  const json = {
    user: userId,
    role_definition: Number(definition),
    ...(about !== '' && { object_id: about }),
  };
  const requests = held
    ? present.length > 0
      ? []
      : [{ method: 'POST', path: ASSIGNMENTS, json } as const]
    : present.map((each) => ({ method: 'DELETE', path: `${ASSIGNMENTS}${each.id}/` }) as const);
  for (const request of requests) {
    const response = await api.send(request);
    const isDone = (response.status >= 200 && response.status <= 299) || (!held && response.status === 404);
    if (!isDone) throw responseError(response, api, `a change of the roles of user ${userId}`);
  }
}

const user = namedUser.extend({ email: z.string().nullish() });
const organization = z.object({ id, name: z.string() });
const USERS = listOf('users/', 'the list of users', user);
const ORGANIZATIONS = listOf('organizations/', 'the list of organizations', organization);

/** The email addresses of users, and their organizations among these: one request per two hundred members. */
export async function readContacts(
  api: Api,
  { names, organizations }: { names: readonly string[]; organizations: readonly string[] },
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
    id: userId,
    username,
    email: email === undefined || email === '' ? null : email,
    organizations: organizations.filter((name) => members.get(name)?.has(userId) === true),
  }));
}

/** The accounts of users: a controller's `auth`, or a gateway's by authenticator [seen on both]. */
const identities = z
  .object({
    id,
    email: z.string().nullish(),
    ldap_dn: z.string().nullish(),
    auth: z.array(z.object({ provider: z.string(), uid: z.string() })).nullish(),
    associated_authenticators: z
      .record(z.string(), z.object({ uid: z.string() }))
      .nullish()
      .catch(null),
  })
  .transform(
    (body): UserIdentities => ({
      id: body.id,
      email: body.email || null,
      ldapDn: body.ldap_dn || null,
      accounts: [
        ...(body.auth ?? []),
        ...Object.entries(body.associated_authenticators ?? {}).map(([number, { uid }]) => ({
          provider: `authenticator ${number}`,
          uid,
        })),
      ],
    }),
  );

const IDENTITIES = listOf('users/', 'the list of users', identities);

/** Streams the users' accounts at identity providers. A gateway shows its authenticators by id. */
export async function* listIdentities(api: Api): AsyncGenerator<UserIdentities> {
  yield* listItems(api, userQueries({}), IDENTITIES);
}

/**
 * The users with an email address or an account. For an account, users are read until one has an account of
 * the same provider to test a filter with, because no recording contains this filter. Null if no user shows
 * an account; a caller who may not see accounts cannot distinguish this from there being none.
 * @throws TokenctlError as requests do.
 */
export async function identifiedUsers(api: Api, by: UserIdentity): Promise<readonly number[] | null> {
  if ('email' in by) {
    const found = await Array.fromAsync(listItems(api, [[['email__iexact', by.email]]], USERS));
    // A target that ignores the filter would return everyone, and `iexact` also matches look-alikes.
    const same = found.filter(({ email }) => isSameAddress(email ?? '', by.email));
    return same.map(({ id: userId }) => userId);
  }
  let shown = false;
  let isTried = false;
  const found: number[] = [];
  for await (const { id: userId, accounts } of listIdentities(api)) {
    shown ||= accounts.length > 0;
    const own = accounts.filter(({ provider }) => provider === by.provider);
    if (own.some(({ uid }) => uid === by.uid)) found.push(userId);
    const [sample] = own;
    if (sample === undefined || isTried) continue;
    isTried = true;
    const filtered = await filteredUsers(api, by, { userId, uid: sample.uid });
    if (filtered !== null) return filtered;
  }
  return shown ? found : null;
}

/**
 * The users of an account by a filter; null if the filter does not work. It is trusted only if it returns the
 * right user for a known account and no one for a nonexistent one: a server or proxy that ignores it returns
 * everyone, and one that misreads it no one.
 */
async function filteredUsers(
  api: Api,
  { provider, uid }: Extract<UserIdentity, { provider: string }>,
  known: { readonly userId: number; readonly uid: string },
): Promise<readonly number[] | null> {
  const withUid = async (wanted: string) => {
    const query: Query = [
      ['social_auth__provider', provider],
      ['social_auth__uid', wanted],
    ];
    const users: UserIdentities[] = [];
    for await (const user of listItems(api, [query], IDENTITIES)) {
      if (!user.accounts.some((each) => each.provider === provider && each.uid === wanted)) return null;
      users.push(user);
    }
    return users.map(({ id: userId }) => userId);
  };
  return await orNull(['unsupported', 'permission_refused'], async () => {
    if ((await withUid(known.uid))?.join() !== String(known.userId)) return null;
    if ((await withUid(randomUUID()))?.length !== 0) return null;
    return await withUid(uid);
  });
}

/** The ids of an organization's members; empty if the target has no such list. */
async function membersOf(api: Api, organizationId: number): Promise<ReadonlySet<number>> {
  const path = `organizations/${organizationId}/users/`;
  const members = new Set<number>();
  const { status } = await api.send({ method: 'GET', path: `${path}?page_size=1` });
  if (status === 404) return members;
  for await (const { id: userId } of listItems(api, [[]], { ...USERS, path })) members.add(userId);
  return members;
}
