import type { FastifyInstance } from 'fastify';
import { hasRole } from '../../access.ts';
import type { ServiceContext } from '../../context.ts';
import { type Exchange, serveEndpoint } from '../../endpoint.ts';
import { forbidden, invalid, notFound, tooManyRequests } from '../../failure.ts';
import type { FieldSet } from '../../listing/fields.ts';
import { extraVariablesProblem, type Variables, writeVariables } from '../../playbooks/variables.ts';
import { storedVariables } from '../../playbooks/variables-pace.ts';
import { jsonObject } from '../../request.ts';
import {
  ASK_NAMES,
  type JobOptions,
  OPTION_NAMES,
  PROMPTS,
  type Prompt,
  pick,
} from '../../store/job-options.ts';
import type { JobTemplateRecord } from '../../store/job-templates.ts';
import { findJob, insertJob, type JobRecord } from '../../store/jobs.ts';
import { heldRoles } from '../../store/object-roles.ts';
import { findInventory } from '../../store/resources.ts';
import { isEmpty, noSuchId, type Problems, readValue } from '../field-values.ts';
import { logChange } from '../resource.ts';
import { ofSeen } from '../seen-resources.ts';
import { LAUNCH_OPTIONS } from './job-options.ts';
import { JOB_TEMPLATE, may, NOT_CARRIED_OUT } from './job-templates.ts';
import { shownJob } from './jobs.ts';

/** Other fields that a launch can override on the controller, with the templates' defaults. Never prompted for here. */
const NEVER_ASKED: Readonly<Record<string, unknown>> = {
  scm_branch: '',
  credentials: [],
  execution_environment: {},
  labels: [],
  job_slice_count: 1,
  instance_groups: [],
};

/** That the controller would not ask for what this service does not carry out. */
const UNASKED = Object.fromEntries(
  Object.keys(NOT_CARRIED_OUT).flatMap((name) => (name.startsWith('ask_') ? [[name, false]] : [])),
);

const WAIT_SECONDS = 10;

const launchFields: FieldSet = {
  type: 'job_template',
  fields: {
    ...Object.fromEntries(Object.entries(LAUNCH_OPTIONS).filter(([name]) => Object.hasOwn(PROMPTS, name))),
    inventory: {
      type: 'id',
      label: 'Inventory',
      helpText: 'The inventory to run on.',
      writable: 'create',
      nullable: false,
    },
  },
  relations: {},
  searchFields: [],
  order: [],
};

/** `/api/v2/job_templates/N/launch/` (specification, section 4). */
export function serveLaunch(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/:id/launch/',
    name: 'Launch',
    description:
      'GET shows what a launch may override. POST launches a job. Values that it is not allowed to override are ignored.',
    fields: launchFields,
    handlers: {
      GET: ofSeen(JOB_TEMPLATE, (_exchange, template) => asked(template)),
      POST: ofSeen(JOB_TEMPLATE, launch),
    },
  });
}

function asked(template: JobTemplateRecord): Record<string, unknown> {
  const { id, name, description, inventory } = template;
  const isAsking = ASK_NAMES.some((ask) => template[ask]);
  return {
    can_start_without_user_input: inventory !== null && !isAsking,
    passwords_needed_to_start: [],
    ...pick(template, ASK_NAMES),
    ...UNASKED,
    survey_enabled: false,
    variables_needed_to_start: [],
    credential_needed_to_start: false,
    inventory_needed_to_start: inventory === null,
    job_template_data: { name, id, description },
    defaults: {
      ...pick(
        template,
        OPTION_NAMES.filter((option) => Object.hasOwn(PROMPTS, option)),
      ),
      inventory: { id: inventory, name: template.inventory_name },
      ...NEVER_ASKED,
    },
  };
}

async function launch(exchange: Exchange, template: JobTemplateRecord): Promise<unknown> {
  const { request } = exchange;
  if (!(await may(exchange, template, 'execute'))) throw forbidden();
  const given = await readLaunch(exchange, jsonObject(request));
  const own = storedVariables(template.extra_vars);
  const { accepted, ignored } = sortOut(given, template, own);
  const inventoryId = accepted.inventory ?? template.inventory;
  if (template.project === null) throw invalid({ project: ['A project is required to run a job.'] });
  if (inventoryId === null) {
    throw invalid({ resources_needed_to_start: ['Job Template inventory is missing or undefined.'] });
  }
  if (inventoryId !== template.inventory) await requireInventory(exchange, inventoryId);
  // A template may have been stored before its variables were validated as they are now.
  const problem = extraVariablesProblem(template.extra_vars);
  if (problem !== null)
    throw invalid({ extra_vars: [`The variables of the template are invalid. ${problem}`] });
  const { extra_vars = {}, inventory: _asked, ...options } = accepted;
  const variables = { ...own, ...extra_vars };
  const job = await startJob(exchange, {
    from: { type: 'job_template', id: template.id },
    inventoryId,
    options: { ...pick(template, OPTION_NAMES), ...options, extra_vars: writeVariables(variables) },
    template: { id: template.id, name: template.name },
  });
  return { job: job.id, ignored_fields: ignored, ...(await shownJob(exchange, job)) };
}

