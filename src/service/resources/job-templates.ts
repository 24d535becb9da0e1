import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { type AskedRole, canCreate, hasRole, visibleObjects } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { list } from '../listing/listing.ts';
import { playbookProblem } from '../playbooks/playbook.ts';
import { hasPlaybook } from '../playbooks/projects-folder.ts';
import { jsonObject } from '../request.ts';
import {
  ASK_NAMES,
  type Asks,
  DEFAULT_OPTIONS,
  type JobOptions,
  OPTION_NAMES,
  pick,
} from '../store/job-options.ts';
import {
  deleteJobTemplate,
  findJobTemplate,
  findJobTemplateId,
  findProject,
  insertJobTemplate,
  JOB_TEMPLATE_COLUMNS,
  JOB_TEMPLATE_FROM,
  type JobTemplateRecord,
  type NewJobTemplate,
  updateJobTemplate,
} from '../store/job-templates.ts';
import { type HeldRole, heldRoles } from '../store/object-roles.ts';
import { findInventory } from '../store/resources.ts';
import { changeRole } from '../store/roles.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { fixedFields, fixedValues } from './fixed-fields.ts';
import { ASK_FIELDS, TEMPLATE_OPTIONS } from './job-options.ts';
import { requireUnused } from './named-resources.ts';
import { PART_RELATIONS, seenParts } from './part-relations.ts';
import { namedSegment, namesIn, pathId } from './request-values.ts';
import { changedValues, leadingFields, logChange, nameAndDescription } from './resource.ts';
import { objectRoles, roleFields, roleOfField } from './role-texts.ts';

/** `/api/v2/job_templates/` and `/api/v2/job_templates/N/`. */
export function serveJobTemplates(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/',
    name: 'Job templates',
    description: 'The job templates of the organizations that you administer or audit.',
    fields: jobTemplateFields,
    objectRoles: roleFields('job_template'),
    allows: async ({ service, caller }) =>
      canCreate(caller.user, 'job_template', await heldRoles(service.database, caller.user)),
    handlers: { GET: listJobTemplates, POST: create },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/:id/',
    name: 'Job template',
    description:
      'One job template, by id or by NAME++ORGANIZATION: an inventory and a playbook of a project. DELETE keeps its jobs.',
    fields: jobTemplateFields,
    objectRoles: roleFields('job_template'),
    allows: async (exchange) => may(exchange, await seenJobTemplate(exchange), 'admin'),
    handlers: {
      GET: async (exchange) => shown(exchange, await seenJobTemplate(exchange)),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: remove,
    },
  });
}

/** The job template that the path names. Throws 404, or 403 if the caller may not see it. */
export async function seenJobTemplate(exchange: Exchange): Promise<JobTemplateRecord> {
  const template = await findJobTemplate(exchange.service.database, await jobTemplateId(exchange));
  if (template === null) throw notFound();
  if (!(await may(exchange, template, 'read'))) throw forbidden();
  return template;
}

type Template = Pick<JobTemplateRecord, 'id' | 'organization_id'>;

function asked({ id, organization_id: organization }: Template, role: AskedRole['role']): AskedRole {
  return { type: 'job_template', id, organization, role };
}

/** Whether the caller has a role on a job template. */
export async function may(
  { service, caller }: Exchange,
  template: Template,
  role: AskedRole['role'],
): Promise<boolean> {
  return hasRole(caller.user, await heldRoles(service.database, caller.user), asked(template, role));
}

async function shown({ service, caller }: Exchange, template: JobTemplateRecord): Promise<unknown> {
  return jobTemplateJson(template, caller, {
    held: await heldRoles(service.database, caller.user),
    detail: true,
  });
}

async function jobTemplateId({ service, params, request }: Exchange): Promise<number> {
  const { id = '' } = params;
  if (/^\d+$/.test(id)) return pathId(id);
  const [name, organization, ...more] = namesIn(request.url) ?? [];
  if (name === undefined || organization === undefined || more.length > 0) throw notFound();
  const found = await findJobTemplateId(service.database, name, organization);
  if (found === null) throw notFound();
  return found;
}

async function listJobTemplates(exchange: Exchange): Promise<unknown> {
  const { service, caller } = exchange;
  const held = await heldRoles(service.database, caller.user);
  const rows = { type: 'job_template', id: 'x.id', organization: 'x.organization_id' } as const;
  const visible = visibleObjects(caller.user, held, rows);
  const parts = seenParts(caller.user, held, visible.values.length + 1);
  return list<JobTemplateRecord>(exchange, {
    fields: jobTemplateFields,
    columns: JOB_TEMPLATE_COLUMNS,
    from: `${JOB_TEMPLATE_FROM} ${parts.sql}`,
    visible: { sql: visible.sql, values: [...visible.values, ...parts.values] },
    withRole: (field, first) => {
      const role = roleOfField('job_template', field);
      return role === null ? null : visibleObjects(caller.user, held, { ...rows, role, first });
    },
    render: (template) => jobTemplateJson(template, caller, { held }),
  });
}

