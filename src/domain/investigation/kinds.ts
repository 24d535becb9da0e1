import { words } from '@tokenctl/common/text.ts';
import type { ItemGroup } from './investigation.ts';

/** What is known of a kind of object of a controller 24.6.1 or of a gateway. */
interface Kind {
  readonly noun: string;
  readonly group: ItemGroup;
  /** The list in the REST API, below `/api/v2/`; undefined if the API has no such kind. */
  readonly path: string | undefined;
  /** Whether the REST API of 24.6.1 has only single objects: the list returns 404 [seen]. */
  readonly isUnlisted?: boolean;
  /** The fields that decide which code it runs, on which hosts or with which rights. */
  readonly code?: readonly string[];
}

const TEMPLATE_FIELDS = words(`playbook project inventory job_type extra_vars limit scm_branch job_tags
  skip_tags start_at_task become_enabled execution_environment survey_spec survey_enabled webhook_service
  webhook_credential host_config_key instance_group credential ask_variables_on_launch
  ask_credential_on_launch ask_inventory_on_launch ask_limit_on_launch ask_scm_branch_on_launch
  ask_execution_environment_on_launch ask_instance_groups_on_launch`);

/** By default, the noun is the name of the kind, and the path its plural. */
const KINDS = {
  o_auth2_access_token: { noun: 'access token', group: 'ways_in', path: 'tokens' },
  o_auth2_application: { noun: 'application', group: 'ways_in', path: 'applications' },
  user: { group: 'ways_in' },
  setting: { group: 'ways_in' },
  credential: { group: 'ways_in' },
  credential_type: { group: 'code_later' },
  credential_input_source: { group: 'code_later' },
  organization: { group: 'other', code: ['default_environment'] },
  team: { group: 'ways_in' },
  role_user_assignment: { noun: 'role assignment', group: 'ways_in' },
  role_team_assignment: { noun: 'role assignment', group: 'ways_in' },
  role_definition: { group: 'ways_in' },
  // Gateway only.
  authenticator: { group: 'ways_in' },
  authenticator_map: { group: 'ways_in' },
  o_auth2_refresh_token: { noun: 'refresh token', group: 'other', path: undefined },
  schedule: {
    group: 'code_later',
    code: words(`rrule enabled extra_data unified_job_template inventory limit scm_branch
      execution_environment job_type job_tags skip_tags`),
  },
  job_template: { group: 'code_later', code: TEMPLATE_FIELDS },
  workflow_job_template: { noun: 'workflow template', group: 'code_later', code: TEMPLATE_FIELDS },
  workflow_job_template_node: {
    noun: 'workflow node',
    group: 'code_later',
    code: words(`unified_job_template extra_data inventory limit scm_branch execution_environment job_type
      job_tags skip_tags`),
  },
  workflow_approval_template: { group: 'code_later', isUnlisted: true },
  notification_template: {
    group: 'code_later',
    code: ['notification_configuration', 'notification_type', 'messages'],
  },
  inventory_source: {
    group: 'code_later',
    code: words(`source source_path source_vars source_project credential execution_environment scm_branch
      limit host_filter update_on_launch overwrite overwrite_vars`),
  },
  inventory: { group: 'code_later', path: 'inventories', code: ['variables', 'kind', 'host_filter'] },
  host: { group: 'code_later', code: ['variables', 'name', 'enabled', 'inventory'] },
  group: { group: 'code_later', code: ['variables', 'name'] },
  execution_environment: { group: 'code_later', code: ['image', 'credential', 'pull'] },
  project: {
    group: 'code_later',
    code: words(`scm_url scm_branch scm_type scm_refspec credential local_path default_environment
      allow_override signature_validation_credential`),
  },
  instance_group: { group: 'code_later', code: ['pod_spec_override', 'credential', 'is_container_group'] },
  instance: { group: 'code_later' },
  receptor_address: { group: 'other', path: 'receptor_addresses' },
  job: { group: 'ran' },
  ad_hoc_command: { group: 'ran' },
  workflow_job: { group: 'ran' },
  project_update: { group: 'ran' },
  inventory_update: { group: 'ran' },
  system_job: { noun: 'management job', group: 'ran' },
  // The approver lets the workflow continue.
  workflow_approval: { group: 'other', code: ['status', 'approved_or_denied_by'] },
  label: { group: 'other' },
  notification: { group: 'other' },
} as const satisfies Readonly<Record<string, Partial<Kind> & Pick<Kind, 'group'>>>;

