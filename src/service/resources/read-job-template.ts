import { administersOrganization } from '../access.ts';
import { jsonObject } from '../body.ts';
import type { Exchange } from '../endpoint.ts';
import { forbidden, invalid } from '../failure.ts';
import { limitProblem } from '../playbooks/limit-pattern.ts';
import { playbookProblem } from '../playbooks/playbook-path.ts';
import { findInventory } from '../store/inventory.ts';
import { findProject, type JobTemplateRecord, type NewJobTemplate } from '../store/job-templates.ts';
import { booleanField, integerField, type Problems, textField } from './text-field.ts';

/**
 * Reads a job template from a request's body and checks it. The inventory and the project must be of
 * organizations that the caller administers; the project's is the job template's.
 *
 * @param current The template that is changed, null for a new one; `replace` for PUT, which keeps nothing.
 * @throws RequestFailure 400 and 403
 */
export async function readJobTemplate(
  { service, caller, request }: Exchange,
  current: { readonly before: JobTemplateRecord; readonly replace: boolean } | null,
): Promise<NewJobTemplate> {
  const body = jsonObject(request);
  const problems: Problems = {};
  const kept = current === null || current.replace ? null : current.before;
  const text = (name: 'name' | 'description' | 'playbook' | 'limit', maxLength: number, required = false) =>
    textField(body, name, {
      rule: {
        fallback: kept?.[name] ?? '',
        required: required && (kept === null || body[name] !== undefined),
        maxLength,
      },
      problems,
    });
  const read = {
    name: text('name', 512, true),
    description: text('description', 10_000),
    playbook: text('playbook', 1024, true),
    limit: text('limit', 1024),
    ask_limit_on_launch: booleanField(body, 'ask_limit_on_launch', {
      fallback: kept?.ask_limit_on_launch ?? false,
      problems,
    }),
  };
  const id = (name: 'inventory' | 'project') =>
    integerField(body, name, { least: 1, fallback: kept?.[`${name}_id`] ?? 0, problems });
  const inventory = await findInventory(service.database, id('inventory'));
  const project = await findProject(service.database, id('project'));
  if (inventory === null) problems['inventory'] ??= ['Expected the id of an inventory.'];
  if (project === null) problems['project'] ??= ['Expected the id of a project.'];
  const badPlaybook = playbookProblem(read.playbook);
  if (badPlaybook !== null) problems['playbook'] ??= [badPlaybook];
  const badLimit = limitProblem(read.limit);
  if (badLimit !== null) problems['limit'] ??= [badLimit];
  if (inventory === null || project === null || Object.keys(problems).length > 0) throw invalid(problems);
  for (const { organization_id } of [inventory, project]) {
    if (!administersOrganization(caller.user, organization_id)) throw forbidden();
  }
  return {
    ...read,
    organizationId: project.organization_id,
    inventoryId: inventory.id,
    projectId: project.id,
    at: service.now(),
  };
}