const NAME_TAKEN = { __all__: ['Job template with this Name and Organization already exists.'] };

async function create(exchange: Exchange): Promise<unknown> {
  const { service, reply } = exchange;
  const template = await readJobTemplate(exchange, null);
  const { name, playbook } = template;
  const at = service.now();
  const id = await service.database.transaction(async (transaction) => {
    const made = await insertJobTemplate(transaction, { template, at });
    if (made === null) throw invalid(NAME_TAKEN);
    await logChange(exchange, transaction, {
      operation: 'create',
      object1: 'job_template',
      changes: { id: made, name, playbook },
      resource: { type: 'job_template', id: made },
    });
    await keepForCreator(exchange, transaction, made);
    return made;
  });
  const made = await findJobTemplate(service.database, id);
  if (made === null) throw notFound();
  reply.code(201).header('Location', `/api/v2/job_templates/${id}/`);
  return shown(exchange, made);
}

/** Who creates a job template without a role for all of its organization becomes its admin. */
async function keepForCreator(exchange: Exchange, transaction: Queryable, id: number): Promise<void> {
  const { service, caller } = exchange;
  const made = await findJobTemplate(transaction, id);
  const roleId = made?.roles.admin;
  if (made === null || roleId === undefined) return;
  // Within the transaction: the embedded database has one connection.
  if (hasRole(caller.user, await heldRoles(transaction, caller.user), asked(made, 'admin'))) return;
  const by = { actorId: caller.user.id, at: service.now(), node: service.node };
  const resource = { type: 'job_template', id } as const;
  const grant = { operation: 'associate', userId: caller.user.id, role: 'admin', roleId, resource } as const;
  await changeRole(transaction, grant, by);
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { service } = exchange;
  const before = await changeable(exchange);
  const after = await readJobTemplate(exchange, { before, replace });
  await service.database.transaction(async (transaction) => {
    const at = service.now();
    const isWritten = await updateJobTemplate(transaction, { id: before.id, template: after, at });
    if (!isWritten) throw invalid(NAME_TAKEN);
    const names = ['name', 'description', 'playbook', ...OPTION_NAMES, ...ASK_NAMES] as const;
    const changes = changedValues(names, before, after);
    if (Object.keys(changes).length > 0) {
      await logChange(exchange, transaction, {
        operation: 'update',
        object1: 'job_template',
        changes,
        resource: { type: 'job_template', id: before.id },
      });
    }
  });
  return shown(exchange, await seenJobTemplate(exchange));
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { id, name } = await changeable(exchange);
  await exchange.service.database.transaction(async (transaction) => {
    await requireUnused(transaction, 'job_template_id', id);
    if (!(await deleteJobTemplate(transaction, id))) throw notFound();
    await logChange(exchange, transaction, {
      operation: 'delete',
      object1: 'job_template',
      changes: { id, name },
    });
  });
}

async function changeable(exchange: Exchange): Promise<JobTemplateRecord> {
  const template = await seenJobTemplate(exchange);
  if (!(await may(exchange, template, 'admin'))) throw forbidden();
  return template;
}

