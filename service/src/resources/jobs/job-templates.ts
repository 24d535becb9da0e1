import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { type AskedRole, hasRole } from '../../access.ts';
import type { ServiceContext } from '../../context.ts';
import type { Exchange } from '../../endpoint.ts';
import { forbidden, invalid } from '../../failure.ts';
import { declared } from '../../listing/fields.ts';
import { playbookProblem } from '../../playbooks/project-playbook.ts';
import { hasPlaybook } from '../../playbooks/projects-folder.ts';
import { findProject, JOB_TEMPLATES, type JobTemplateRecord } from '../../store/job-templates.ts';
import { heldRoles } from '../../store/object-roles.ts';
import { findInventory, type ResourceValues } from '../../store/resources.ts';
import { changeRole } from '../../store/roles.ts';
import { EMPTY_RELATIONS, serveEmptyRelations } from '../empty-relations.ts';
import { noSuchId } from '../field-values.ts';
import { fixedFields } from '../fixed-fields.ts';
import { addresses, type Kind, type Wanted } from '../kind.ts';
import { refuse, serveKind } from '../named-resources.ts';
import { PART_RELATIONS, seenParts } from '../part-relations.ts';
import { byCaller, fields } from '../resource.ts';
import { byRoles } from '../resource-kinds.ts';
import { ASK_FIELDS, TEMPLATE_OPTIONS } from './job-options.ts';

/** `/api/v2/job_templates/` and `/api/v2/job_templates/N/`. */
export function serveJobTemplates(app: FastifyInstance, service: ServiceContext): void {
  serveKind(app, service, JOB_TEMPLATE);
  serveEmptyRelations(app, service, JOB_TEMPLATE);
}

function asked({ id, organization }: JobTemplateRecord, role: AskedRole['role']): AskedRole {
  return { type: 'job_template', id, organization, role };
}

/** Whether the caller has a role on a job template. */
export async function may(
  { service, caller }: Exchange,
  template: JobTemplateRecord,
  role: AskedRole['role'],
): Promise<boolean> {
  return hasRole(caller.user, await heldRoles(service.database, caller.user), asked(template, role));
}

/** Fields of the controller's job templates that have no effect here. */
export const NOT_CARRIED_OUT = fixedFields({
  scm_branch: ['', 'fetch projects'],
  use_fact_cache: [false, 'cache facts'],
  execution_environment: [null, 'have execution environments'],
  host_config_key: ['', 'take provisioning callbacks'],
  survey_enabled: [false, 'run surveys'],
  job_slice_count: [1, 'slice jobs'],
  webhook_service: ['', 'take webhooks'],
  webhook_credential: [null, 'take webhooks'],
  prevent_instance_group_fallback: [false, 'have instance groups'],
  ask_scm_branch_on_launch: [false, 'fetch projects'],
  ask_credential_on_launch: [false, 'pass credentials to jobs'],
  ask_execution_environment_on_launch: [false, 'have execution environments'],
  ask_labels_on_launch: [false, 'have labels'],
  ask_job_slice_count_on_launch: [false, 'slice jobs'],
  ask_instance_groups_on_launch: [false, 'have instance groups'],
});

