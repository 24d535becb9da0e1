import { words } from '@tokenctl/common/text.ts';
import { isCodeField, isComputedField, isJobKind } from './kinds.ts';

/**
 * What a change of a field can affect:
 * - `access`: who has access, to what, or who administers the object
 * - `code`: what code runs, where, and with which rights
 * - `secrets`: secrets are shown where they were not
 * - `none`: none of these
 */
export type FieldVerdict = 'access' | 'code' | 'secrets' | 'none';

type Verdicts = Readonly<Partial<Record<FieldVerdict, readonly string[]>>>;

/** The verdict on fields of this name in every kind, unless the kind has its own. */
const EVERYWHERE: Verdicts = {
  // The owner's administrators administer its objects: changing the owner gives access.
  access: words('organization team user owner parent webhook_key'),
  code: words(
    'custom_virtualenv execution_environment prevent_instance_group_fallback survey_passwords char_prompts',
  ),
  secrets: ['diff_mode'],
  none: words(`id name description created modified created_by modified_by managed old_pk polymorphic_ctype
    unifiedjobtemplate_ptr timeout verbosity forks job_slice_count`),
};

/** The verdicts by kind. The code fields of most kinds are in `kinds.ts`. */
const BY_KIND: Readonly<Record<string, Verdicts>> = {
  organization: {
    // Rules of directories and authenticators refer to organizations and teams by name.
    access: ['name'],
    none: ['max_hosts'],
  },
  team: { access: ['name'] },
  user: {
    // The recipient of the mail can reset the password, and identity providers find an account by it.
    access: words('username email password is_active is_staff is_superuser is_system_auditor'),
    none: words('first_name last_name last_login date_joined'),
  },
  o_auth2_access_token: {
    access: words('scope expires application id_token source_refresh_token token'),
    none: words('updated last_used'),
  },
  o_auth2_refresh_token: { access: ['token'], none: words('revoked updated access_token application') },
  o_auth2_application: {
    access: words(`algorithm authorization_grant_type client client_id client_secret client_type redirect_uris
      skip_authorization post_logout_redirect_uris app_url pkce_required`),
    none: words('logo_data updated'),
  },
  // On a gateway: who logs in, as whom, and with which rights.
  authenticator: {
    access: words('auto_migrate_users_to configuration create_objects enabled order remove_users slug type'),
    none: ['category'],
  },
  authenticator_map: { access: words('authenticator map_type order revoke role triggers') },
  role_definition: { access: words('content_type permissions') },
  credential: { access: words('inputs credential_type') },
  credential_type: { code: words('inputs injectors kind namespace') },
  credential_input_source: { access: words('input_field_name metadata source_credential target_credential') },
  project: {
    code: words('scm_track_submodules scm_update_on_launch'),
    none: words('scm_clean scm_delete_on_update scm_update_cache_timeout'),
  },
  inventory: { access: ['opa_query_path'], none: ['pending_deletion'] },
  host: { none: words('instance instance_id') },
  group: { code: ['inventory'] },
  job_template: {
    code: words('use_fact_cache ask_job_type_on_launch ask_tags_on_launch ask_skip_tags_on_launch'),
    none: words(`allow_simultaneous force_handlers ask_diff_mode_on_launch ask_forks_on_launch
      ask_job_slice_count_on_launch ask_labels_on_launch ask_timeout_on_launch ask_verbosity_on_launch`),
  },
  workflow_job_template: {
    code: words('ask_tags_on_launch ask_skip_tags_on_launch'),
    none: words('allow_simultaneous ask_labels_on_launch'),
  },
  workflow_job_template_node: {
    code: words('workflow_job_template all_parents_must_converge'),
    none: ['identifier'],
  },
  inventory_source: { code: words('inventory enabled_var enabled_value'), none: ['update_cache_timeout'] },
  instance_group: {
    code: words('policy_instance_list policy_instance_minimum policy_instance_percentage'),
    none: words('max_concurrent_jobs max_forks'),
  },
  instance: {
    code: words(`hostname ip_address listener_port node_type node_state peers_from_control_nodes enabled
      managed_by_policy`),
    none: words(`capacity capacity_adjustment cpu cpu_capacity errors health_check_started last_health_check
      last_seen mem_capacity memory uuid version`),
  },
};

const VERDICTS = ['access', 'code', 'secrets', 'none'] as const;

/** The verdict on a field of a kind; null if this version of tokenctl does not know the field. */
export function fieldVerdict(kind: string, field: string): FieldVerdict | null {
  if (isCodeField(kind, field)) return 'code';
  // Role grants have separate entries. A setting's value is judged by the setting's name.
  if (/_role$/.test(field) || isComputedField(kind, field)) return 'none';
  if (isJobKind(kind) || kind === 'setting' || kind === 'workflow_approval') return 'none';
  const found = (verdicts: Verdicts | undefined) =>
    VERDICTS.find((verdict) => verdicts?.[verdict]?.includes(field) === true);
  return found(BY_KIND[kind]) ?? found(EVERYWHERE) ?? null;
}