/** What else a job template of the controller has. */
const NOT_CARRIED_OUT = fixedFields({
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

const jobTemplateFields: FieldSet = {
  type: 'job_template',
  fields: {
    ...leadingFields({
      type: 'job_template',
      name: 'job template',
      alias: 'x',
      summary: 'Related resources, and what you may do with the job template.',
    }),
    ...nameAndDescription('job template'),
    inventory: {
      type: 'id',
      label: 'Inventory',
      helpText: 'The inventory of hosts to run on. It may be missing if a launch is asked for it.',
      column: 'x.inventory_id',
      writable: 'change',
    },
    project: {
      type: 'id',
      label: 'Project',
      helpText: 'The project with the playbook. Its organization owns the job template.',
      column: 'x.project_id',
      writable: 'change',
    },
    organization: { type: 'id', label: 'Organization', column: 'x.organization_id' },
    playbook: {
      type: 'string',
      label: 'Playbook',
      helpText: 'Path of the playbook in the project.',
      column: 'x.playbook',
      writable: 'change',
      maxLength: 1024,
    },
    ...TEMPLATE_OPTIONS,
    ...ASK_FIELDS,
    ...NOT_CARRIED_OUT,
  },
  relations: PART_RELATIONS,
  searchFields: ['name', 'description'],
  order: ['name'],
};

/** A related resource as `summary_fields` shows it; empty without one. */
export function named(
  relation: string,
  { id, name }: { readonly id: number | null; readonly name: string | null },
): Record<string, { id: number; name: string | null }> {
  return id === null ? {} : { [relation]: { id, name } };
}

/** A job template as the API shows it to a caller. */
function jobTemplateJson(
  template: JobTemplateRecord,
  caller: Caller,
  { held, detail = false }: { readonly held: readonly HeldRole[]; readonly detail?: boolean },
): Record<string, unknown> {
  const { id, organization_id, inventory_id, project_id } = template;
  const url = `/api/v2/job_templates/${id}/`;
  const has = (role: AskedRole['role']) =>
    caller.mayWrite && hasRole(caller.user, held, asked(template, role));
  return {
    id,
    type: 'job_template',
    url,
    related: {
      ...(detail && {
        named_url: `/api/v2/job_templates/${namedSegment([template.name, template.organization_name ?? ''])}/`,
      }),
      ...(organization_id !== null && { organization: `/api/v2/organizations/${organization_id}/` }),
      ...(inventory_id !== null && { inventory: `/api/v2/inventories/${inventory_id}/` }),
      object_roles: `${url}object_roles/`,
      access_list: `${url}access_list/`,
      launch: `${url}launch/`,
      jobs: `${url}jobs/`,
    },
    summary_fields: {
      ...named('organization', { id: organization_id, name: template.organization_name }),
      ...named('inventory', { id: inventory_id, name: template.inventory_name }),
      ...named('project', { id: project_id, name: template.project_name }),
      object_roles: objectRoles('job_template', template.roles),
      user_capabilities: { edit: has('admin'), delete: has('admin'), start: has('execute') },
    },
    created: template.created,
    modified: template.modified,
    name: template.name,
    description: template.description,
    inventory: inventory_id,
    project: project_id,
    organization: organization_id,
    playbook: template.playbook,
    ...pick(template, OPTION_NAMES),
    ...pick(template, ASK_NAMES),
    ...fixedValues(jobTemplateFields),
  };
}

/** The writable fields of a job template. */
interface Written extends JobOptions, Asks {
  readonly name: string;
  readonly description: string;
  readonly playbook: string;
  readonly inventory: number | null;
  readonly project: number | null;
}

/** What a template has before the change; blank for a new one. */
function writtenFields(before: JobTemplateRecord | null): Written {
  const { name = '', description = '', playbook = '', inventory_id = null, project_id = null } = before ?? {};
  const options = before === null ? DEFAULT_OPTIONS : pick(before, OPTION_NAMES);
  const asks = Object.fromEntries(ASK_NAMES.map((ask) => [ask, before?.[ask] ?? false])) as unknown as Asks;
  return { name, description, playbook, inventory: inventory_id, project: project_id, ...options, ...asks };
}

/**
 * Reads a job template from the request body and checks it. The caller needs the role use on an inventory, a
 * project or a playbook that it did not have; the organization of the project owns the job template.
 *
 * @param current The template to change, or null for a new one; `replace` for PUT, which keeps no old values.
 *
 * @throws RequestFailure 400 and 403
 */
async function readJobTemplate(
  exchange: Exchange,
  current: { readonly before: JobTemplateRecord; readonly replace: boolean } | null,
): Promise<NewJobTemplate> {
  const { service, request } = exchange;
  const problems: Problems = {};
  const before = current?.before ?? null;
  const method = current === null ? 'POST' : current.replace ? 'PUT' : 'PATCH';
  const written = readFields<Written>(jobTemplateFields, jsonObject(request), {
    current: writtenFields(before),
    method,
    problems,
  });
  const { inventory: inventoryId, project: projectId, ...read } = written;
  const inventory = inventoryId === null ? null : await findInventory(service.database, inventoryId);
  const project = projectId === null ? null : await findProject(service.database, projectId);
  if (inventoryId !== null && inventory === null) problems['inventory'] ??= [noSuchId(inventoryId)];
  if (projectId !== null && project === null) problems['project'] ??= [noSuchId(projectId)];
  if (Object.keys(problems).length > 0) throw invalid(problems);
  if (project === null) throw invalid({ project: ['Job templates must have a project.'] });
  if (inventory === null && !read.ask_inventory_on_launch) {
    throw invalid({ inventory: ['Give an inventory, or let a launch ask for it.'] });
  }
  const isSamePlaybook = read.playbook === before?.playbook;
  await requireUse(exchange, [
    { type: 'project', used: project, before: isSamePlaybook ? before.project_id : null },
    { type: 'inventory', used: inventory, before: before?.inventory_id ?? null },
  ]);
  const playbook = await missingPlaybook(service, { playbook: read.playbook, folder: project.local_path });
  if (playbook !== null) throw invalid({ playbook: [playbook] });
  return {
    ...read,
    organization_id: project.organization_id,
    inventory_id: inventory?.id ?? null,
    project_id: project.id,
  };
}

/** Throws 403 unless the caller has the role use on what a job template did not use before. */
async function requireUse(
  { service, caller }: Exchange,
  uses: readonly {
    readonly type: 'project' | 'inventory';
    readonly used: { readonly id: number; readonly organization_id: number | null } | null;
    readonly before: number | null;
  }[],
): Promise<void> {
  const held = await heldRoles(service.database, caller.user);
  for (const { type, used, before } of uses) {
    if (used === null || used.id === before) continue;
    const { id, organization_id: organization } = used;
    if (!hasRole(caller.user, held, { type, id, organization, role: 'use' })) throw forbidden();
  }
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
