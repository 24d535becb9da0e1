import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { type Group, type GroupKind, MEMBERSHIP_ROLES } from '../../domain/groups.ts';
import type { UserReference } from '../../domain/token.ts';
import { type Api, id, namedUser } from './api.ts';
import { listItems, listOf } from './listing.ts';

const groupFields = z.object({
  id,
  name: z.string(),
  summary_fields: z.object({ organization: z.object({ name: z.string() }).optional() }).default({}),
});

/** All organizations or teams that the caller may see, ascending by id. */
export async function listGroups(api: Api, kind: GroupKind): Promise<readonly Group[]> {
  const group = groupFields.transform(({ summary_fields: { organization }, ...body }) => ({
    kind,
    ...body,
    organization: kind === 'team' ? (organization?.name ?? '') : null,
  }));
  try {
    return await Array.fromAsync(listItems(api, [[]], listOf(`${kind}s/`, `the list of ${kind}s`, group)));
  } catch (error) {
    throw notTold(api, kind, error);
  }
}

const detail = z.object({
  summary_fields: z.object({
    object_roles: z.object({ admin_role: z.object({ id }), member_role: z.object({ id }) }),
  }),
});

const assignment = z
  .object({
    id,
    object_id: z.string().nullish(),
    summary_fields: z.object({
      role_definition: z.object({ name: z.string(), managed: z.boolean() }),
      user: namedUser,
    }),
  })
  .transform(({ id: number, object_id: about, summary_fields: { role_definition: role, user: holder } }) => ({
    id: number,
    about,
    role,
    holder,
  }));

/**
 * The members and administrators of an organization or team through its own roles, ascending by id. A
 * controller lists the users of its roles, a gateway the assignments, newer controllers both. Roles granted
 * at `role_user_assignments` appear only there [seen].
 * @throws TokenctlError `unsupported` if the target lists neither, and as requests do.
 */
export async function readUsersOfGroup(
  api: Api,
  of: Pick<Group, 'kind' | 'id'>,
): Promise<readonly UserReference[]> {
  const found = new Map<number, string>();
  const isGateway = api.dialect.name === 'gateway';
  try {
    if (!isGateway)
      for (const role of await rolesOf(api, of)) {
        const listing = listOf(`roles/${role}/users/`, `the users with role ${role}`, namedUser);
        for await (const holder of listItems(api, [[]], listing)) found.set(holder.id, holder.username);
      }
    for (const holder of await assigned(api, of, isGateway)) found.set(holder.id, holder.username);
  } catch (error) {
    throw notTold(api, of.kind, error);
  }
  return Array.from(found, ([number, username]) => ({ id: number, username })).sort((a, b) => a.id - b.id);
}

/** The ids of the administrator and member roles. */
async function rolesOf(api: Api, { kind, id: about }: Pick<Group, 'kind' | 'id'>) {
  const { data } = detail.safeParse(await api.getJson(`${kind}s/${about}/`, `${kind} ${about}`));
  if (data === undefined) throw new TokenctlError('unsupported', `${kind} ${about} shows no roles`);
  const { admin_role: admins, member_role: members } = data.summary_fields.object_roles;
  return [admins.id, members.id];
}

/** The users with a defined role. Older controllers have neither this list nor such roles. */
async function assigned(api: Api, { kind, id: about }: Pick<Group, 'kind' | 'id'>, isRequired: boolean) {
  const path = 'role_user_assignments/';
  if (!isRequired && (await api.send({ method: 'GET', path: `${path}?page_size=1` })).status === 404)
    return [];
  const listing = listOf(path, `the role assignments of ${kind} ${about}`, assignment);
  const all = await Array.fromAsync(listItems(api, [[['object_id', String(about)]]], listing));
  // Objects of other kinds may have the same ids.
  const names = MEMBERSHIP_ROLES[kind];
  return all
    .filter(
      ({ about: object, role }) => object === String(about) && role.managed && names.includes(role.name),
    )
    .map(({ holder }) => holder);
}

function notTold(api: Api, kind: GroupKind, error: unknown): unknown {
  const isAbsent = error instanceof TokenctlError && ['not_found', 'unsupported'].includes(error.code);
  if (!isAbsent) return error;
  return new TokenctlError('unsupported', `${api.address} does not show who belongs to which ${kind}`, {
    hint: 'Select by other criteria, or use a database context.',
    cause: error,
  });
}
