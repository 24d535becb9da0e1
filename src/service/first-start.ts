import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../db/database.ts';
import { hashPassword } from './auth/password.ts';
import { DEMO_PLAYBOOK, DEMO_PROJECT } from './playbooks/demo-project.ts';
import { insertOrganization } from './store/organizations.ts';
import { writeSetting } from './store/settings.ts';
import { anyUser, insertUser } from './store/users.ts';

const ADMIN = 'admin';

/**
 * Fills an empty database with what a new installation has: the superuser `admin`, the organization
 * `Default`, and one demo inventory with a host, credential, project and job template, all or nothing.
 *
 * @param password The superuser's password, asked for only where the database is empty.
 * @returns Whether it was empty.
 */
export async function prepareFirstStart(
  database: Database,
  { password, now }: { readonly password: () => string; readonly now: () => Date },
): Promise<boolean> {
  if (await anyUser(database)) return false;
  const stored = await hashPassword(password());
  return database.transaction(async (transaction) => {
    const id = await insertUser(transaction, {
      username: ADMIN,
      password: stored,
      first_name: '',
      last_name: '',
      email: '',
      is_superuser: true,
      is_active: true,
    });
    if (id === null) return false;
    const at = now();
    await writeSetting(transaction, { key: 'INSTALL_UUID', value: randomUUID(), at });
    await addDemoResources(transaction, { createdBy: id, at });
    return true;
  });
}

async function addDemoResources(
  transaction: Queryable,
  { createdBy, at }: { readonly createdBy: number; readonly at: Date },
): Promise<void> {
  const organization = await insertOrganization(transaction, {
    name: 'Default',
    description: '',
    max_hosts: 0,
    createdBy,
    at,
  });
  const inventory = await insertReturning(
    transaction,
    "INSERT INTO main_inventory (name, organization_id) VALUES ('Demo Inventory', $1) RETURNING id",
    [organization],
  );
  await transaction.execute(
    "INSERT INTO main_host (name, inventory_id, variables) VALUES ('localhost', $1, $2)",
    [inventory, 'ansible_connection: local\nansible_python_interpreter: "{{ ansible_playbook_python }}"'],
  );
  await transaction.execute(
    "INSERT INTO main_credential (name) VALUES ('Demo Credential'), ('Ansible Galaxy')",
  );
  const project = await insertReturning(
    transaction,
    "INSERT INTO service_project (name, organization_id, local_path) VALUES ('Demo Project', $1, $2) RETURNING id",
    [organization, DEMO_PROJECT],
  );
  await transaction.execute(
    `INSERT INTO service_job_template (name, organization_id, inventory_id, project_id, playbook)
     VALUES ('Demo Job Template', $1, $2, $3, $4)`,
    [organization, inventory, project, DEMO_PLAYBOOK],
  );
}

async function insertReturning(
  transaction: Queryable,
  sql: string,
  values: readonly unknown[],
): Promise<number | null> {
  const [row] = await transaction.query<{ id: number }>(sql, values);
  return row?.id ?? null;
}