export const JOB_TEMPLATE: Kind<JobTemplateRecord> = {
  type: 'job_template',
  path: '/api/v2/job_templates/',
  label: 'Job template',
  plural: 'Job templates',
  about: {
    list: 'The job templates of the organizations that you administer or audit.',
    one: 'One job template, by ID or by NAME++ORGANIZATION: an inventory and a playbook of a project. DELETE keeps its jobs.',
  },
  storage: JOB_TEMPLATES,
  fields: fields(
    'job_template',
    {
      // As on the controller, where job templates are one of several types.
      ...declared('x', {
        type: {
          type: 'choice',
          helpText: 'Type of this resource.',
          column: sql`'job_template'::text`,
          choices: [['job_template', 'Job template']],
        },
      }),
      ...declared('x', {
        inventory: {
          type: 'id',
          helpText: 'The inventory to run on. It can be missing if the launch prompts for it.',
          writable: 'change',
        },
        project: {
          type: 'id',
          helpText: 'The project with the playbook. Its organization owns the job template.',
          writable: 'change',
        },
        organization: { type: 'id' },
        playbook: { helpText: 'Path of the playbook in the project.', writable: 'change', maxLength: 1024 },
      }),
      ...TEMPLATE_OPTIONS,
      ...ASK_FIELDS,
      ...NOT_CARRIED_OUT,
    },
    PART_RELATIONS,
    { name: 'job template' },
  ),
  namedBy: ['name', 'organization_name'],
  nameTaken: { __all__: ['Job template with this Name and Organization already exists.'] },
  usedBy: 'job_template_id',
  empty: EMPTY_RELATIONS.job_template,
  ...byRoles('job_template'),
  joined: seenParts,
  related: (url) => addresses(url, ['launch', 'jobs', 'activity_stream']),
  capabilities: (user, held, template) => ({ start: hasRole(user, held, asked(template, 'execute')) }),
  prepare,
  /** A user who creates a job template without a role for the whole organization becomes its admin. */
  async made(exchange, transaction, template) {
    const { caller } = exchange;
    const { id, roles } = template;
    const held = await heldRoles(transaction, caller.user);
    if (roles?.admin === undefined || hasRole(caller.user, held, asked(template, 'admin'))) return;
    const resource = { type: 'job_template', id } as const;
    const grant = { operation: 'associate', userId: caller.user.id, role: 'admin', resource } as const;
    await changeRole(transaction, { ...grant, roleId: roles.admin }, byCaller(exchange));
  },
};

/**
 * Checks the parts of a job template. The caller needs the role use on each newly chosen inventory, project
 * or playbook; the project's organization owns the job template.
 * @throws RequestFailure 400 and 403
 */
async function prepare(
  { service, caller }: Exchange,
  transaction: Queryable,
  { values, problems, before, held }: Wanted<JobTemplateRecord>,
): Promise<ResourceValues> {
  const wanted = values as unknown as Pick<
    JobTemplateRecord,
    'inventory' | 'project' | 'playbook' | 'ask_inventory_on_launch'
  >;
  const inventory = wanted.inventory === null ? null : await findInventory(transaction, wanted.inventory);
  const project = wanted.project === null ? null : await findProject(transaction, wanted.project);
  if (wanted.inventory !== null && inventory === null) problems['inventory'] ??= [noSuchId(wanted.inventory)];
  if (wanted.project !== null && project === null) problems['project'] ??= [noSuchId(wanted.project)];
  refuse(problems);
  if (project === null) throw invalid({ project: ['Job templates must have a project.'] });
  if (inventory === null && !wanted.ask_inventory_on_launch) {
    throw invalid({ inventory: ['Select an inventory, or let the launch prompt for it.'] });
  }
  const isSamePlaybook = wanted.playbook === before?.playbook;
  for (const { type, used, known } of [
    { type: 'project', used: project, known: isSamePlaybook ? before.project : null },
    { type: 'inventory', used: inventory, known: before?.inventory ?? null },
  ] as const) {
    if (used === null || used.id === known) continue;
    const { id, organization_id: organization } = used;
    if (!hasRole(caller.user, held, { type, id, organization, role: 'use' })) throw forbidden();
  }
  const playbook = await missingPlaybook(service, { playbook: wanted.playbook, folder: project.local_path });
  if (playbook !== null) throw invalid({ playbook: [playbook] });
  return { ...values, organization: project.organization_id };
}

/** Why a playbook cannot be used, or null if its project has it. */
async function missingPlaybook(
  { jobs }: ServiceContext,
  place: { readonly playbook: string; readonly folder: string },
): Promise<string | null> {
  const { playbook } = place;
  if (playbook === '') return 'Select a playbook of the project.';
  const problem = playbookProblem(playbook);
  if (problem !== null) return problem;
  const isFound = await hasPlaybook(jobs.projects, place);
  return isFound ? null : `The project has no playbook ${JSON.stringify(playbook)}.`;
}
