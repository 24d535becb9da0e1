import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../../context.ts';
import { type Exchange, serveEndpoint } from '../../endpoint.ts';
import { forbidden, invalid } from '../../failure.ts';
import type { Field } from '../../listing/fields.ts';
import { readVariables, SAFE_NAME } from '../../playbooks/variables.ts';
import { jsonObject } from '../../request.ts';
import { OPTION_NAMES, PROMPTS, type Prompt, pick } from '../../store/job-options.ts';
import { findJobTemplate, type JobTemplateRecord } from '../../store/job-templates.ts';
import { type JobRecord, readOutputEnd } from '../../store/jobs.ts';
import { readValue } from '../field-values.ts';
import { may } from './job-templates.ts';
import { isActive, mayOnJob, seenJob, shownJob } from './jobs.ts';
import { requireInventory, startJob } from './launch.ts';

/** `/api/v2/jobs/N/relaunch/`. */
export function serveRelaunch(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/relaunch/',
    name: 'Relaunch',
    description:
      'POST runs a job again with the same values, or with `hosts: failed` only on the hosts where it failed.',
    fields: { type: 'job', fields: { hosts: HOSTS }, relations: {}, searchFields: [], order: [] },
    handlers: { GET: showRelaunch, POST: relaunch },
  });
}

const HOSTS: Field = {
  type: 'choice',
  label: 'Hosts',
  helpText: 'The hosts to run on again.',
  writable: 'create',
  defaultValue: 'all',
  choices: [
    ['all', 'No change to job limit'],
    ['failed', 'All failed and unreachable hosts'],
  ],
};

async function showRelaunch(exchange: Exchange): Promise<unknown> {
  const job = await seenJob(exchange);
  return {
    passwords_needed_to_start: [],
    retry_counts: isActive(job)
      ? 'Relaunch by host status not available until job finishes running.'
      : await retryCounts(exchange, job),
  };
}

async function retryCounts({ service }: Exchange, job: JobRecord): Promise<Record<string, number>> {
  const results = hostResults(await readOutputEnd(service.database, job.id)) ?? [];
  return { all: results.length, failed: results.filter(({ isFailed }) => isFailed).length };
}

/**
 * Relaunches a job with its options. An administrator of the template may do this whatever the options are;
 * others only if the template would let them launch the same job now. Throws 400 and 403.
 */
async function relaunch(exchange: Exchange): Promise<unknown> {
  const { service, request } = exchange;
  const job = await seenJob(exchange);
  if (!(await mayOnJob(exchange, job, 'execute'))) throw forbidden();
  const { hosts = 'all' } = jsonObject(request);
  const read = readValue(HOSTS, hosts ?? 'all');
  if ('problem' in read) throw invalid({ hosts: [read.problem] });
  const { project_id, inventory_id, job_template_id, job_template_name } = job;
  if (project_id === null) throw invalid({ errors: ['Job Template Project is missing or undefined.'] });
  if (inventory_id === null) throw invalid({ errors: ['Job Template Inventory is missing or undefined.'] });
  const template = job_template_id === null ? null : await findJobTemplate(service.database, job_template_id);
  if (template !== null && !allowsNow(template, job) && !(await may(exchange, template, 'admin'))) {
    // In the controller's words about prompts at the launch. The template may have changed in other ways too.
    throw forbidden('Job was launched with prompted fields you do not have access to.');
  }
  // A user who may execute the template may run it on its inventory.
  if (template?.inventory !== inventory_id) await requireInventory(exchange, inventory_id);
  const limit =
    read.value === 'all' ? job.limit : failedHosts(job, await readOutputEnd(service.database, job.id));
  const made = await startJob(exchange, {
    from: { type: 'job', id: job.id },
    inventoryId: inventory_id,
    options: { ...pick(job, OPTION_NAMES), limit },
    template: job_template_id === null ? null : { id: job_template_id, name: job_template_name ?? '' },
  });
  return { ...(await shownJob(exchange, made)), job: made.id };
}

/** Whether launching the template now could start the same job: every difference is a prompt. */
function allowsNow(template: JobTemplateRecord, job: JobRecord): boolean {
  if (job.playbook !== template.playbook || job.project_id !== template.project) return false;
  if (job.inventory_id !== template.inventory && !template.ask_inventory_on_launch) return false;
  return OPTION_NAMES.every((name) => {
    const isSame =
      name === 'extra_vars'
        ? canonical(job.extra_vars) === canonical(template.extra_vars)
        : job[name] === template[name];
    return isSame || (name in PROMPTS && template[PROMPTS[name as Prompt]]);
  });
}

/** A text that is the same for equal variables. */
function canonical(text: string): string {
  return JSON.stringify(readVariables(text));
}

/** The failed hosts of a job as a limit. Throws 400 if there are none or they are not known. */
function failedHosts(job: JobRecord, output: string): string {
  const refused = (problem: string) => invalid({ hosts: [problem] });
  if (isActive(job)) throw refused('Wait until job finishes before retrying on failed hosts.');
  const results = hostResults(output);
  if (results === null) throw refused('Cannot retry on failed hosts, playbook stats not available.');
  const failed = results.filter(({ isFailed }) => isFailed).map(({ host }) => host);
  if (failed.length === 0) throw refused('Cannot relaunch because previous job had 0 failed hosts.');
  return failed.join(',');
}

const RESULT = /^(\S+)\s+: ok=\d+\s+changed=\d+\s+unreachable=(\d+)\s+failed=(\d+)/;

/** The hosts in the recap at the end of a job's output; null without one. */
function hostResults(output: string) {
  const recap = output.lastIndexOf('\nPLAY RECAP ');
  if (recap === -1) return null;
  return output
    .slice(recap)
    .split('\n')
    .map((line) => RESULT.exec(line) ?? [])
    .filter(([, host = '']) => SAFE_NAME.test(host))
    .map(([, host = '', unreachable, failed]) => ({
      host,
      isFailed: Number(unreachable) + Number(failed) > 0,
    }));
}
