import { words } from '@tokenctl/common/text.ts';
import type { CleaningAct, CleaningObject } from './cleaning.ts';
import type { InvestigationItem } from './investigation.ts';
import { TEMPLATES } from './kinds.ts';

/** Why an action needs the REST API, as a sentence. */
interface Refused {
  readonly why: string;
}

const TEMPLATE_FIELDS = words(`name description execution_environment extra_vars allow_simultaneous
  survey_enabled webhook_service webhook_credential ask_variables_on_launch ask_inventory_on_launch
  ask_limit_on_launch ask_scm_branch_on_launch ask_labels_on_launch ask_tags_on_launch
  ask_skip_tags_on_launch`);

/**
 * The fields of a controller 24.6.1 that are plain columns: the controller reads them when needed, and does
 * nothing else when they change [seen]. It computes the next run of a schedule and fetches the repository of
 * a project again, and a template's project or inventory decides who inherits roles: such changes are left to
 * the controller's own code.
 */
export const DATABASE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  job_template: [
    ...TEMPLATE_FIELDS,
    ...words(`job_type playbook forks limit verbosity job_tags force_handlers skip_tags start_at_task
      become_enabled host_config_key timeout use_fact_cache diff_mode job_slice_count scm_branch
      prevent_instance_group_fallback ask_credential_on_launch ask_job_type_on_launch
      ask_verbosity_on_launch ask_diff_mode_on_launch ask_execution_environment_on_launch
      ask_forks_on_launch ask_instance_groups_on_launch ask_job_slice_count_on_launch ask_timeout_on_launch`),
  ],
  workflow_job_template: TEMPLATE_FIELDS,
  inventory: ['name', 'description', 'variables', 'prevent_instance_group_fallback'],
  host: ['name', 'description', 'variables', 'enabled', 'instance_id'],
  group: ['name', 'description', 'variables'],
  execution_environment: ['name', 'description', 'image', 'pull', 'credential'],
  credential: ['name', 'description'],
  team: ['name', 'description'],
  user: ['is_superuser', 'is_active', 'first_name', 'last_name', 'email'],
};

/**
 * Created objects that can be switched off. When off, a host is in no job's inventory, and a schedule has no
 * next run [seen on 24.6.1].
 */
const SWITCHES = { user: 'is_active', schedule: 'enabled', host: 'enabled' } as const;

/** Links that are plain rows, by the kinds whose tables are known. Those of templates are in the same tables. */
const DATABASE_LINKS: Readonly<Record<string, ReadonlySet<string>>> = {
  credentials: TEMPLATES,
  notification_templates_started: TEMPLATES,
  notification_templates_success: TEMPLATES,
  notification_templates_error: TEMPLATES,
  instance_groups: TEMPLATES,
  hosts: new Set(['group']),
};

/** Servers apply these when changed over REST. A change in the table does not affect a running server. */
const PUSHED_SETTINGS = /^(LOG_AGGREGATOR_|DISABLE_LOCAL_AUTH$)/;

/**
 * How to end an item in a controller's database with the same effect as over REST: the action, one that
 * switches off instead of deleting, or why it needs the REST API.
 */
export function inDatabase(
  item: Pick<InvestigationItem, 'changes'>,
  act: CleaningAct,
): CleaningAct | Refused {
  switch (act.act) {
    case 'delete':
      return deletion(act);
    case 'cancel':
      return { why: 'Only the controller itself can stop running jobs.' };
    case 'disassociate':
      return removal(act);
    case 'restore':
      return restoring(item, act);
    case 'enable':
      return act.object.kind === 'schedule'
        ? { why: "The controller calculates a schedule's next run." }
        : act;
    case 'disable':
      return act;
    case 'rename':
      return isColumn(act.object, act.field) ? act : notAColumn(act.object, act.field);
    case 'associate':
    case 'assign':
    case 'unassign':
      return { why: 'The controller calculates the permissions of a role or link.' };
  }
}

function deletion(act: Extract<CleaningAct, { readonly act: 'delete' }>): CleaningAct | Refused {
  const { object, path } = act;
  if (object.kind === 'o_auth2_access_token' || object.kind === 'o_auth2_application') return act;
  if (isSwitchable(object.kind)) {
    return { act: 'disable', path, object, field: SWITCHES[object.kind], undoable: true };
  }
  return { why: 'The controller also deletes related objects, which SQL would leave behind.' };
}

function isSwitchable(kind: string): kind is keyof typeof SWITCHES {
  return Object.hasOwn(SWITCHES, kind);
}

function removal(act: Extract<CleaningAct, { readonly link: string }>): CleaningAct | Refused {
  const { object, other, link } = act;
  const isKnown = link === 'role' ? other.kind === 'user' : DATABASE_LINKS[link]?.has(object.kind) === true;
  if (isKnown) return act;
  return link === 'role'
    ? { why: "The controller recalculates the permissions of the team's members." }
    : { why: 'How this link is stored is not known.' };
}

function restoring(
  { changes }: Pick<InvestigationItem, 'changes'>,
  act: Extract<CleaningAct, { readonly act: 'restore' }>,
): CleaningAct | Refused {
  const { object, fields, survey } = act;
  if (object.kind === 'setting') {
    if (act.isDefault && act.to === 'after')
      return { why: 'The setting has its default value again, so it has no row.' };
    if (changes.some(({ after }) => after === null))
      return { why: 'The setting was reset, which deletes its row.' };
    return fields.some(({ field }) => PUSHED_SETTINGS.test(field))
      ? { why: 'The servers apply this setting only if it is changed over REST.' }
      : act;
  }
  const other = fields.find(({ field }) => !isColumn(object, field));
  if (other !== undefined) return notAColumn(object, other.field);
  const webhook = changes.find(({ field }) => field === 'webhook_service')?.[act.to];
  const isTurnedOn = webhook !== '' && webhook !== null;
  if (fields.some(({ field }) => field === 'webhook_service') && isTurnedOn) {
    return { why: 'The controller generates webhook keys.' };
  }
  return survey === null || TEMPLATES.has(object.kind) ? act : { why: 'It has a survey.' };
}

function notAColumn({ kind }: CleaningObject, field: string): Refused {
  return { why: `The controller does more than store ${field} of a ${kind.replaceAll('_', ' ')}.` };
}

function isColumn({ kind }: CleaningObject, field: string): boolean {
  return DATABASE_FIELDS[kind]?.includes(field) === true;
}