/** The values of a launch request. Only those that differ from the template count. */
type Given = Partial<Omit<JobOptions, 'extra_vars'>> & {
  readonly extra_vars?: Variables;
  readonly inventory?: number;
  /** Values that this service never prompts for. */
  readonly others: Readonly<Record<string, unknown>>;
};

/** Reads and validates the values of a launch, even those without a prompt. Throws 400 by field. */
async function readLaunch({ service }: Exchange, body: Readonly<Record<string, unknown>>): Promise<Given> {
  const problems: Problems = {};
  const given: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(launchFields.fields)) {
    if (body[name] === undefined) continue;
    const read = readValue(field, body[name]);
    if ('problem' in read) problems[name] = [read.problem];
    else given[name] = name === 'extra_vars' ? storedVariables(String(read.value)) : read.value;
  }
  const { inventory } = given as Given;
  if (inventory != null && (await findInventory(service.database, inventory)) === null) {
    problems['inventory'] = [noSuchId(inventory)];
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
  const others = Object.entries(NEVER_ASKED).filter(
    ([name, usual]) => body[name] !== undefined && !isEmpty(body[name]) && body[name] !== usual,
  );
  return { ...given, others: Object.fromEntries(others.map(([name]) => [name, body[name]])) } as Given;
}

/** Splits the values into accepted and ignored ones. Values equal to the template's own are in neither. */
function sortOut(
  { others, extra_vars, ...values }: Given,
  template: JobTemplateRecord,
  own: Variables,
): { readonly accepted: Omit<Given, 'others'>; readonly ignored: Readonly<Record<string, unknown>> } {
  const current = template as unknown as Readonly<Record<string, unknown>>;
  const changed = Object.entries(values).filter(([name, value]) => value !== current[name]);
  const isAsked = ([name]: readonly [string, unknown]) => template[PROMPTS[name as Prompt]];
  const accepted = Object.fromEntries(changed.filter(isAsked));
  const ignored = Object.fromEntries(changed.filter((entry) => !isAsked(entry)));
  if (extra_vars === undefined) return { accepted, ignored: { ...ignored, ...others } };
  if (template.ask_variables_on_launch) {
    return { accepted: { ...accepted, extra_vars }, ignored: { ...ignored, ...others } };
  }
  const unasked = Object.entries(extra_vars).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(own[name]),
  );
  const variables = unasked.length === 0 ? {} : { extra_vars: Object.fromEntries(unasked) };
  return { accepted, ignored: { ...variables, ...ignored, ...others } };
}

/** Throws 403 unless the caller may run jobs on an inventory. */
export async function requireInventory({ service, caller }: Exchange, id: number): Promise<void> {
  const inventory = await findInventory(service.database, id);
  const held = await heldRoles(service.database, caller.user);
  const organization = inventory?.organization_id ?? null;
  if (!hasRole(caller.user, held, { type: 'inventory', id, organization, role: 'use' })) throw forbidden();
}

/** A job to start, from a template or from an earlier job. */
interface Start {
  readonly from: Parameters<typeof insertJob>[1]['from'];
  readonly inventoryId: number;
  readonly options: JobOptions;
  /** The template for the activity stream; null if it was deleted. */
  readonly template: { readonly id: number; readonly name: string } | null;
}

/** Adds a job and queues it. Throws 429 if too many jobs wait, 404 if the copied template or job was deleted. */
export async function startJob(exchange: Exchange, { template, ...given }: Start): Promise<JobRecord> {
  const { service, caller, reply } = exchange;
  if (!service.jobs.hasRoom) throw tooManyRequests('Too many jobs are waiting.', WAIT_SECONDS);
  const { database, jobs, node } = service;
  const job = await database.transaction(async (transaction) => {
    const createdBy = caller.user.id;
    const id = await insertJob(transaction, {
      ...given,
      createdBy,
      runner: jobs.id,
      node,
      at: service.now(),
    });
    const made = id === null ? null : await findJob(transaction, id);
    if (made === null) throw notFound();
    const { name, playbook } = made;
    await logChange(exchange, transaction, {
      operation: 'create',
      object1: 'job',
      changes: {
        id: made.id,
        name,
        playbook,
        ...pick(made, OPTION_NAMES),
        ...(template !== null && { job_template: `${template.name}-${template.id}` }),
      },
      ...(template !== null && { resource: { type: 'job_template', id: template.id } }),
    });
    return made;
  });
  jobs.enqueue(job.id);
  reply.code(201).header('Location', `/api/v2/jobs/${job.id}/`);
  return job;
}