const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries(KINDS).map(([kind, known]) => [
    kind,
    { noun: kind.replaceAll('_', ' '), path: `${kind}s`, ...known },
  ]),
);

export type KnownKind = keyof typeof KINDS;

/** The facts about a kind; undefined for a kind of a later version. */
export function kindOf(kind: string): Kind | undefined {
  return kinds.get(kind);
}

/** A model (`jobtemplate`) in the terms of the activity stream; unchanged if unknown. */
export function kindOfModel(model: string): string {
  return Object.keys(KINDS).find((kind) => modelOf(kind) === model) ?? model;
}

/** A kind as the model of its table: `jobtemplate`. */
export function modelOf(kind: string): string {
  return kind.replaceAll('_', '');
}

/**
 * The object role for the names that controller 24.6.1 gives to the role definitions in its newer tables:
 * `JobTemplate Execute` and `Organization Read Compat` are `execute_role` and `read_role`, `Organization
 * NotificationTemplate Admin` is `notification_admin_role` [seen for all roles of organizations, teams,
 * templates and inventories].
 */
export function definedRoleField(definition: string): string {
  if (definition === 'System Auditor') return 'system_auditor';
  const [, second = '', third = ''] = definition.split(' ');
  if (third === 'Admin') {
    const kind = second.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
    const short: Readonly<Record<string, string>> = {
      notification_template: 'notification',
      workflow_job_template: 'workflow',
    };
    return `${short[kind] ?? kind}_admin_role`;
  }
  const short: Readonly<Record<string, string>> = { Audit: 'auditor', Approve: 'approval' };
  return `${short[second] ?? second.toLowerCase()}_role`;
}

export function isKnownKind(kind: string): kind is KnownKind {
  return Object.hasOwn(KINDS, kind);
}

/** The kinds that run and end. */
export function isJobKind(kind: string): boolean {
  return kindOf(kind)?.group === 'ran';
}

/** The noun of a kind in sentences; the controller's name for an unknown kind. */
export function nounOf(kind: string): string {
  return kindOf(kind)?.noun ?? kind.replaceAll('_', ' ');
}

/** The noun in the plural: `inventories`, `schedules`. */
export function nounsOf(kind: string): string {
  return `${nounOf(kind)}s`.replace(/([^aeiou])ys$/, '$1ies');
}

/** Stands for changed fields if only the object's list shows the change. */
export const UNRECORDED_FIELDS = 'unrecorded fields';

/** Whether a field of a kind decides, or may decide, which code runs, where and with which rights. */
export function isCodeField(kind: string, field: string): boolean {
  return field === UNRECORDED_FIELDS || kindOf(kind)?.code?.includes(field) === true;
}

/**
 * The kinds whose lists say who created an object and who changed it last, with the field whose changes the
 * activity stream may lack: such objects are also found by their last change. Only users change these; the
 * controller itself saves objects of other kinds, which also counts as a change.
 */
export const LISTED_KINDS = {
  credential: null,
  credential_input_source: 'metadata',
  credential_type: 'injectors',
  execution_environment: null,
  group: null,
  host: null,
  inventory: null,
  inventory_source: null,
  job_template: null,
  notification_template: null,
  organization: null,
  project: null,
  schedule: null,
  team: null,
  workflow_job_template: null,
} as const satisfies Partial<Readonly<Record<KnownKind, string | null>>>;

/** The same for a gateway, whose stream lacks authenticators, their maps, and new client secrets [seen]. */
export const GATEWAY_LISTED_KINDS = {
  authenticator: 'configuration',
  authenticator_map: 'triggers',
  o_auth2_application: 'client_secret',
  organization: null,
  team: null,
} as const satisfies Partial<Readonly<Record<KnownKind, string | null>>>;

