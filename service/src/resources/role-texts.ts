import type { ResourceWithRoles, RoleName } from '../store/object-roles.ts';

type Texts = Readonly<Partial<Record<RoleName, readonly [name: string, description: string]>>>;

const manages = (what: string) => ['Admin', `Can manage all aspects of the ${what}`] as const;
const views = (what: string) => ['Read', `May view settings for the ${what}`] as const;
const uses = (what: string) => ['Use', `Can use the ${what} in a job template`] as const;

/** The roles of each type of object, in the controller's order and words. */
const TEXTS: Readonly<Record<ResourceWithRoles, Texts>> = {
  organization: {
    admin: manages('organization'),
    execute: ['Execute', 'May run any executable resources in the organization'],
    project_admin: ['Project Admin', 'Can manage all projects of the organization'],
    inventory_admin: ['Inventory Admin', 'Can manage all inventories of the organization'],
    credential_admin: ['Credential Admin', 'Can manage all credentials of the organization'],
    workflow_admin: ['Workflow Admin', 'Can manage all workflows of the organization'],
    notification_admin: ['Notification Admin', 'Can manage all notifications of the organization'],
    job_template_admin: ['Job Template Admin', 'Can manage all job templates of the organization'],
    execution_environment_admin: [
      'Execution Environment Admin',
      'Can manage all execution environments of the organization',
    ],
    auditor: ['Auditor', 'Can view all aspects of the organization'],
    member: ['Member', 'User is a member of the organization'],
    read: views('organization'),
    approval: ['Approve', 'Can approve or deny a workflow approval node'],
  },
  team: { admin: manages('team'), member: ['Member', 'User is a member of the team'], read: views('team') },
  project: {
    admin: manages('project'),
    use: uses('project'),
    update: ['Update', 'May update the project'],
    read: views('project'),
  },
  inventory: {
    admin: manages('inventory'),
    update: ['Update', 'May update the inventory'],
    adhoc: ['Ad Hoc', 'May run ad hoc commands on the inventory'],
    use: uses('inventory'),
    read: views('inventory'),
  },
  credential: { admin: manages('credential'), use: uses('credential'), read: views('credential') },
  job_template: {
    admin: manages('job template'),
    execute: ['Execute', 'May run the job template'],
    read: views('job template'),
  },
};

export function roleText(
  type: ResourceWithRoles,
  role: RoleName,
): { readonly name: string; readonly description: string } {
  const [name, description] = TEXTS[type][role] ?? [role, ''];
  return { name, description };
}

/** In the controller's order. */
export function roleNames(type: ResourceWithRoles): readonly RoleName[] {
  return Object.keys(TEXTS[type]) as RoleName[];
}

/** The name of a role's field in an object. */
export function roleField(role: RoleName): string {
  return `${role}_role`;
}

/** The names of an object's role fields, as OPTIONS lists them. */
export function roleFields(type: ResourceWithRoles): readonly string[] {
  return roleNames(type).map(roleField);
}

export function resourcePath(type: ResourceWithRoles, id: number): string {
  return `/api/v2/${type === 'inventory' ? 'inventories' : `${type}s`}/${id}/`;
}

/** An object's role by the name of its field, or null. */
export function roleOfField(type: ResourceWithRoles, field: string): RoleName | null {
  return roleNames(type).find((role) => `${role}_role` === field) ?? null;
}

/** The roles of an object, by field name. */
export function objectRoles(
  type: ResourceWithRoles,
  ids: Readonly<Partial<Record<RoleName, number>>>,
): Readonly<Record<string, unknown>> {
  const roles = roleNames(type).filter((role) => ids[role] !== undefined);
  return Object.fromEntries(
    roles.map((role) => {
      const { name, description } = roleText(type, role);
      // Teams cannot have these roles. The controller's pages offer them to users only.
      const userOnly = type === 'organization' && (role === 'admin' || role === 'member');
      return [`${role}_role`, { description, name, id: ids[role], ...(userOnly && { user_only: true }) }];
    }),
  );
}
