import { sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { words } from '@tokenctl/common/text.ts';
import { isKnownKind, type KnownKind } from '../../../domain/investigation/kinds.ts';
import type { Connection } from '../connection.ts';

/** Where a controller 24.6.1 stores one kind of object. All values are constants: no other SQL is built. */
interface Store {
  readonly table: string;
  readonly name: string;
  /** The table with the common fields of all templates or jobs. Both tables have the same ids. */
  readonly parent?: 'main_unifiedjobtemplate' | 'main_unifiedjob';
  /** The table and the column that link activity stream entries to these objects. */
  readonly link: readonly [table: string, column: string];
}

const LINKED = 'main_activitystream_';

function store(kind: string, table: string, more: Partial<Pick<Store, 'name' | 'parent'>> = {}): Store {
  return { table, name: 'name', link: [LINKED + kind, `${kind.replaceAll('_', '')}_id`], ...more };
}

const TEMPLATE = { parent: 'main_unifiedjobtemplate' } as const;
const JOB = { parent: 'main_unifiedjob' } as const;

/** Kinds without their own table are missing. The stream does not record credential input sources, so no link. */
export const STORES: Partial<Readonly<Record<KnownKind, Store>>> = {
  o_auth2_access_token: store('o_auth2_access_token', 'main_oauth2accesstoken', { name: 'description' }),
  o_auth2_application: store('o_auth2_application', 'main_oauth2application'),
  user: store('user', 'auth_user', { name: 'username' }),
  credential: store('credential', 'main_credential'),
  credential_type: store('credential_type', 'main_credentialtype'),
  credential_input_source: store('credential_input_source', 'main_credentialinputsource', {
    name: 'input_field_name',
  }),
  organization: store('organization', 'main_organization'),
  team: store('team', 'main_team'),
  schedule: store('schedule', 'main_schedule'),
  job_template: store('job_template', 'main_jobtemplate', TEMPLATE),
  workflow_job_template: store('workflow_job_template', 'main_workflowjobtemplate', TEMPLATE),
  workflow_job_template_node: store('workflow_job_template_node', 'main_workflowjobtemplatenode', {
    name: 'identifier',
  }),
  workflow_approval_template: store('workflow_approval_template', 'main_workflowapprovaltemplate', TEMPLATE),
  notification_template: store('notification_template', 'main_notificationtemplate'),
  inventory_source: store('inventory_source', 'main_inventorysource', TEMPLATE),
  inventory: store('inventory', 'main_inventory'),
  host: store('host', 'main_host'),
  group: store('group', 'main_group'),
  execution_environment: store('execution_environment', 'main_executionenvironment'),
  project: store('project', 'main_project', TEMPLATE),
  instance_group: store('instance_group', 'main_instancegroup'),
  instance: store('instance', 'main_instance', { name: 'hostname' }),
  label: store('label', 'main_label'),
  job: store('job', 'main_job', JOB),
  ad_hoc_command: store('ad_hoc_command', 'main_adhoccommand', JOB),
  workflow_job: store('workflow_job', 'main_workflowjob', JOB),
  project_update: store('project_update', 'main_projectupdate', JOB),
  workflow_approval: store('workflow_approval', 'main_workflowapproval', JOB),
  inventory_update: store('inventory_update', 'main_inventoryupdate', JOB),
};

/** A role link has no object that is read. */
export const ROLE_LINK = ['main_activitystream_role', 'role_id'] as const;

/** The new role tables of controller 24.6.1. */
export const ASSIGNMENT_TABLES = [
  'dab_rbac_roleuserassignment',
  'dab_rbac_roleteamassignment',
  'dab_rbac_roledefinition',
];

/** The role tables of all controllers. */
export const OLDER_ROLES = ['main_rbac_roles', 'main_rbac_roles_members', 'main_rbac_roles_parents'];

/** The role tables of tokenctl's own service, in addition to those of organizations and teams. */
export const SERVICE_ROLES = [
  ...['service_role', 'service_team_role', 'service_object_role', 'service_role_grant'],
];

/** The tables that are read in addition to those of {@link STORES}. */
const OTHER_TABLES = [
  ...['main_activitystream', 'auth_user', 'conf_setting', 'django_content_type', ROLE_LINK[0]],
  ...OLDER_ROLES,
  ...ASSIGNMENT_TABLES,
  ...SERVICE_ROLES,
  ...['main_unifiedjob', 'main_unifiedjobtemplate', 'main_unifiedjob_credentials', 'main_jobhostsummary'],
] as const;

const TEMPLATE_ID = 'unifiedjobtemplate_id';
const NOTIFIES = 'main_unifiedjobtemplate_notification_templates_';

/** The link tables by the link's name in an entry: table, column of the first object, column of the second. */
export const LINK_TABLES: Readonly<Record<string, readonly [table: string, first: string, second: string]>> =
  {
    credentials: ['main_unifiedjobtemplate_credentials', TEMPLATE_ID, 'credential_id'],
    notification_templates_started: [`${NOTIFIES}started`, TEMPLATE_ID, 'notificationtemplate_id'],
    notification_templates_success: [`${NOTIFIES}success`, TEMPLATE_ID, 'notificationtemplate_id'],
    notification_templates_error: [`${NOTIFIES}error`, TEMPLATE_ID, 'notificationtemplate_id'],
    instance_groups: ['main_unifiedjobtemplateinstancegroupmembership', TEMPLATE_ID, 'instancegroup_id'],
    input_inventories: [
      'main_inventoryconstructedinventorymembership',
      'constructed_inventory_id',
      'input_inventory_id',
    ],
    hosts: ['main_group_hosts', 'group_id', 'host_id'],
  };

/**
 * The table of {@link LINK_TABLES} with the links of an object; undefined if unknown. Organizations, inventories and
 * schedules keep links with the same names elsewhere, so the ids in these tables are not theirs.
 */
export function linkTable(link: string, kind: string): (typeof LINK_TABLES)[string] | undefined {
  const table = LINK_TABLES[link];
  if (table?.[1] !== TEMPLATE_ID) return table;
  return isKnownKind(kind) && STORES[kind]?.parent === TEMPLATE.parent ? table : undefined;
}

/** Columns that contain secrets, or nothing that an actor changes. They never leave the database. */
export const WITHHELD = words(`password token inputs client_secret webhook_key host_config_key
  survey_passwords injectors metadata ansible_facts logo_data artifacts start_args job_args job_env
  job_env_old result_stdout_text result_traceback playbook_files inventory_files installed_collections`);

/** Which of these tables a database has. Throws `permission_refused` with the grant for an unreadable one. */
export async function readableTables(
  { reader, address }: Connection,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql`SELECT w.name, has_table_privilege(to_regclass(w.name), 'SELECT') AS readable,
      quote_ident(current_user) AS role
    FROM unnest(${names}::text[]) AS w(name) WHERE to_regclass(w.name) IS NOT NULL
    ORDER BY w.name`.rows<{ name: string; readable: boolean; role: string }>(reader);
  const refused = rows.filter(({ readable }) => !readable).map(({ name }) => name);
  if (refused.length > 0) {
    const grant = `GRANT SELECT ON ${refused.join(', ')} TO ${rows[0]?.role ?? 'CURRENT_USER'}`;
    throw new TokenctlError(
      'permission_refused',
      `This role is not allowed to read ${refused.length} tables in ${address}`,
      { hint: `Ask the database administrator to run \`${grant};\``, details: { grants: [grant] } },
    );
  }
  return new Set(rows.map(({ name }) => name));
}

/** Every table that an investigation of a controller reads. */
export function investigatedTables(): readonly string[] {
  const names = new Set<string>([...OTHER_TABLES, ...Object.values(LINK_TABLES).map(([table]) => table)]);
  for (const { table, parent, link } of Object.values(STORES)) {
    for (const each of [table, parent, link[0]]) if (each !== undefined) names.add(each);
  }
  return [...names];
}