/** The field of a kind whose changes the activity stream may lack; null if there is none. */
export function unrecordedField(kind: string): string | null {
  const fields: Readonly<Record<string, string | null>> = { ...LISTED_KINDS, ...GATEWAY_LISTED_KINDS };
  return fields[kind] ?? null;
}

/** Whether only user requests save objects of a kind: the controller writes no state into them. */
export function isSavedByUsers(kind: string): boolean {
  return ['credential', 'notification_template', 'organization', 'team'].includes(kind);
}

export type ListedKind = keyof typeof LISTED_KINDS;

/** Columns of all template tables that no request sets. */
const TEMPLATE_STATE = words(`status current_job last_job last_job_failed last_job_run next_job_run
  next_schedule`);

/**
 * Columns that a controller 24.6.1 computes, by kind: it writes entries about some of them, such as
 * `total_hosts` when a host is added, but no request sets them, and they follow from other changes.
 */
const COMPUTED_FIELDS: Readonly<Partial<Record<KnownKind, readonly string[]>>> = {
  inventory: words(`has_active_failures total_hosts hosts_with_active_failures total_groups
    has_inventory_sources total_inventory_sources inventory_sources_with_failures`),
  project: [...TEMPLATE_STATE, 'scm_revision', 'playbook_files', 'inventory_files'],
  inventory_source: TEMPLATE_STATE,
  job_template: TEMPLATE_STATE,
  workflow_job_template: TEMPLATE_STATE,
  workflow_approval_template: TEMPLATE_STATE,
  host: ['last_job', 'last_job_host_summary', 'ansible_facts', 'ansible_facts_modified'],
  schedule: ['dtstart', 'dtend', 'next_run'],
  user: ['last_login'],
};

/** Whether the controller computes a field: nothing of it can be restored, and nothing remains. */
export function isComputedField(kind: string, field: string): boolean {
  return isKnownKind(kind) && COMPUTED_FIELDS[kind]?.includes(field) === true;
}

export function nameField(kind: string): 'name' | 'username' {
  return kind === 'user' ? 'username' : 'name';
}

/** The temporary name of an object while others get swapped names back. */
export function interimName({ kind, id }: { kind: string; id: number | null }): string {
  return `tokenctl-restores-${kind.replaceAll('_', '-')}-${id}`;
}

/** The path of an object in a controller's REST API; null if it has none. */
export function objectPath(kind: string, id: number): string | null {
  const known = kindOf(kind);
  return known?.path === undefined || kind === 'setting' ? null : `/api/v2/${known.path}/${id}/`;
}

/** The links that the REST API lists below an object, by their names there. */
const LINKS: ReadonlySet<string> = new Set(
  words(`credentials instance_groups input_inventories hosts children labels notification_templates_started
    notification_templates_success notification_templates_error galaxy_credentials
    notification_templates_approvals success_nodes failure_nodes always_nodes`),
);

/** The name of a link in the REST API, from the relationship in an entry. */
export function linkName(relationship: string): string {
  const last = relationship.split('.').at(-1) ?? '';
  if (/InstanceGroupMembership$/.test(last)) return 'instance_groups';
  if (last === 'OrganizationGalaxyCredentialMembership') return 'galaxy_credentials';
  if (last === 'InventoryConstructedInventoryMembership') return 'input_inventories';
  return /_(.+)$/.exec(last)?.[1] ?? last;
}

/** The REST API's list of objects linked to another one; null if there is none. */
export function linkPath(link: string, { kind, id }: { kind: string; id: number }): string | null {
  const path = objectPath(kind, id);
  return path === null || !LINKS.has(link) ? null : `${path}${link}/`;
}

/** The kinds of objects that launch jobs. */
export const TEMPLATES: ReadonlySet<string> = new Set([
  ...['job_template', 'workflow_job_template', 'project', 'inventory_source'],
]);
