import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Database, Queryable } from '../../db/database.ts';
import type { SampleJob, SampleOperations } from './operations.ts';
import { PLAYBOOKS, playbookText } from './playbooks.ts';

/** The folder of the sample project in the projects folder. */
const FOLDER = 'operations';
const PROJECT = 'Operations';
/** Hosts of the sample are names only: their jobs run on the machine of the service. */
const VARIABLES = 'ansible_connection: local';

/** Writes the playbooks of the sample project into the projects folder. */
export async function writeSamplePlaybooks(projects: string): Promise<void> {
  const folder = join(projects, FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await Promise.all(
    Object.entries(PLAYBOOKS).map(([path, playbook]) =>
      writeFile(join(folder, path), playbookText(playbook)),
    ),
  );
}

/** The ids of what was stored, by name. */
type Ids = ReadonlyMap<string, number>;

/**
 * Stores sample operations in a service's database, in one transaction: inventories with hosts, a project, job
 * templates, the roles of teams, and the jobs with their output and their entries in the activity stream.
 * Everything is in the first organization. The users and teams are there already.
 */
export async function storeOperations(database: Database, operations: SampleOperations): Promise<void> {
  await database.transaction(async (transaction) => {
    const inventories = await insertInventories(transaction, operations);
    const templates = await insertTemplates(transaction, operations, inventories);
    await insertGrants(transaction, operations, { inventory: inventories, job_template: templates });
    const jobs = await insertJobs(transaction, operations.jobs);
    await insertActivity(transaction, operations.jobs, { jobs, templates });
  });
}

async function insertInventories(
  transaction: Queryable,
  { inventories, since }: SampleOperations,
): Promise<Ids> {
  const rows = await transaction.query<{ id: number; name: string }>(
    `INSERT INTO main_inventory (name, description, variables, created, modified, organization_id)
     SELECT name, description, $3::text, $4::timestamptz, $4::timestamptz, (SELECT id FROM main_organization ORDER BY id LIMIT 1)
     FROM unnest($1::text[], $2::text[]) AS new (name, description) RETURNING id, name`,
    [
      inventories.map(({ name }) => name),
      inventories.map(({ description }) => description),
      VARIABLES,
      since,
    ],
  );
  const hosts = inventories.flatMap(({ name, hosts: names }) => names.map((host) => [name, host] as const));
  await transaction.execute(
    `INSERT INTO main_host (name, created, modified, inventory_id)
     SELECT new.name, $3::timestamptz, $3::timestamptz, i.id FROM unnest($1::text[], $2::text[]) AS new (inventory, name)
     JOIN main_inventory i ON i.name = new.inventory`,
    [hosts.map(([inventory]) => inventory), hosts.map(([, name]) => name), since],
  );
  return idsOf(rows);
}

async function insertTemplates(
  transaction: Queryable,
  { templates, since }: SampleOperations,
  inventories: Ids,
): Promise<Ids> {
  const [project] = await transaction.query<{ id: number }>(
    `INSERT INTO service_project (name, description, local_path, created, modified, organization_id)
     VALUES ($1, 'Playbooks of the operators.', $2, $3, $3, (SELECT id FROM main_organization ORDER BY id LIMIT 1))
     RETURNING id`,
    [PROJECT, FOLDER, since],
  );
  const asks = (name: string) =>
    templates.map((template) => (template.asks as readonly string[]).includes(name));
  const rows = await transaction.query<{ id: number; name: string }>(
    `INSERT INTO service_job_template (name, description, playbook, inventory_id, "limit", extra_vars,
       ask_limit_on_launch, ask_variables_on_launch, ask_job_type_on_launch, project_id, created, modified,
       organization_id)
     SELECT new.*, $9::integer, $10::timestamptz, $10::timestamptz,
       (SELECT id FROM main_organization ORDER BY id LIMIT 1)
     FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::boolean[],
       $8::boolean[], $11::boolean[]) AS new RETURNING id, name`,
    [
      templates.map(({ name }) => name),
      templates.map(({ description }) => description),
      templates.map(({ playbook }) => playbook),
      templates.map(({ inventory }) => inventories.get(inventory) ?? null),
      templates.map(({ limit }) => limit),
      templates.map(({ extraVars }) => extraVars),
      asks('ask_limit_on_launch'),
      asks('ask_variables_on_launch'),
      project?.id ?? null,
      since,
      asks('ask_job_type_on_launch'),
    ],
  );
  return idsOf(rows);
}

async function insertGrants(
  transaction: Queryable,
  { grants }: SampleOperations,
  ids: Readonly<Record<'inventory' | 'job_template', Ids>>,
): Promise<void> {
  await transaction.execute(
    `INSERT INTO service_role_grant (role_id, team_id)
     SELECT r.id, t.id FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[]) AS new (team, type, id, role)
     JOIN main_team t ON t.name = new.team
     JOIN service_object_role r ON (r.resource_type, r.resource_id, r.role) = (new.type, new.id, new.role)`,
    [
      grants.map(({ team }) => team),
      grants.map(({ type }) => type),
      grants.map(({ type, name }) => ids[type].get(name) ?? 0),
      grants.map(({ role }) => role),
    ],
  );
}

/** Adds the jobs with their output. Returns their ids, in their order. */
async function insertJobs(transaction: Queryable, jobs: readonly SampleJob[]): Promise<readonly number[]> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO service_job (name, description, playbook, organization_id, project_id, job_template_id,
       inventory_id, created_by_id, runner, execution_node, status, job_explanation, "limit", extra_vars,
       created, started, finished, modified)
     SELECT t.name, t.description, t.playbook, t.organization_id, t.project_id, t.id, t.inventory_id, u.id, $1::uuid, $2::text,
       new.status, new.explanation, new."limit", new.variables, new.created, new.started, new.finished, new.finished
     FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[],
       $10::timestamptz[], $11::timestamptz[]) WITH ORDINALITY
       AS new (template, username, status, explanation, "limit", variables, created, started, finished, position)
     JOIN service_job_template t ON t.name = new.template
     LEFT JOIN auth_user u ON u.username = new.username
     ORDER BY new.position RETURNING id`,
    [
      randomUUID(),
      hostname(),
      jobs.map(({ template }) => template),
      jobs.map(({ launchedBy }) => launchedBy),
      jobs.map(({ status }) => status),
      jobs.map(({ explanation }) => explanation),
      jobs.map(({ limit }) => limit),
      jobs.map(({ variables }) => variables),
      jobs.map(({ created }) => created.toISOString()),
      jobs.map(({ started }) => started.toISOString()),
      jobs.map(({ finished }) => finished.toISOString()),
    ],
  );
  const ids = rows.map(({ id }) => id);
  await transaction.execute(
    `INSERT INTO service_job_output (job_id, number, content)
     SELECT job_id, 0, content FROM unnest($1::integer[], $2::text[]) AS new (job_id, content)`,
    [ids, jobs.map(({ output }) => output)],
  );
  return ids;
}

/** The launches, as the service records them. */
async function insertActivity(
  transaction: Queryable,
  all: readonly SampleJob[],
  { jobs, templates }: { readonly jobs: readonly number[]; readonly templates: Ids },
): Promise<void> {
  const changes = all.map(({ template, limit, variables }, index) =>
    JSON.stringify({
      id: jobs[index],
      name: template,
      limit,
      extra_vars: variables,
      job_template: `${template}-${templates.get(template) ?? 0}`,
    }),
  );
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO main_activitystream (operation, object1, timestamp, changes, actor_id, action_node)
     SELECT 'create', 'job', new.created, new.changes, u.id, $1::text
     FROM unnest($2::timestamptz[], $3::text[], $4::text[]) WITH ORDINALITY AS new (created, changes, username, position)
     LEFT JOIN auth_user u ON u.username = new.username ORDER BY new.position RETURNING id`,
    [
      hostname(),
      all.map(({ created }) => created.toISOString()),
      changes,
      all.map(({ launchedBy }) => launchedBy),
    ],
  );
  await transaction.execute(
    `INSERT INTO main_activitystream_job_template (activitystream_id, jobtemplate_id)
     SELECT * FROM unnest($1::integer[], $2::integer[])`,
    [rows.map(({ id }) => id), all.map(({ template }) => templates.get(template) ?? 0)],
  );
}

function idsOf(rows: readonly { readonly id: number; readonly name: string }[]): Ids {
  return new Map(rows.map(({ id, name }) => [name, id]));
}
