import type { Queryable } from '../../db/database.ts';
import type { ServiceContext } from '../context.ts';
import { insertActivity } from '../store/activity.ts';
import { findOrganizationId, grantRole, insertOrganization, withdrawRole } from '../store/organizations.ts';
import type { MappedRole, MappedRoles } from './mapping.ts';

/**
 * Gives a user the roles that maps grant, and takes away those that they withdraw. An organization that does
 * not exist is made, as on the controller.
 */
export async function applyRoles(
  service: ServiceContext,
  transaction: Queryable,
  { userId, roles }: { readonly userId: number; readonly roles: MappedRoles },
): Promise<void> {
  for (const mapped of roles.granted) {
    const organizationId = await organizationOf(service, transaction, mapped);
    const grant = { userId, organizationId, role: mapped.role };
    if (await grantRole(transaction, grant))
      await note(service, transaction, { ...grant, operation: 'associate' });
  }
  for (const mapped of roles.withdrawn) {
    const organizationId = await findOrganizationId(transaction, mapped.organization);
    if (organizationId === null) continue;
    const grant = { userId, organizationId, role: mapped.role };
    if (await withdrawRole(transaction, grant))
      await note(service, transaction, { ...grant, operation: 'disassociate' });
  }
}

async function organizationOf(
  { now, node }: ServiceContext,
  transaction: Queryable,
  { organization: name }: MappedRole,
): Promise<number> {
  const there = await findOrganizationId(transaction, name);
  if (there !== null) return there;
  const at = now();
  const description = '';
  const made = await insertOrganization(transaction, {
    name,
    description,
    max_hosts: 0,
    createdBy: null,
    at,
  });
  if (made !== null) {
    await insertActivity(transaction, {
      operation: 'create',
      at,
      changes: { name, description, max_hosts: 0, id: made },
      object1: 'organization',
      actorId: null,
      node,
      organizationId: made,
    });
    return made;
  }
  const meanwhile = await findOrganizationId(transaction, name);
  if (meanwhile === null) throw new Error('an organization is neither there nor can be made');
  return meanwhile;
}

function note(
  { now, node }: ServiceContext,
  transaction: Queryable,
  change: {
    readonly userId: number;
    readonly organizationId: number;
    readonly role: MappedRole['role'];
    readonly operation: 'associate' | 'disassociate';
  },
): Promise<void> {
  const { userId, organizationId, role, operation } = change;
  const relationship = `awx.main.models.organization.Organization.${role}_role`;
  return insertActivity(transaction, {
    operation,
    at: now(),
    changes: {
      object1: 'organization',
      object1_pk: organizationId,
      object2: 'user',
      object2_pk: userId,
      action: operation,
      relationship,
    },
    object1: 'organization',
    object2: 'user',
    relationship,
    actorId: null,
    node,
    organizationId,
    userId,
  });
}
