import { type AskedRole, hasRole, type SharedType } from '../access.ts';
import type { Exchange } from '../endpoint.ts';
import { projectFolders } from '../playbooks/projects-folder.ts';
import type { HeldRole } from '../store/object-roles.ts';
import type { ResourceRecord } from '../store/resources.ts';
import { fixedValues } from './fixed-fields.ts';
import { HOST, INVENTORY, type Kind, PROJECT } from './resource-kinds.ts';
import { objectRoles } from './role-texts.ts';

/** A role on a resource; whoever has one on an inventory has it on its hosts. */
export function asked(
  kind: Kind,
  { id, organization, inventory = 0 }: Resource,
  role: AskedRole['role'],
): AskedRole {
  return kind === HOST
    ? { type: 'inventory', id: inventory, organization, role }
    : { type: kind.type as SharedType, id, organization, role };
}

/** What tells which roles a resource has. */
export type Resource = Pick<ResourceRecord, 'id' | 'organization' | 'inventory'>;

/** Turns a resource into JSON. */
type Renderer = (resource: ResourceRecord) => Record<string, unknown>;

/** How the API shows the resources of a kind to a caller. */
export async function renderer(
  { service, caller }: Exchange,
  kind: Kind,
  { held, detail = false }: { readonly held: readonly HeldRole[]; readonly detail?: boolean },
): Promise<Renderer> {
  const folders = kind === PROJECT ? await projectFolders(service.jobs.projects) : [];
  return (resource) => {
    const { organization_name, organization_description, inventory_name, roles, ...row } = resource;
    const { id, created, modified, name, description, organization, ...further } = row;
    const may = caller.mayWrite && hasRole(caller.user, held, asked(kind, resource, 'admin'));
    const { inventory, local_path } = further;
    return {
      id,
      type: kind.type,
      url: `${kind.path}${id}/`,
      related: {
        ...(detail && { named_url: `${kind.path}${kind.named(resource)}/` }),
        ...kind.related(resource),
        ...(roles && {
          object_roles: `${kind.path}${id}/object_roles/`,
          access_list: `${kind.path}${id}/access_list/`,
        }),
        ...(inventory !== undefined && { inventory: `${INVENTORY.path}${inventory}/` }),
        ...(kind !== HOST &&
          organization !== null && { organization: `/api/v2/organizations/${organization}/` }),
      },
      summary_fields: {
        ...(inventory !== undefined && {
          inventory: { id: inventory, name: inventory_name, organization_id: organization },
        }),
        ...(kind !== HOST &&
          organization !== null && {
            organization: {
              id: organization,
              name: organization_name,
              description: organization_description,
            },
          }),
        ...(roles && { object_roles: objectRoles(kind.type as SharedType, roles) }),
        user_capabilities: { edit: may, delete: may },
      },
      created,
      modified,
      name,
      description,
      ...further,
      ...(kind !== HOST && { organization }),
      ...fixedValues(kind.fields),
      ...(local_path !== undefined && {
        status: folders.includes(local_path) ? 'ok' : 'missing',
      }),
    };
  };
}
