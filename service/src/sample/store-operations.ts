import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Database, Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import type { SampleJob, SampleOperations } from './operations.ts';
import { PLAYBOOKS, playbookText } from './playbooks.ts';
import { rowsOf } from './store-estate.ts';

const FOLDER = 'operations';
const PROJECT = 'Operations';
/** Sample hosts are only names: their jobs run on the service's machine. */
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

/** The ids of stored objects, by name. */
type Ids = ReadonlyMap<string, number>;

/**
 * Stores sample operations in a service's database, in one transaction: inventories with hosts, a project,
 * job templates, the roles of teams, and jobs with their output and activity entries. Everything is in the
 * first organization. The users and teams must already exist.
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

/** The first organization, which owns everything. */
const ORGANIZATION = sql`(SELECT id FROM main_organization ORDER BY id LIMIT 1)`;

async function insertInventories(transaction: Queryable, { inventories, since }: SampleOperations) {
  const rows = await sql`INSERT INTO main_inventory
      (name, description, variables, created, modified, organization_id)
    SELECT name, description, ${VARIABLES}::text, ${since}::timestamptz, ${since}::timestamptz,
    ${ORGANIZATION}
    FROM ${rowsOf(inventories, sql`name text, description text`)}
    RETURNING id, name`.rows<{ id: number; name: string }>(transaction);
  const hosts = inventories.flatMap(({ name: inventory, hosts }) =>
    hosts.map((name) => ({ inventory, name })),
  );
  await sql`INSERT INTO main_host (name, created, modified, inventory_id)
    SELECT new.name, ${since}::timestamptz, ${since}::timestamptz, i.id
    FROM ${rowsOf(hosts, sql`inventory text, name text`)}
    JOIN main_inventory i ON i.name = new.inventory`.execute(transaction);
  return idsOf(rows);
}

async function insertTemplates(
  transaction: Queryable,
  { templates, since }: SampleOperations,
  inventories: Ids,
): Promise<Ids> {
  const project = await sql`INSERT INTO service_project
      (name, description, local_path, created, modified, organization_id)
    VALUES (${PROJECT}, 'Playbooks of the operators.', ${FOLDER}, ${since}, ${since}, ${ORGANIZATION})
    RETURNING id`.first<{ id: number }>(transaction);
  const made = templates.map((template) => ({
    ...template,
    inventory: inventories.get(template.inventory) ?? null,
    limited: template.asks.includes('ask_limit_on_launch'),
    varied: template.asks.includes('ask_variables_on_launch'),
    typed: template.asks.includes('ask_job_type_on_launch'),
  }));
  const columns = sql`name text, description text, playbook text, inventory integer, "limit" text,
    "extraVars" text, limited boolean, varied boolean, typed boolean`;
  const rows = await sql`INSERT INTO service_job_template (name, description, playbook, inventory_id, "limit",
      extra_vars, ask_limit_on_launch, ask_variables_on_launch, ask_job_type_on_launch, project_id, created,
      modified, organization_id)
    SELECT new.*, ${project?.id ?? null}::integer, ${since}::timestamptz, ${since}::timestamptz,
    ${ORGANIZATION}
    FROM ${rowsOf(made, columns)} RETURNING id, name`.rows<{ id: number; name: string }>(transaction);
  return idsOf(rows);
}

async function insertGrants(
  transaction: Queryable,
  { grants }: SampleOperations,
  ids: Readonly<Record<'inventory' | 'job_template', Ids>>,
): Promise<void> {
  const made = grants.map((grant) => ({ ...grant, id: ids[grant.type].get(grant.name) ?? 0 }));
  await sql`INSERT INTO service_role_grant (role_id, team_id)
    SELECT r.id, t.id FROM ${rowsOf(made, sql`team text, type text, id integer, role text`)}
    JOIN main_team t ON t.name = new.team
    JOIN service_object_role r
      ON (r.resource_type, r.resource_id, r.role) = (new.type, new.id, new.role)`.execute(transaction);
}

/** Adds the jobs with their output. Returns their ids in the same order. */
async function insertJobs(transaction: Queryable, jobs: readonly SampleJob[]): Promise<readonly number[]> {
  const made = jobs.map(({ output, ...job }, position) => ({ ...job, position }));
  const columns = sql`template text, "launchedBy" text, status text, explanation text, "limit" text,
    variables text, created timestamptz, started timestamptz, finished timestamptz, position integer`;
  const rows = await sql`INSERT INTO service_job (name, description, playbook, organization_id, project_id,
      job_template_id, inventory_id, created_by_id, runner, execution_node, status, job_explanation, "limit",
      extra_vars, created, started, finished, modified)
    SELECT t.name, t.description, t.playbook, t.organization_id, t.project_id, t.id, t.inventory_id, u.id,
      ${randomUUID()}::uuid, ${hostname()}::text, new.status, new.explanation, new."limit", new.variables,
      new.created, new.started, new.finished, new.finished
    FROM ${rowsOf(made, columns)}
    JOIN service_job_template t ON t.name = new.template
    LEFT JOIN auth_user u ON u.username = new."launchedBy"
    ORDER BY new.position RETURNING id`.rows<{ id: number }>(transaction);
  const ids = rows.map(({ id }) => id);
  const outputs = jobs.map(({ output }, index) => ({ job: ids[index], output }));
  await sql`INSERT INTO service_job_output (job_id, number, content)
    SELECT job, 0, output FROM ${rowsOf(outputs, sql`job integer, output text`)}`.execute(transaction);
  return ids;
}

/** The launches, as the service records them. */
async function insertActivity(
  transaction: Queryable,
  all: readonly SampleJob[],
  { jobs, templates }: { jobs: readonly number[]; templates: Ids },
): Promise<void> {
  const launches = all.map(({ template, limit, variables, created, launchedBy }, position) => {
    const changes = {
      id: jobs[position],
      name: template,
      limit,
      extra_vars: variables,
      job_template: `${template}-${templates.get(template) ?? 0}`,
    };
    return { position, created, launchedBy, changes: JSON.stringify(changes) };
  });
  const columns = sql`position integer, created timestamptz, "launchedBy" text, changes text`;
  const rows = await sql`INSERT INTO main_activitystream
      (operation, object1, timestamp, changes, actor_id, action_node)
    SELECT 'create', 'job', new.created, new.changes, u.id, ${hostname()}::text
    FROM ${rowsOf(launches, columns)} LEFT JOIN auth_user u ON u.username = new."launchedBy"
    ORDER BY new.position RETURNING id`.rows<{ id: number }>(transaction);
  const links = all.map(({ template }, index) => ({
    entry: rows[index]?.id,
    template: templates.get(template) ?? 0,
  }));
  await sql`INSERT INTO main_activitystream_job_template (activitystream_id, jobtemplate_id)
    SELECT * FROM ${rowsOf(links, sql`entry integer, template integer`)}`.execute(transaction);
}

function idsOf(rows: readonly { readonly id: number; readonly name: string }[]): Ids {
  return new Map(rows.map(({ id, name }) => [name, id]));
}
